"""Packages that are there only if they are installed."""

from __future__ import annotations

from small_trees import answer, resolve

_NVML = """
try:
    import pynvml
except ImportError:
    self.answer = "absent"
else:
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda._get_nvml_device_index(0))
    try:
        pynvml.nvmlDeviceGetHandleByIndex(8)
        out_of_range = None
    except pynvml.NVMLError as error:
        out_of_range = type(error).__name__
    self.answer = [pynvml.nvmlDeviceGetCudaComputeCapability(handle), out_of_range,
                   pynvml.nvmlDeviceGetCount(), torch.cuda.is_initialized()]
"""


def test_nvml_answers_for_the_target_and_leaves_cuda_alone() -> None:
    assert answer(_NVML) == [[12, 0], "NVMLError", 8, False]


def test_nvml_is_absent_without_its_package() -> None:
    assert answer(_NVML, packages={"nvidia-ml-py": False}) == "absent"


def test_number_formats_can_be_looked_up() -> None:
    body = """
    from sgl_kernel.scalar_type import scalar_types
    bits = {scalar_types.uint4: 4, scalar_types.uint8b128: 8}
    self.answer = [bits[scalar_types.uint4], scalar_types.uint4b8 in bits,
                   scalar_types.bfloat16 == scalar_types.float16_e8m7]
    """
    assert answer(body) == [4, False, True]


def test_number_formats_need_the_kernel_package() -> None:
    body = """
    try:
        from sgl_kernel.scalar_type import scalar_types
        self.answer = "there"
    except ImportError as error:
        self.answer = str(error)
    """
    assert answer(body, packages={"sgl-kernel": False}) == "No module named 'sgl_kernel'"


def test_classes_of_torch_have_members_that_are_not_known() -> None:
    head = """
    from abc import ABC
    from torch.distributed import Store

    class Own(torch.nn.Module, ABC):
        size = 3
    """
    body = "self.answer = [hasattr(Own, 'size'), hasattr(Own, 'other')]"
    assert answer(body, head) == [True, False]
    result = resolve("self.answer = Store.SUM", head)
    assert result.outcome.status == "ok"
    reason = result.fields["answer"].reason
    assert reason is not None
    assert reason.code == "not-modelled(torch.Store.SUM)"


def test_models_of_pydantic_are_declared_but_never_guessed() -> None:
    head = """
    from typing import Annotated
    from pydantic import AfterValidator, BaseModel

    class Message(BaseModel):
        size: Annotated[int, AfterValidator(abs)] = 3

    Message.model_rebuild()
    """
    assert answer("self.answer = issubclass(Message, BaseModel)", head) is True
    result = resolve("self.answer = Message(size=5).size", head)
    assert result.outcome.status == "ok"
    assert result.fields["answer"].status == "unknown"
