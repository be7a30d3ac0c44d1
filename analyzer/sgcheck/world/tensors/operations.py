"""Operations on tensors, as functions of torch and as methods: what they do to shape and dtype."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sgcheck.values.unknown import Unknown, find_unknown
from sgcheck.world.tensors import shapes
from sgcheck.world.tensors.dtypes import (
    BOOL,
    DEFAULTS,
    FLOAT32,
    INT64,
    device,
    dtype,
    promoted,
)
from sgcheck.world.tensors.elements import computed
from sgcheck.world.tensors.recorder import record
from sgcheck.world.tensors.tensor import (
    Tensor,
    like,
    make,
    take_over,
    value_reason,
    values,
    written,
)

Function = Callable[..., Any]


def _of_scalar(value: Any) -> dtype | None:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT64
    return FLOAT32 if isinstance(value, float) else None


def common(*parts: Any, divides: bool = False) -> dtype:
    """The dtype of an element-wise result: tensors decide; a number does where its kind is higher."""
    tensors = [p for p in parts if isinstance(p, Tensor)]
    wide = [t for t in tensors if t.ndim] or tensors
    kind = wide[0]._dtype
    for each in wide[1:]:
        kind = promoted(kind, each._dtype)
    for each in tensors:
        if each.ndim == 0 and each._dtype.is_floating_point and not kind.is_floating_point:
            kind = each._dtype
    for part in parts:
        scalar = _of_scalar(part)
        if scalar is None or kind.is_floating_point:
            continue
        if scalar.is_floating_point:
            kind = DEFAULTS.dtype
        elif kind is BOOL and scalar is not BOOL:
            kind = INT64
    return DEFAULTS.dtype if divides and not kind.is_floating_point else kind


def binary(name: str, function: Function | None, kind: str = "") -> Function:
    def run(left: Any, /, right: Any = 0, *rest: Any, out: Any = None, **kwargs: Any) -> Any:
        parts = [p for p in (left, right, *rest) if isinstance(p, Tensor)]
        if not parts:
            return function(left, right) if function is not None else left
        shape = shapes.broadcast(*(p._shape for p in parts))
        result = BOOL if kind == "test" else common(left, right, divides=kind == "divide")
        where = next((p._device for p in parts if p.ndim), parts[0]._device)
        known = computed(function, left, right, kind=result) if function and not rest else None
        made = make(shape, result, where, known)
        return into(out, made)

    run.__name__ = name
    return run


def into(out: Any, made: Any) -> Any:
    """A result, written to `out` where that is given."""
    if isinstance(out, Tensor):
        written(out)
        return out
    return made


def unary(name: str, function: Function | None = None, kind: str = "") -> Function:
    def run(tensor: Any, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if not isinstance(tensor, Tensor):
            return function(tensor) if function is not None else tensor
        result = tensor._dtype
        if kind == "float" and not result.is_floating_point:
            result = DEFAULTS.dtype
        elif kind == "test":
            result = BOOL
        result = kwargs.get("dtype") or result
        known = computed(function, tensor, kind=result) if function and not args else None
        return into(out, like(tensor, kind=result, carried=known))

    run.__name__ = name
    return run


def in_place(function: Function) -> Function:
    def run(tensor: Tensor, /, *args: Any, **kwargs: Any) -> Tensor:
        made = function(tensor, *args, **kwargs)
        written(tensor)
        known = values(made) if isinstance(made, Tensor) else None
        if known is not None and made._shape == tensor._shape and _whole(tensor):
            tensor._known = (tensor._storage.version, known)
        return tensor

    return run


def _whole(tensor: Tensor) -> bool:
    return tensor.is_contiguous() and tensor._storage.size == tensor.nbytes


def reduce(name: str, function: Function | None = None, kind: str = "") -> Function:
    def run(
        tensor: Tensor, /, dim: Any = None, keepdim: bool = False, *, out: Any = None, **kwargs: Any
    ) -> Any:
        if "axis" in kwargs:
            dim = kwargs["axis"]
        if isinstance(dim, Tensor):
            return binary("maximum", max)(tensor, dim)
        shape = shapes.reduced(tensor._shape, dim, keepdim)
        result = kwargs.get("dtype") or tensor._dtype
        if kind == "test":
            result = BOOL
        elif kind == "index" or (
            kind == "sum" and kwargs.get("dtype") is None and not result.is_floating_point
        ):
            result = INT64
        known = values(tensor)
        elements = None
        if known is not None and known and function is not None and shape == ():
            elements = [function(known)]
        made = like(tensor, shape, result, carried=elements)
        if kind == "pair" and dim is not None:
            return Pair(made, like(tensor, shape, INT64))
        return into(out, made)

    run.__name__ = name
    return run


class Pair(tuple[Any, ...]):
    """What `max(dim=…)`, `topk` and `sort` give."""

    __slots__ = ()

    def __new__(cls, values: Any, indices: Any) -> Pair:
        return super().__new__(cls, (values, indices))

    @property
    def values(self) -> Any:
        return self[0]

    @property
    def indices(self) -> Any:
        return self[1]


def to(tensor: Tensor, /, *args: Any, **kwargs: Any) -> Tensor:
    """`tensor.to(device, dtype)` in all its forms."""
    kind, where = kwargs.get("dtype"), kwargs.get("device")
    for arg in args:
        if isinstance(arg, dtype):
            kind = arg
        elif isinstance(arg, Tensor):
            kind, where = arg._dtype, arg._device
        elif isinstance(arg, (str, device)) or (isinstance(arg, int) and not isinstance(arg, bool)):
            where = arg
    from sgcheck.world.tensors.dtypes import device_of

    target = tensor._device if where is None else device_of(where)
    kind = kind or tensor._dtype
    if kind is tensor._dtype and target == tensor._device and not kwargs.get("copy"):
        return tensor
    known = computed(lambda x: x, tensor, kind=kind)
    return like(tensor, kind=kind, where=target, carried=known)


def typed(kind: dtype) -> Function:
    """`tensor.float()` and its kin."""
    return lambda tensor, *a, **k: to(tensor, kind)


def type_(tensor: Tensor, /, kind: Any = None, **_: Any) -> Any:
    """`tensor.type(dtype)`."""
    return to(tensor, kind) if isinstance(kind, dtype) else f"torch.{tensor._dtype._name}"


def contiguous(tensor: Tensor, /, *args: Any, **kwargs: Any) -> Tensor:
    """`tensor.contiguous()`: the tensor itself, or a copy."""
    return tensor if tensor.is_contiguous() else like(tensor)


def clone(tensor: Tensor, /, *args: Any, **kwargs: Any) -> Tensor:
    """`tensor.clone()`."""
    made = like(tensor, carried=values(tensor))
    if not tensor.is_contiguous() and sorted(tensor._strides) == sorted(made._strides):
        made._strides = tensor._strides
    return made


def copy_(tensor: Tensor, /, other: Any, *args: Any, **kwargs: Any) -> Tensor:
    """`tensor.copy_(other)`."""
    if isinstance(other, Tensor):
        shapes.broadcast(tensor._shape, other._shape)
    written(tensor)
    known = values(other) if isinstance(other, Tensor) else None
    if known is not None and other._shape == tensor._shape and _whole(tensor):
        tensor._known = (tensor._storage.version, known)
    return tensor


def where(test: Tensor, /, left: Any = None, right: Any = None, **_: Any) -> Any:
    """`torch.where`."""
    if left is None:
        return Unknown(value_reason(test), "torch.where()")
    parts = [p for p in (test, left, right) if isinstance(p, Tensor)]
    sides = [p for p in (left, right) if isinstance(p, Tensor)]
    kind = common(left, right) if sides else _of_scalar(left) or FLOAT32
    return make(shapes.broadcast(*(p._shape for p in parts)), kind, test._device)


def matmul(name: str) -> Function:
    """A product of matrices: recorded as the kernel that it is."""

    def run(left: Tensor, /, right: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        made = like(
            left,
            shapes.multiplied(left._shape, right._shape),
            kwargs.get("out_dtype") or promoted(left._dtype, right._dtype),
        )
        record(f"torch.{name}", (left, right), kwargs)
        return into(out, made)

    run.__name__ = name
    return run


def added_product(name: str) -> Function:
    def run(
        tensor: Any, /, left: Tensor, right: Tensor, *args: Any, out: Any = None, **k: Any
    ) -> Any:
        made = like(left, shapes.multiplied(left._shape, right._shape))
        record(f"torch.{name}", (left, right), k)
        return into(out, made)

    return run


def einsum(equation: str, *operands: Any) -> Any:
    """`torch.einsum`."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    record("torch.einsum", operands, {})
    return like(operands[0], shapes.einsum(equation, [o._shape for o in operands]))


def outer(left: Tensor, /, right: Tensor, **_: Any) -> Tensor:
    """`torch.outer`."""
    return like(left, (left._shape[0], right._shape[0]), promoted(left._dtype, right._dtype))


def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None, **kwargs: Any) -> Any:
    """`torch.cat`."""
    parts = list(tensors)
    found = find_unknown(parts, 1)
    if found is not None:
        return Unknown(found.reason, "torch.cat()")
    dim = kwargs.get("axis", dim)
    made = like(parts[0], shapes.joined([p._shape for p in parts], dim), common(*parts))
    known = [values(p) for p in parts]
    if all(p.ndim == 1 for p in parts) and all(k is not None for k in known):
        made._known = (0, [e for k in known for e in k or ()])
    return into(out, made)


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None) -> Any:
    """`torch.stack`."""
    parts = list(tensors)
    found = find_unknown(parts, 1)
    if found is not None:
        return Unknown(found.reason, "torch.stack()")
    first = parts[0]
    if any(p._shape != first._shape for p in parts):
        raise RuntimeError("stack expects each tensor to be equal size")
    where_ = shapes.axis(dim, first.ndim + 1)
    shape = (*first._shape[:where_], len(parts), *first._shape[where_:])
    known = [values(p) for p in parts]
    made = like(first, shape)
    if where_ == 0 and all(k is not None for k in known):
        made._known = (0, [e for k in known for e in k or ()])
    return into(out, made)


def repeat(tensor: Tensor, /, *times: Any) -> Tensor:
    """`tensor.repeat`."""
    counts = shapes.sizes(times)
    lead = len(counts) - tensor.ndim
    if lead < 0:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    base = (1,) * lead + tensor._shape
    known = values(tensor)
    carried = known * math.prod(counts) if known and tensor.ndim == 1 and len(counts) == 1 else None
    return like(tensor, [a * b for a, b in zip(base, counts, strict=True)], carried=carried)


def repeat_interleave(tensor: Tensor, /, repeats: Any, dim: int | None = None, **k: Any) -> Any:
    """`torch.repeat_interleave`."""
    if isinstance(repeats, Tensor):
        size = k.get("output_size")
        if size is None:
            return Unknown(value_reason(repeats), "torch.repeat_interleave()")
        count = size
    else:
        count = None
    if dim is None:
        total = tensor.numel()
        return like(tensor, (count if count is not None else total * repeats,))
    axis = shapes.axis(dim, tensor.ndim)
    shape = list(tensor._shape)
    shape[axis] = count if count is not None else shape[axis] * repeats
    return like(tensor, shape)


def topk(tensor: Tensor, /, k: int, dim: int = -1, *args: Any, **kwargs: Any) -> Pair:
    """`torch.topk`."""
    axis = shapes.axis(dim, tensor.ndim)
    shape = list(tensor._shape)
    if k > shape[axis]:
        raise RuntimeError("selected index k out of range")
    shape[axis] = k
    return Pair(like(tensor, shape), like(tensor, shape, INT64))


def sort(tensor: Tensor, /, *args: Any, **kwargs: Any) -> Pair:
    """`torch.sort`."""
    return Pair(like(tensor), like(tensor, kind=INT64))


def index_select(tensor: Tensor, /, dim: int, index: Tensor, **_: Any) -> Tensor:
    """`torch.index_select`."""
    shape = list(tensor._shape)
    shape[shapes.axis(dim, tensor.ndim)] = index.numel()
    return like(tensor, shape)


def gather(tensor: Tensor, /, dim: int, index: Tensor, **_: Any) -> Tensor:
    """`torch.gather`."""
    return like(tensor, index._shape)


def of_unknown_size(name: str) -> Function:
    """An operation whose shape depends on values."""

    def run(tensor: Any, /, *args: Any, **kwargs: Any) -> Any:
        return Unknown(value_reason(tensor), f"torch.{name}()")

    run.__name__ = name
    return run


def decided(name: str) -> Function:
    """A yes-or-no question about values: `allclose`, `equal`."""

    def run(left: Tensor, /, right: Tensor, *args: Any, **kwargs: Any) -> Any:
        if name == "equal" and left._shape != right._shape:
            return False
        a, b = values(left), values(right)
        if a is not None and b is not None and left._shape == right._shape:
            return all(
                math.isclose(x, y, rel_tol=1e-5, abs_tol=1e-8) for x, y in zip(a, b, strict=True)
            )
        return Unknown(value_reason(left), f"torch.{name}()")

    run.__name__ = name
    return run


def broadcast_tensors(*tensors: Tensor) -> list[Tensor]:
    """`torch.broadcast_tensors`."""
    shape = shapes.broadcast(*(t._shape for t in tensors))
    return [t.expand(*shape) for t in tensors]


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """`torch.meshgrid`."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    shape = [t.numel() for t in tensors]
    if indexing == "xy" and len(shape) > 1:
        shape[0], shape[1] = shape[1], shape[0]
    return tuple(like(t, shape) for t in tensors)


def set_(tensor: Tensor, /, other: Any = None, *args: Any) -> Tensor:
    """`tensor.set_(source)`."""
    if isinstance(other, Tensor):
        take_over(tensor, other)
    return tensor


def chained(tensor: Tensor, /, *args: Any, **kwargs: Any) -> Tensor:
    """A method that gives the tensor itself."""
    return tensor


def host(tensor: Tensor, /, *args: Any, **kwargs: Any) -> Tensor:
    """`tensor.cpu()`."""
    return to(tensor, "cpu")


def on_gpu(tensor: Tensor, /, *args: Any, **kwargs: Any) -> Tensor:
    """`tensor.cuda()`."""
    return to(tensor, "cuda")


def lifted(function: Function) -> Function:
    """An operation that is given an unknown gives one."""

    def run(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, Unknown):
                return Unknown(value.reason, getattr(function, "__name__", "operation"))
        if "input" in kwargs:
            args = (kwargs.pop("input"), *args)
        return function(*args, **kwargs)

    run.__name__ = run.__qualname__ = getattr(function, "__name__", "run")
    return run
