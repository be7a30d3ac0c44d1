"""Modules of packages whose names are recorded for the version that is installed."""

from __future__ import annotations

from small_trees import CASE, answer, resolve

_IMPORT = """
    try:
        from {module} import {name}
        self.answer = "there"
    except ImportError as error:
        self.answer = [type(error).__name__, str(error)]
"""


def imported(module: str, name: str, **packages: object) -> object:
    return answer(_IMPORT.format(module=module, name=name), packages=packages)


def test_a_name_that_the_version_lacks_cannot_be_imported() -> None:
    for version in ("0.6.3", "0.7.2"):
        assert imported(
            "flashinfer.decode",
            "_grouped_size_compiled_for_decode_kernels",
            **{"flashinfer-python": version},
        ) == [
            "ImportError",
            "cannot import name '_grouped_size_compiled_for_decode_kernels' from 'flashinfer.decode'",
        ]


def test_names_come_and_go_with_versions() -> None:
    old, new = {"flashinfer-python": "0.6.3"}, {"flashinfer-python": "0.7.2"}
    for name, before, after in (
        ("mm_fp4", True, True),
        ("silu_and_mul_mxfp8_quantize", False, True),
        ("BatchDecodeMlaWithPagedKVCacheWrapper", True, False),
    ):
        assert (imported("flashinfer", name, **old) == "there") is before, name
        assert (imported("flashinfer", name, **new) == "there") is after, name


def test_a_version_that_is_not_recorded_has_any_name() -> None:
    assert imported("flashinfer", "anything", **{"flashinfer-python": "0.0.1"}) == "there"


def test_a_module_that_the_version_lacks_cannot_be_imported() -> None:
    body = """
    try:
        import flashinfer.no_such_module
        self.answer = "there"
    except ModuleNotFoundError as error:
        self.answer = [str(error), error.name]
    """
    assert answer(body, packages={"flashinfer-python": "0.6.3"}) == [
        "No module named 'flashinfer.no_such_module'",
        "flashinfer.no_such_module",
    ]


def test_a_missing_attribute_of_a_module_is_an_error() -> None:
    body = """
    import flashinfer
    self.answer = [hasattr(flashinfer, "mm_fp4"), hasattr(flashinfer, "mm_fp3")]
    """
    assert answer(body, packages={"flashinfer-python": "0.6.3"}) == [True, False]


def test_a_module_whose_imports_are_not_installed_cannot_be_imported() -> None:
    there = {"flashinfer-python": "0.6.3", "nvidia-cutlass-dsl": "4.3.4"}
    without = {"flashinfer-python": "0.6.3", "nvidia-cutlass-dsl": False}
    module = "flashinfer.cute_dsl.blockscaled_gemm"
    assert imported(module, "grouped_gemm_nt_masked", **there) == "there"
    assert imported(module, "grouped_gemm_nt_masked", **without) == [
        "ModuleNotFoundError",
        "No module named 'cutlass'",
    ]


def test_enumerations_have_their_members_and_one_identity() -> None:
    body = """
    import flashinfer
    from flashinfer.fused_moe import RoutingMethodType
    from flashinfer.fused_moe.core import RoutingMethodType as Same
    self.answer = [int(RoutingMethodType.DeepSeekV3), RoutingMethodType.Renormalize.value,
                   Same is RoutingMethodType, RoutingMethodType(2) is RoutingMethodType.DeepSeekV3,
                   flashinfer.ActivationType.Swiglu.value]
    """
    assert answer(body, packages={"flashinfer-python": "0.6.3"}) == [2, 1, True, True, 3]


def test_a_function_is_a_leaf_of_which_the_result_is_not_known() -> None:
    result = resolve(
        "self.answer = flashinfer.mm_fp4(1)",
        "import flashinfer",
        packages={"flashinfer-python": "0.6.3"},
    )
    assert result.outcome.status == "ok"
    reason = result.fields["answer"].reason
    assert reason is not None
    assert reason.code == "not-modelled(flashinfer.mm_fp4())"


def test_number_formats_have_bits_and_biases() -> None:
    body = """
    from sgl_kernel.scalar_type import scalar_types as types
    self.answer = [[str(t), t.size_bits, t.has_bias(), t.is_floating_point()] for t in
                   (types.uint4b8, types.uint8b128, types.uint4, types.int8, types.float8_e4m3fn,
                    types.float4_e2m1f, types.bfloat16)]
    """
    assert answer(body) == [
        ["uint4b8", 4, True, False],
        ["uint8b128", 8, True, False],
        ["uint4", 4, False, False],
        ["int8", 8, False, False],
        ["float8_e4m3fn", 8, False, True],
        ["float4_e2m1f", 4, False, True],
        ["float16_e8m7", 16, False, True],
    ]


_CALL = """
    import torch, flashinfer, flashinfer.fused_moe
    from flashinfer.utils import BackendSupportedError
    try:
        {call}
        self.answer = "called"
    except Exception as error:
        self.answer = [type(error).__name__, isinstance(error, BackendSupportedError), str(error)]
"""


def called(call: str, arch: str, version: str = "0.6.3") -> object:
    case = {"arch": arch, "cuda": CASE["cuda"]}
    return answer(_CALL.format(call=call), packages={"flashinfer-python": version}, case=case)


def test_a_function_raises_on_a_device_that_its_package_refuses() -> None:
    refused = called("flashinfer.fused_moe.trtllm_fp4_block_scale_moe()", "sm120")
    assert refused == [
        "RuntimeError",
        False,
        "trtllm_fp4_block_scale_moe of flashinfer-python 0.6.3 refuses compute capability 12.0 "
        "(flashinfer/jit/fused_moe.py:237)",
    ]
    assert called("flashinfer.fused_moe.trtllm_fp4_block_scale_moe()", "sm100") == "called"


def test_the_backend_of_a_call_decides() -> None:
    refused = called("flashinfer.mm_fp4(1, 2, backend='trtllm')", "sm120")
    assert isinstance(refused, list)
    assert refused[:2] == ["BackendSupportedError", True]
    for call in (
        "mm_fp4(1, 2)",
        "mm_fp4(1, 2, backend='cutlass')",
        "mm_fp4(1, 2, backend=object())",
    ):
        assert called(f"flashinfer.{call}", "sm120") == "called", call
    refused = called("flashinfer.mm_fp4(1, 2)", "sm90")
    assert isinstance(refused, list)
    assert refused[2].endswith("with backend 'auto' of flashinfer-python 0.6.3 refuses compute "
                               "capability 9.0 (flashinfer/utils.py:1145)")  # fmt: skip


def test_a_check_that_is_skipped_refuses_nothing() -> None:
    assert called("flashinfer.mm_fp4(1, 2, backend='trtllm', skip_check=True)", "sm120") == "called"


def test_what_is_modelled_of_a_recorded_package_stays() -> None:
    body = """
    import deep_gemm
    self.answer = [deep_gemm.get_num_sms() > 100, hasattr(deep_gemm, "no_such_name")]
    """
    assert answer(body) == [True, False]
