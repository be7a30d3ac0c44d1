"""`tensor[index]`: the shape and the strides of what an index selects."""

from __future__ import annotations

from typing import Any

from sgcheck.values.unknown import Unknown, find_unknown
from sgcheck.world.tensors.dtypes import BOOL, dtype
from sgcheck.world.tensors.shapes import broadcast
from sgcheck.world.tensors.tensor import KNOWN_ELEMENTS, Tensor, like, value_reason, values, view


def indexed(tensor: Tensor, index: Any) -> Any:
    """What `tensor[index]` gives; an unknown where its shape depends on values."""
    found = find_unknown(index)
    if found is not None:
        return Unknown(found.reason, "tensor[]")
    parts = list(index) if isinstance(index, tuple) else [index]
    parts = [_plain(part) for part in parts]
    used = sum(_consumed(part) for part in parts)
    if used > tensor.ndim:
        raise IndexError(f"too many indices for tensor of dimension {tensor.ndim}")
    if not any(part is Ellipsis for part in parts):
        parts.append(Ellipsis)
    masks = [p for p in parts if isinstance(p, Tensor) and p.dtype is BOOL]
    if masks:
        return Unknown(value_reason(masks[0]), "tensor[mask]")
    return _basic(tensor, parts, used)


def _plain(part: Any) -> Any:
    if isinstance(part, list):
        from sgcheck.world.tensors.factories import tensor as make_tensor

        return make_tensor(part)
    return part


def _consumed(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, Tensor) and part.dtype is BOOL:
        return part.ndim
    return 1


def _basic(tensor: Tensor, parts: list[Any], used: int) -> Tensor:
    shape: list[int] = []
    strides: list[int] = []
    offset, dim = tensor._offset, 0
    advanced: list[Tensor] = []
    place = 0
    for part in parts:
        if part is Ellipsis:
            count = tensor.ndim - used
            shape += tensor._shape[dim : dim + count]
            strides += tensor._strides[dim : dim + count]
            dim += count
        elif part is None:
            shape.append(1)
            strides.append(tensor._strides[dim] * tensor._shape[dim] if dim < tensor.ndim else 1)
        elif isinstance(part, bool):
            shape.append(int(part))
            strides.append(1)
        elif isinstance(part, slice):
            start, stop, step = _bounds(part, tensor._shape[dim])
            shape.append(len(range(start, stop, step)))
            strides.append(tensor._strides[dim] * step)
            offset += start * tensor._strides[dim]
            dim += 1
        elif isinstance(part, Tensor) and (part.ndim or values(part) is None):
            if not advanced:
                place = len(shape)
            advanced.append(part)
            dim += 1
        else:
            number = int(part)
            size = tensor._shape[dim]
            if not -size <= number < size:
                raise IndexError(
                    f"index {number} is out of bounds for dimension {dim} with size {size}"
                )
            offset += (number % size) * tensor._strides[dim]
            dim += 1
    if advanced:
        inner = broadcast(*(part._shape for part in advanced))
        return like(tensor, (*shape[:place], *inner, *shape[place:]))
    made = view(tensor, shape, strides, offset=offset)
    made._known = _selected(tensor, made)
    return made


def _bounds(part: slice, size: int) -> tuple[int, int, int]:
    def number(value: Any) -> Any:
        return int(value) if isinstance(value, Tensor) else value

    return slice(number(part.start), number(part.stop), number(part.step)).indices(size)


def _selected(base: Tensor, made: Tensor) -> tuple[int, list[Any]] | None:
    """The elements that a view of a known, contiguous tensor shows."""
    known = values(base)
    if known is None or made.numel() > KNOWN_ELEMENTS or not base.is_contiguous():
        return None
    positions = [made._offset - base._offset]
    for size, stride in zip(made._shape, made._strides, strict=True):
        positions = [p + i * stride for p in positions for i in range(size)]
    return base._storage.version, [known[p] for p in positions]


def retyped(tensor: Tensor, kind: dtype) -> Tensor:
    """`view(dtype)`: the same bytes, read as another type."""
    old, new = tensor._dtype.itemsize, kind.itemsize
    shape, strides = list(tensor._shape), list(tensor._strides)
    if old != new:
        if not shape:
            raise RuntimeError("self.dim() cannot be 0 to view another dtype of a different size")
        if strides[-1] != 1 and shape[-1] > 1:
            raise RuntimeError("self.stride(-1) must be 1 to view as a dtype of a different size")
        if shape[-1] * old % new:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {new // old} to view {tensor._dtype} as {kind}"
            )
        shape[-1] = shape[-1] * old // new
        strides = [s * old // new if i < len(strides) - 1 else 1 for i, s in enumerate(strides)]
    made = view(tensor, shape, strides)
    made._dtype = kind
    made._known = tensor._known if kind is tensor._dtype else None
    return made
