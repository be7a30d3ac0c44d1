"""Shapes and dtypes of what the kernel libraries give."""

from __future__ import annotations

from typing import Any

import pytest

from sgcheck.world.kernel_results import result_of
from sgcheck.world.tensors.dtypes import DTYPES
from sgcheck.world.tensors.tensor import Tensor, make

BF16, UINT8, FLOAT = DTYPES["bfloat16"], DTYPES["uint8"], DTYPES["float32"]


def tensor(*shape: int, dtype: Any = BF16) -> Tensor:
    return make(shape, dtype, "cuda")


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("flashinfer.fp4_quantize", (tensor(33, 256), None), [((33, 128), "uint8"), ((128, 16), "uint8")]),
        ("flashinfer.fp4_quantize", (tensor(33, 256), None, 16, False, False), [((33, 128), "uint8"), ((33, 16), "uint8")]),
        ("sgl_kernel.scaled_fp4_quant", (tensor(8, 96), None), [((8, 48), "uint8"), ((128, 8), "float8_e4m3fn")]),
        ("sgl_kernel.gptq_marlin_repack", (tensor(64, 128), None, 512, 128, 4), [((32, 256), "int32")]),
        ("flashinfer.fused_moe.core.convert_to_block_layout", (tensor(64, 256, dtype=UINT8), 128), [((2, 64, 128), "uint8")]),
        ("deep_gemm.utils.layout.get_mn_major_tma_aligned_packed_ue8m0_tensor", (tensor(256, 56, dtype=FLOAT),), [((256, 14), "int32")]),
        ("sgl_kernel.silu_and_mul", (tensor(4, 10),), [((4, 5), "bfloat16")]),
    ],
)  # fmt: skip
def test_functions_give_tensors_of_their_shape(name: str, args: Any, expected: Any) -> None:
    found = result_of(name, args, {})
    parts = found if isinstance(found, tuple) else (found,)
    assert [(tuple(part.shape), part.dtype._name) for part in parts] == expected


def test_the_first_argument_may_be_named() -> None:
    values, _ = result_of(
        "flashinfer.fp4_quantize", (), {"input": tensor(4, 32), "sf_vec_size": 16}
    )
    assert values.shape == (4, 16)


def test_a_function_that_nobody_knows_gives_no_result() -> None:
    assert result_of("flashinfer.no_such_kernel", (tensor(4, 4),), {}) is NotImplemented
    assert (
        result_of("sgl_kernel.gptq_marlin_repack", (tensor(4, 4), None, "x"), {}) is NotImplemented
    )
