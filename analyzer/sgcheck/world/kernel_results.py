"""What functions of the kernel libraries give: shapes and dtypes, by the package and the function's name.

Only what a start needs to go on: layouts of weights and scales, quantization of activations, products.
A function that is not here gives an unknown. Shapes are those of flashinfer 0.6 and 0.7, sgl-kernel
0.3 and 0.4 and DeepGEMM 2; each function says what it does with sizes that do not divide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape
from sgcheck.values.unknown import Unknown
from sgcheck.world.tensors.dtypes import DTYPES
from sgcheck.world.tensors.tensor import Tensor, like, view

_UINT8, _FP8, _INT32 = DTYPES["uint8"], DTYPES["float8_e4m3fn"], DTYPES["int32"]
_FLOAT32, _INT64 = DTYPES["float32"], DTYPES["int64"]
Result = Callable[..., Any]


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def _flat(x: Tensor) -> tuple[int, int]:
    return math.prod(x._shape[:-1]), x._shape[-1]


def fp4_quantize(
    x: Tensor, global_scale: Any = None, sf_vec_size: int = 16, sf_use_ue8m0: bool = False,
    is_sf_swizzled_layout: bool = True, *args: Any, **kwargs: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Two values a byte, and a scale for each `sf_vec_size` of them (padded to 128 × 4 where swizzled)."""
    rows, width = _flat(x)
    scales = -(-width // sf_vec_size)
    shape = (_up(rows, 128), _up(scales, 4)) if is_sf_swizzled_layout else (rows, scales)
    return like(x, (*x._shape[:-1], width // 2), _UINT8), like(x, shape, _UINT8)


def scaled_fp4_quant(x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """As `fp4_quantize`, with scales in FP8."""
    rows, width = _flat(x)
    scales = like(x, (_up(rows, 128), _up(width // 16, 4)), _FP8)
    return like(x, (rows, width // 2), _UINT8), scales


def mxfp8_quantize(x: Tensor, swizzled: bool = True, *args: Any, **k: Any) -> tuple[Tensor, Tensor]:
    """FP8 values, and a byte of scale for each 32."""
    rows, width = _flat(x)
    swizzled = k.get("is_sf_swizzled_layout", swizzled)
    count = _up(rows, 128) * _up(width // 32, 4) if swizzled else rows * (width // 32)
    return like(x, kind=_FP8), like(x, (count,), _UINT8)


def product_fp4(a: Tensor, b: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`mm_fp4(a, b)` with `b` as (k / 2, n)."""
    return like(a, (a._shape[0], b._shape[1]), kwargs.get("out_dtype") or DTYPES["bfloat16"])


def scaled_product_fp4(a: Tensor, b: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`cutlass_scaled_fp4_mm(a, b)` with `b` as (n, k / 2)."""
    kind = args[3] if len(args) > 3 else kwargs.get("out_dtype")
    return like(a, (a._shape[0], b._shape[0]), kind or DTYPES["bfloat16"])


def scaled_product(a: Tensor, b: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`fp8_scaled_mm(a, b)` and its kin, with `b` as (k, n)."""
    kind = args[2] if len(args) > 2 else kwargs.get("out_dtype")
    return like(a, (a._shape[0], b._shape[1]), kind or DTYPES["bfloat16"])


def flattened(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Scales in the order of the kernel, as one row."""
    return like(x, (x.numel(),))


def same(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Elements moved about."""
    return like(x)


def row_indices(*args: Any, **kwargs: Any) -> Any:
    """One index a row of the matrix."""
    matrix = next(a for a in (*args, *kwargs.values()) if isinstance(a, Tensor))
    return like(matrix, (matrix._shape[0],), _INT64)


def blocks(x: Tensor, block_k: int, *args: Any) -> Tensor:
    """(m, k) as (k / block, m, block)."""
    rows, width = x._shape[-2:]
    return like(x, (*x._shape[:-2], width // block_k, rows, block_k))


def packed_scales(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Four exponents in an int32, rows first in memory."""
    shape = (*x._shape[:-1], -(-x._shape[-1] // 4))
    return _rows_first(like(x, shape, _INT32))


def aligned_scales(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The same scales, rows first in memory."""
    return _rows_first(like(x))


def _rows_first(made: Tensor) -> Tensor:
    if made.ndim < 2:
        return made
    strides = list(made._strides)
    rows = _up(made._shape[-2], max(16 // made._dtype.itemsize, 1))
    strides[-2], strides[-1] = 1, rows
    return view(made, made._shape, strides)


def required_layout(sf: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`transform_sf_into_required_layout` on an architecture that packs exponents: one a row of 128."""
    rows = kwargs.get("mn", args[0] if args else sf._shape[-2])
    width = kwargs.get("k", args[1] if len(args) > 1 else sf._shape[-1] * 128)
    return _rows_first(like(sf, (*sf._shape[:-2], rows, -(-width // 512)), _INT32))


def gate(x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Weights and numbers of the experts that are chosen."""
    top = kwargs.get("topk", args[3] if len(args) > 3 else 1)
    rows = x._shape[0]
    return like(x, (rows, top), _FLOAT32), like(x, (rows, top), _INT32)


def halved(x: Tensor, out: Any = None, *args: Any, **kwargs: Any) -> Any:
    """`silu_and_mul` and its kin."""
    return out if isinstance(out, Tensor) else like(x, (*x._shape[:-1], x._shape[-1] // 2))


def marlin_repack(weight: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A quantized weight in Marlin's tiles: (k / 16, n · 16 · bits / 32) words."""
    given = [a for a in args if isinstance(a, int)]
    names = ("size_k", "size_n", "num_bits")
    k, n, bits = given if len(given) == len(names) else [kwargs[name] for name in names]
    return like(weight, (k // 16, n * 16 * bits // 32), _INT32)


def rows_of(x: Tensor, index: Any, shape: Any = None, *args: Any, **kwargs: Any) -> Tensor:
    """`shuffle_rows(x, index, shape)`."""
    return like(x, kwargs.get("output_tensor_shape", shape))


def experts_fp4(x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """`scaled_fp4_experts_quant`: the rows of all experts."""
    rows, width = _flat(x)
    return like(x, (rows, width // 2), _UINT8), like(x, (_up(rows, 128), _up(width // 16, 4)), _FP8)


def group_product_fp4(a: Tensor, b: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`cutlass_fp4_group_mm`: rows of `a` against the expert's (n, k / 2)."""
    return like(a, (a._shape[0], b._shape[1]), DTYPES["bfloat16"])


def aligned_size(size: int, element_size: int) -> int:
    """`get_tma_aligned_size`: up to a multiple of 16 bytes."""
    return _up(size, 16 // element_size)


def first(x: Any, *args: Any, **kwargs: Any) -> Any:
    """What it is given, in another layout."""
    return x


def layout_of(*args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """A layout and its options."""
    return Unknown(Reason("not-modelled(triton_kernels layout)"), "a layout"), {}


def fabric(*args: Any, **kwargs: Any) -> Any:
    """Whether memory can be shared over the NVLink fabric: the machine decides."""
    return Unknown(Reason("machine-fact", detail="NVLink fabric"), "is_mnnvl_fabric_supported()")


def nothing(*args: Any, **kwargs: Any) -> None:
    """It writes to its arguments only."""


_RESULTS: dict[str, dict[str, Result]] = {
    "flashinfer": {
        "fp4_quantize": fp4_quantize, "mxfp8_quantize": mxfp8_quantize, "mm_fp4": product_fp4, "silu_and_mul": halved, "gelu_tanh_and_mul": halved,
        "nvfp4_block_scale_interleave": flattened, "block_scale_interleave": flattened, "convert_to_block_layout": blocks,
        "shuffle_matrix_a": same, "shuffle_matrix_sf_a": same, "reorder_rows_for_gated_act_gemm": same,
        "get_w2_permute_indices_with_cache": row_indices, "_maybe_get_cached_w3_w1_permute_indices": row_indices,
        "get_shuffle_matrix_a_row_indices": row_indices, "get_shuffle_matrix_sf_a_row_indices": row_indices,
        "get_reorder_rows_for_gated_act_gemm_row_indices": row_indices, "is_mnnvl_fabric_supported": fabric,
    },
    "triton_kernels": {
        "make_default_matmul_mxfp4_w_layout": layout_of, "make_default_matmul_mxfp4_w_scale_layout": layout_of, "wrap_torch_tensor": first,
        "convert_layout": first, "update_opt_flags_constraints": nothing,
    },
    "sgl_kernel": {
        "scaled_fp4_quant": scaled_fp4_quant, "cutlass_scaled_fp4_mm": scaled_product_fp4, "fp8_scaled_mm": scaled_product,
        "int8_scaled_mm": scaled_product, "fp8_blockwise_scaled_mm": scaled_product, "silu_and_mul": halved, "gelu_tanh_and_mul": halved,
        "gelu_and_mul": halved, "moe_fused_gate": gate, "kimi_k2_moe_fused_gate": gate, "gptq_marlin_repack": marlin_repack,
        "awq_marlin_repack": marlin_repack, "shuffle_rows": rows_of, "scaled_fp4_experts_quant": experts_fp4,
        "cutlass_fp4_group_mm": group_product_fp4, "moe_align_block_size": nothing, "topk_softmax": nothing, "topk_sigmoid": nothing,
        "prepare_moe_input": nothing, "fp8_blockwise_scaled_grouped_mm": nothing, "sgl_per_token_group_quant_8bit": nothing,
        "sgl_per_token_group_quant_fp8": nothing, "sgl_per_token_quant_fp8": nothing, "sgl_per_tensor_quant_fp8": nothing,
        "moe_sum_reduce": nothing, "moe_sum": nothing, "apply_shuffle_mul_sum": nothing,
    },
    "deep_gemm": {
        "transform_sf_into_required_layout": required_layout, "get_mn_major_tma_aligned_packed_ue8m0_tensor": packed_scales,
        "get_mn_major_tma_aligned_tensor": aligned_scales, "fp8_gemm_nt": nothing, "bf16_gemm_nt": nothing,
        "m_grouped_fp8_gemm_nt_contiguous": nothing, "m_grouped_fp8_gemm_nt_masked": nothing, "set_compile_mode": nothing,
        "get_tma_aligned_size": aligned_size,
    },
}  # fmt: skip


_FIRST = ("input", "x", "a", "hidden_states", "tensor", "sf")
"""How the libraries call their first argument."""


def result_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a call of `package.….function` gives; `NotImplemented` where nobody says."""
    package, _, rest = name.partition(".")
    known = _RESULTS.get(package, {}).get(rest.rpartition(".")[2])
    if known is None:
        return NotImplemented
    if known is nothing:
        return None
    if _is_opaque(args, kwargs):
        return NotImplemented
    if not args:
        named = next((n for n in _FIRST if n in kwargs), None)
        args = (kwargs[named],) if named is not None else ()
        kwargs = {n: value for n, value in kwargs.items() if n != named}
    try:
        return known(*args, **kwargs)
    except (Escape, TypeError, ValueError, LookupError, AttributeError, StopIteration):
        return NotImplemented  # called in a way that is not modelled


def _is_opaque(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    tensors = [v for v in (*args, *kwargs.values()) if issubclass(type(v), Tensor)]
    return any("_reason" in tensor.__dict__ for tensor in tensors)
