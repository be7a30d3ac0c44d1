"""Shapes: what operations on tensors do to sizes and strides. Errors are torch's own kinds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

Shape = tuple[int, ...]


class Size(tuple[int, ...]):
    """`torch.Size`."""

    __module__ = "torch"
    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


def contiguous(shape: Sequence[int]) -> Shape:
    """Strides of a tensor whose last dimension is the fastest."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def axis(dim: int, rank: int) -> int:
    """A dimension that may be counted from the end. IndexError as torch raises it."""
    limit = max(rank, 1)
    if not -limit <= dim < limit:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})"
        )
    return dim % limit


def sizes(given: tuple[Any, ...]) -> list[int]:
    """`f(2, 3)`, `f((2, 3))` and `f([2, 3])`."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
    return [int(size) for size in given]


def broadcast(*shapes: Sequence[int]) -> Shape:
    """The shape of an element-wise operation. RuntimeError where sizes do not match."""
    rank = max((len(shape) for shape in shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for index, size in enumerate(shape, rank - len(shape)):
            if size != 1:
                if out[index] not in (1, size):
                    raise RuntimeError(
                        f"The size of tensor a ({out[index]}) must match the size of tensor b ({size}) "
                        f"at non-singleton dimension {index}"
                    )
                out[index] = size
    return tuple(out)


def reshaped(shape: Sequence[int], wanted: Sequence[int]) -> Shape:
    """`reshape`: one size may be -1. RuntimeError where the number of elements differs."""
    total = math.prod(shape)
    new = list(wanted)
    if -1 in new:
        index = new.index(-1)
        known = math.prod(size for size in new if size != -1)
        if known == 0 or total % known:
            raise RuntimeError(f"shape '{list(wanted)}' is invalid for input of size {total}")
        new[index] = total // known
    if math.prod(new) != total:
        raise RuntimeError(f"shape '{list(wanted)}' is invalid for input of size {total}")
    return tuple(new)


def reduced(shape: Sequence[int], dim: Any, keepdim: bool) -> Shape:
    """A reduction over `dim` (None: all, a number, or several)."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(1 for _ in shape) if keepdim else ()
    dims = {axis(d, len(shape)) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}
    if keepdim:
        return tuple(1 if i in dims else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in dims)


def multiplied(left: Sequence[int], right: Sequence[int]) -> Shape:
    """`matmul`. RuntimeError where the inner sizes differ."""
    if not left or not right:
        raise RuntimeError("both arguments to matmul need to be at least 1D")
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] != inner:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({_product(left)}x{left[-1]} and "
            f"{inner}x{right[-1]})"
        )
    if len(left) == 1 and len(right) == 1:
        return ()
    if len(right) == 1:
        return tuple(left[:-1])
    if len(left) == 1:
        return (*right[:-2], right[-1])
    return (*broadcast(left[:-2], right[:-2]), left[-2], right[-1])


def _product(shape: Sequence[int]) -> int:
    return math.prod(shape[:-1])


def joined(shapes: Iterable[Sequence[int]], dim: int) -> Shape:
    """`cat`. RuntimeError where other sizes differ."""
    parts = [shape for shape in shapes if tuple(shape) != (0,)]
    if not parts:
        return (0,)
    first = parts[0]
    where = axis(dim, len(first))
    for shape in parts[1:]:
        if len(shape) != len(first) or any(
            a != b for i, (a, b) in enumerate(zip(first, shape, strict=True)) if i != where
        ):
            raise RuntimeError(
                "Sizes of tensors must match except in dimension "
                f"{where}. Expected size {list(first)} but got size {list(shape)}"
            )
    out = list(first)
    out[where] = sum(shape[where] for shape in parts)
    return tuple(out)


def einsum(equation: str, operands: Sequence[Sequence[int]]) -> Shape:
    """The shape of `einsum` without an ellipsis."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    names: dict[str, int] = {}
    for word, shape in zip(inputs.split(","), operands, strict=True):
        for letter, size in zip(word, shape, strict=True):
            if names.setdefault(letter, size) not in (size, 1) and size != 1:
                raise RuntimeError(f"einsum(): operands do not broadcast at subscript {letter}")
            names[letter] = max(names[letter], size)
    if not arrow:
        letters = inputs.replace(",", "")
        output = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    return tuple(names[letter] for letter in output)


def viewed(
    shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]
) -> tuple[int, ...] | None:
    """The strides with which memory shows another shape; None where it would have to be copied."""
    if not shape or math.prod(shape) == 0:
        return contiguous(wanted)
    out = [0] * len(wanted)
    index, base = len(wanted) - 1, strides[-1]
    have = covered = 1
    for dim in reversed(range(len(shape))):
        have *= shape[dim]
        if dim and (shape[dim - 1] == 1 or strides[dim - 1] == have * base):
            continue
        while index >= 0 and (covered < have or wanted[index] == 1):
            out[index] = covered * base
            covered *= wanted[index]
            index -= 1
        if covered != have:
            return None
        if dim:
            base, have, covered = strides[dim - 1], 1, 1
    return tuple(out) if index < 0 else None


def nested(elements: list[Any], shape: Sequence[int]) -> Any:
    """Elements as lists in lists."""
    if not shape:
        return elements[0]
    if len(shape) == 1:
        return list(elements)
    step = math.prod(shape[1:])
    return [
        nested(elements[start : start + step], shape[1:])
        for start in range(0, shape[0] * step, max(step, 1))
    ]
