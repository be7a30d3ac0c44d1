"""The operations by name: as functions of torch, and as methods and operators of its tensors."""

from __future__ import annotations

import math
import operator
from typing import Any

from sgcheck.values.unknown import Unknown, find_unknown
from sgcheck.world.tensors import shapes
from sgcheck.world.tensors.dtypes import DTYPES, INT64, promoted
from sgcheck.world.tensors.operations import (
    Function,
    added_product,
    binary,
    broadcast_tensors,
    cat,
    chained,
    clone,
    common,
    contiguous,
    copy_,
    decided,
    einsum,
    gather,
    host,
    in_place,
    index_select,
    lifted,
    matmul,
    meshgrid,
    of_unknown_size,
    on_gpu,
    outer,
    reduce,
    repeat,
    repeat_interleave,
    set_,
    sort,
    stack,
    to,
    topk,
    type_,
    typed,
    unary,
    where,
)
from sgcheck.world.tensors.tensor import Tensor, like


def _moved(tensor: Tensor, /, source: int, target: int) -> Tensor:
    order = [i for i in range(tensor.ndim) if i != shapes.axis(source, tensor.ndim)]
    order.insert(shapes.axis(target, tensor.ndim), shapes.axis(source, tensor.ndim))
    return tensor.permute(*order)


BINARY: dict[str, Function] = {
    name: binary(name, function, kind)
    for name, (function, kind) in dict[str, tuple[Function | None, str]]({
        "add": (operator.add, ""), "sub": (operator.sub, ""), "subtract": (operator.sub, ""), "mul": (operator.mul, ""),
        "multiply": (operator.mul, ""), "div": (operator.truediv, "divide"), "divide": (operator.truediv, "divide"),
        "true_divide": (operator.truediv, "divide"), "floor_divide": (operator.floordiv, ""), "remainder": (operator.mod, ""),
        "fmod": (math.fmod, ""), "pow": (operator.pow, ""), "maximum": (max, ""), "minimum": (min, ""), "atan2": (math.atan2, "divide"),
        "eq": (operator.eq, "test"), "ne": (operator.ne, "test"), "lt": (operator.lt, "test"), "le": (operator.le, "test"),
        "gt": (operator.gt, "test"), "ge": (operator.ge, "test"), "greater": (operator.gt, "test"), "less": (operator.lt, "test"),
        "logical_and": (lambda a, b: bool(a) and bool(b), "test"), "logical_or": (lambda a, b: bool(a) or bool(b), "test"),
        "logical_xor": (lambda a, b: bool(a) != bool(b), "test"), "bitwise_and": (operator.and_, ""), "bitwise_or": (operator.or_, ""),
        "bitwise_xor": (operator.xor, ""), "bitwise_left_shift": (operator.lshift, ""), "bitwise_right_shift": (operator.rshift, ""),
        "lerp": (None, ""), "addcmul": (None, ""), "addcdiv": (None, ""), "masked_fill": (None, ""), "isclose": (None, "test"),
    }).items()
}  # fmt: skip
UNARY: dict[str, Function] = {
    **{n: unary(n, f) for n, f in {"neg": operator.neg, "abs": abs, "absolute": abs, "negative": operator.neg, "square": lambda x: x * x,
                                    "floor": math.floor, "ceil": math.ceil, "round": round, "trunc": math.trunc, "sign": None, "clamp": None,
                                    "clamp_min": None, "clamp_max": None, "clip": None, "relu": None, "flip": None, "roll": None, "tril": None,
                                    "triu": None, "cumsum": None, "cumprod": None, "nan_to_num": None, "bitwise_not": None, "masked_scatter": None,
                                    "scatter": None, "scatter_add": None, "scatter_reduce": None, "index_add": None, "index_copy": None,
                                    "index_fill": None, "renorm": None, "conj": None, "resolve_conj": None, "frac": None, "fliplr": None}.items()},
    **{n: unary(n, f, "float") for n, f in {"exp": math.exp, "log": math.log, "log2": math.log2, "log10": math.log10, "log1p": math.log1p,
                                             "sqrt": math.sqrt, "rsqrt": None, "reciprocal": lambda x: 1 / x, "sin": math.sin, "cos": math.cos,
                                             "tan": math.tan, "tanh": math.tanh, "sigmoid": None, "exp2": None, "expm1": None, "erf": None,
                                             "softmax": None, "log_softmax": None, "softplus": None, "atan": math.atan, "sinh": None, "cosh": None}.items()},
    **{n: unary(n, f, "test") for n, f in {"isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite, "logical_not": operator.not_,
                                            "isin": None}.items()},
}  # fmt: skip
REDUCTIONS: dict[str, Function] = {
    "sum": reduce("sum", sum, "sum"), "prod": reduce("prod", math.prod, "sum"), "mean": reduce("mean"), "std": reduce("std"), "var": reduce("var"),
    "norm": lambda t, p=2, dim=None, keepdim=False, **k: reduce("norm")(t, dim, keepdim),
    "any": reduce("any", any, "test"), "all": reduce("all", all, "test"), "amax": reduce("amax", max), "amin": reduce("amin", min),
    "max": reduce("max", max, "pair"), "min": reduce("min", min, "pair"), "median": reduce("median", None, "pair"), "argmax": reduce("argmax", None, "index"),
    "argmin": reduce("argmin", None, "index"), "logsumexp": reduce("logsumexp"), "count_nonzero": reduce("count_nonzero", None, "index"),
}  # fmt: skip
OTHERS: dict[str, Function] = {
    "matmul": matmul("matmul"), "mm": matmul("mm"), "bmm": matmul("bmm"), "mv": matmul("mv"), "dot": matmul("dot"), "_scaled_mm": matmul("_scaled_mm"),
    "addmm": added_product("addmm"), "baddbmm": added_product("baddbmm"), "addbmm": added_product("addbmm"), "outer": outer, "repeat_interleave": repeat_interleave,
    "where": where, "topk": topk, "sort": sort, "argsort": lambda t, *a, **k: like(t, kind=INT64), "index_select": index_select,
    "gather": gather, "take_along_dim": lambda t, i, *a, **k: like(t, i._shape), "clone": clone, "allclose": decided("allclose"), "equal": decided("equal"),
    "nonzero": of_unknown_size("nonzero"), "unique": of_unknown_size("unique"), "bincount": of_unknown_size("bincount"),
    "masked_select": of_unknown_size("masked_select"), "histc": of_unknown_size("histc"), "searchsorted": lambda s, v, *a, **k: like(v, kind=INT64),
    "bucketize": lambda v, b, *a, **k: like(v, kind=INT64), "diff": of_unknown_size("diff"),
}  # fmt: skip
METHODS: dict[str, Function] = {
    "to": to, "type": type_, "type_as": lambda t, o: to(t, o._dtype), "contiguous": contiguous, "copy_": copy_, "repeat": repeat, "tile": repeat, "set_": set_,
    "cpu": host, "cuda": on_gpu, "pin_memory": chained, "requires_grad_": chained, "share_memory_": chained, "index_put_": chained, "detach_": chained,
    "record_stream": lambda t, s=None: None, "bernoulli_": chained, "retain_grad": chained, "backward": chained,
    **{name: typed(DTYPES[kind]) for name, kind in {"float": "float32", "half": "float16", "bfloat16": "bfloat16", "double": "float64",
       "int": "int32", "long": "int64", "short": "int16", "bool": "bool", "byte": "uint8", "char": "int8"}.items()},
}  # fmt: skip
_WRITTEN = (
    "normal", "uniform", "exponential", "random", "scatter", "scatter_add", "index_add", "index_copy", "index_fill",
    "masked_fill", "masked_scatter", "clamp", "add", "sub", "mul", "div", "pow", "neg", "abs", "exp", "sqrt", "rsqrt", "round",
    "floor", "floor_divide", "remainder", "sigmoid", "relu", "tanh", "clamp_min", "clamp_max", "bitwise_and", "bitwise_or", "logical_not",
    "logical_and", "logical_or", "copysign", "reciprocal", "lerp", "addcmul", "index_reduce", "scatter_reduce", "cumsum", "nan_to_num", "trunc", "ceil",
    "bitwise_xor", "bitwise_not", "eq", "ne", "lt", "gt", "le", "ge", "log", "log2", "square", "fmod", "put", "erfinv", "tril", "triu", "true_divide",
)  # fmt: skip
ALL: dict[str, Function] = {**BINARY, **UNARY, **REDUCTIONS, **OTHERS}
IN_PLACE: dict[str, Function] = {f"{name}_": in_place(ALL.get(name, chained)) for name in _WRITTEN}
_SHAPED = (
    "reshape", "transpose", "permute", "squeeze", "unsqueeze", "flatten", "unflatten", "narrow", "select", "unbind", "split", "split_with_sizes", "chunk",
    "tensor_split", "t", "swapaxes", "ravel", "as_strided", "view_as", "expand_as", "swapdims", "numel", "is_floating_point", "is_complex", "detach",
)  # fmt: skip
FUNCTIONS: dict[str, Function] = {
    **{name: lifted(function) for name, function in ALL.items()},
    **{name: lifted(getattr(Tensor, name)) for name in _SHAPED},
    "cat": cat, "concat": cat, "concatenate": cat, "stack": stack, "einsum": einsum, "vstack": cat, "hstack": lambda ts, **k: cat(ts, -1), "tile": lifted(lambda t, d: repeat(t, *d)),
    "broadcast_tensors": broadcast_tensors, "broadcast_to": lifted(lambda t, s: t.expand(*s)), "meshgrid": meshgrid, "movedim": lifted(_moved),
    "broadcast_shapes": shapes.broadcast, "is_tensor": lambda value: isinstance(value, Tensor), "result_type": common,
    "promote_types": promoted, "can_cast": lambda a, b: True, "linalg_norm": REDUCTIONS["norm"],
}  # fmt: skip


def _reflected(function: Function) -> Function:
    return lambda self, other: function(other, self)


def _operator(function: Function) -> Function:
    def run(self: Tensor, /, other: Any) -> Any:
        if isinstance(other, Unknown):
            return Unknown(other.reason, "tensor")
        if not isinstance(other, (Tensor, int, float, complex)):
            return NotImplemented
        return function(self, other)

    return run


def install() -> None:
    """Give the class its methods and operators."""
    from sgcheck.world.tensors.factories import METHODS as MAKING

    for name, function in {**ALL, **METHODS, **IN_PLACE, **MAKING}.items():
        if name not in Tensor.__dict__:
            setattr(Tensor, name, _method(name, function))
    for slot, name in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "pow": "pow",
                       "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
                       "matmul": "matmul"}.items():  # fmt: skip
        function = ALL[name]
        setattr(Tensor, f"__{slot}__", _operator(function))
        setattr(Tensor, f"__r{slot}__", _operator(_reflected(function)))
        setattr(Tensor, f"__i{slot}__", _operator(in_place(function)))
    for slot, name in {
        "lt": "lt",
        "le": "le",
        "gt": "gt",
        "ge": "ge",
        "eq": "eq",
        "ne": "ne",
    }.items():
        setattr(Tensor, f"__{slot}__", _operator(ALL[name]))
    for slot, name in {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}.items():
        setattr(Tensor, f"__{slot}__", ALL[name])
    for name in (
        "view",
        "reshape",
        "expand",
        "narrow",
        "split",
        "chunk",
        "permute",
        "select",
        "unflatten",
        "as_strided",
        "split_with_sizes",
    ):
        setattr(Tensor, name, _method(name, Tensor.__dict__[name]))


def _method(name: str, function: Function) -> Function:
    def run(self: Tensor, /, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs:
            found = find_unknown((args, kwargs), 2)
            if found is not None:
                return Unknown(found.reason, f"tensor.{name}()")
        return function(self, *args, **kwargs)

    run.__name__ = name
    run.__qualname__ = f"Tensor.{name}"
    return run


install()
