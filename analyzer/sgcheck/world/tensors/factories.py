"""Functions of torch that make tensors: `empty`, `zeros`, `tensor`, `arange`, …"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import LimitReached
from sgcheck.values.unknown import Unknown, find_unknown
from sgcheck.world.facade import not_modelled
from sgcheck.world.tensors.dtypes import BOOL, DEFAULTS, DTYPES, INT64, dtype
from sgcheck.world.tensors.shapes import sizes
from sgcheck.world.tensors.tensor import KNOWN_ELEMENTS, Tensor, like, make, values, written

MAX_DATA = 1_000_000


def opaque_tensor(reason: Reason) -> Tensor:
    """A tensor whose size is not known."""
    from sgcheck.world.tensors import opaque

    made: Tensor = opaque.opaque(opaque.OpaqueTensor, reason)
    return made


def _factory(element: Any) -> Callable[..., Tensor]:
    def run(
        *shape: Any,
        size: Any = None,
        dtype: dtype | None = None,
        device: Any = None,
        out: Any = None,
        **_: Any,
    ) -> Tensor:
        given = shape if size is None else (size,)
        found = find_unknown(given, 2)
        if found is not None:
            return opaque_tensor(found.reason)
        made = make(sizes(given), dtype, device)
        return constant(made, element)

    return run


def constant(made: Tensor, element: Any) -> Tensor:
    """Every element of a new tensor is the same; None: not known."""
    if element is not None and made.numel() <= KNOWN_ELEMENTS:
        made._known = (made._storage.version, [_cast(element, made._dtype)] * made.numel())
    return made


def _cast(element: Any, kind: dtype) -> Any:
    if kind is BOOL:
        return bool(element)
    return float(element) if kind.is_floating_point else int(element)


def _like_factory(element: Any) -> Callable[..., Tensor]:
    def run(
        tensor: Tensor, *_: Any, dtype: dtype | None = None, device: Any = None, **__: Any
    ) -> Tensor:
        return constant(like(tensor, kind=dtype, where=device), element)

    return run


def full(
    size: Any, fill_value: Any, *, dtype: dtype | None = None, device: Any = None, **_: Any
) -> Tensor:
    """`torch.full`."""
    found = find_unknown(size, 1)
    if found is not None:
        return opaque_tensor(found.reason)
    kind = dtype or _kind_of([fill_value])
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    made = make(sizes((size,)), kind, device)
    return constant(made, None if isinstance(value, Unknown) else value)


def full_like(tensor: Tensor, fill_value: Any, *, dtype: dtype | None = None, **k: Any) -> Tensor:
    """`torch.full_like`."""
    return constant(like(tensor, kind=dtype, where=k.get("device")), fill_value)


def tensor(data: Any, *, dtype: dtype | None = None, device: Any = None, **_: Any) -> Tensor:
    """`torch.tensor`: of numbers in lists, known where they are few."""
    if isinstance(data, Tensor):
        return like(data, kind=dtype, where=device, carried=values(data))
    shape, flat = _flattened(data)
    kind = dtype or _kind_of(flat)
    return _of(shape, flat, kind, device)


def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None, **_: Any) -> Tensor:
    """`torch.as_tensor`."""
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)  # type: ignore[no-any-return]
    return tensor(data, dtype=dtype, device=device)


def _of(shape: Sequence[int], flat: list[Any], kind: dtype, where: Any) -> Tensor:
    known: list[Any] | None = None
    if len(flat) <= KNOWN_ELEMENTS and find_unknown(flat, 1) is None:
        known = [_cast(element, kind) for element in flat]
    return make(shape, kind, where, known)


def _flattened(data: Any) -> tuple[list[int], list[Any]]:
    if isinstance(data, Tensor):
        found = values(data)
        return list(data._shape), found if found is not None else [data.item()] * data.numel()
    if isinstance(data, (list, tuple, range)):
        if len(data) > MAX_DATA:
            raise LimitReached("size")
        parts = [_flattened(part) for part in data]
        if any(shape != parts[0][0] for shape, _ in parts):
            raise ValueError("expected sequence of equal length")
        inner = parts[0][0] if parts else []
        return [len(data), *inner], [element for _, flat in parts for element in flat]
    return [], [data]


def _kind_of(flat: Sequence[Any]) -> dtype:
    kinds = {type(element) for element in flat}
    if kinds == {bool}:
        return BOOL
    if float in kinds or not kinds:
        return DEFAULTS.dtype
    return INT64


def arange(
    *bounds: Any,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    dtype: dtype | None = None,
    device: Any = None,
    **_: Any,
) -> Tensor:
    """`torch.arange`."""
    low, high = 0, end
    if len(bounds) == 1:
        high = bounds[0]
        low = start if start is not None else 0
    elif bounds:
        low, high = bounds[0], bounds[1]
        step = bounds[2] if len(bounds) > 2 else step
    elif start is not None:
        low = start
    low, high, step = (v.item() if isinstance(v, Tensor) else v for v in (low, high, step))
    if any(isinstance(v, Unknown) for v in (low, high, step)):
        return not_modelled("torch.arange(unknown)")  # type: ignore[return-value]
    count = max(0, math.ceil((high - low) / step))
    floating = any(isinstance(v, float) for v in (low, high, step))
    kind = dtype or (DEFAULTS.dtype if floating else INT64)
    known = [_cast(low + i * step, kind) for i in range(count)] if count <= KNOWN_ELEMENTS else None
    return make((count,), kind, device, known)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, **_: Any
) -> Tensor:
    """`torch.linspace`."""
    return make((steps,), dtype, device)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, **_: Any) -> Tensor:
    """`torch.eye`."""
    return make((n, n if m is None else m), dtype, device)


def randint(
    low: int, *rest: Any, dtype: dtype | None = None, device: Any = None, **kwargs: Any
) -> Tensor:
    """`torch.randint(low, high, size)` and `torch.randint(high, size)`."""
    size = kwargs.get("size", rest[-1] if rest else ())
    return make(sizes((size,)), dtype or INT64, device)


def randperm(n: int, *, dtype: dtype | None = None, device: Any = None, **_: Any) -> Tensor:
    """`torch.randperm`."""
    return make((n,), dtype or INT64, device)


def empty_strided(
    size: Any, stride: Any, *, dtype: dtype | None = None, device: Any = None, **_: Any
) -> Tensor:
    """`torch.empty_strided`."""
    made = make(size, dtype, device)
    made._strides = tuple(stride)
    return made


def complex_(real: Tensor, imag: Tensor) -> Tensor:
    """`torch.complex`."""
    return like(real, kind=DTYPES["complex64"])


def new_of(name: str) -> Callable[..., Tensor]:
    """`tensor.new_empty(…)` and its kin."""
    element = {"new_zeros": 0, "new_ones": 1}.get(name)

    def run(
        self: Tensor, *shape: Any, dtype: dtype | None = None, device: Any = None, **k: Any
    ) -> Tensor:
        if name == "new_tensor":
            return tensor(shape[0], dtype=dtype or self._dtype, device=device or self._device)
        value = element
        if name == "new_full":
            value = k.get("fill_value", shape[1] if len(shape) > 1 else None)
            shape = shape[:1]
        return constant(like(self, sizes(shape or (k.get("size", ()),)), dtype, device), value)

    run.__name__ = name
    return run


def fill_(self: Tensor, value: Any = 0) -> Tensor:
    """`tensor.fill_`, `tensor.zero_`."""
    written(self)
    if self.is_contiguous() and self._storage.size == self.nbytes:
        constant(self, value if isinstance(value, (int, float)) else None)
    return self


def typed_tensor(name: str, kind: dtype) -> type:
    """`torch.FloatTensor` and its kin: makers, and classes for type tests."""

    def new(cls: type, *args: Any, **kwargs: Any) -> Tensor:
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            return tensor(args[0], dtype=kind)
        return make(sizes(args), kind)

    return type(name, (), {"__module__": "torch", "__new__": new})


FACTORIES: dict[str, Callable[..., Any]] = {
    **{n: _factory(v) for n, v in (("empty", None), ("zeros", 0), ("ones", 1), ("rand", None), ("randn", None))},
    **{f"{n}_like": _like_factory(v) for n, v in (("empty", None), ("zeros", 0), ("ones", 1), ("rand", None), ("randn", None), ("randint", None))},
    "full": full, "full_like": full_like, "tensor": tensor, "as_tensor": as_tensor, "asarray": as_tensor, "scalar_tensor": tensor, "arange": arange,
    "range": arange, "linspace": linspace, "eye": eye, "randint": randint, "randperm": randperm, "empty_strided": empty_strided,
    "complex": complex_,
}  # fmt: skip
METHODS: dict[str, Callable[..., Any]] = {
    **{n: new_of(n) for n in ("new_empty", "new_zeros", "new_ones", "new_full", "new_tensor")},
    "fill_": fill_, "zero_": fill_,
}  # fmt: skip
TYPES: dict[str, type] = {
    name: typed_tensor(name, DTYPES[kind])
    for name, kind in {
        "FloatTensor": "float32", "LongTensor": "int64", "IntTensor": "int32", "BoolTensor": "bool", "HalfTensor": "float16",
        "BFloat16Tensor": "bfloat16", "DoubleTensor": "float64", "ByteTensor": "uint8", "ShortTensor": "int16", "CharTensor": "int8",
    }.items()
}  # fmt: skip
