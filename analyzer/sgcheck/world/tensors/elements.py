"""Element-wise results of tensors whose elements are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sgcheck.world.tensors.dtypes import BOOL, dtype
from sgcheck.world.tensors.tensor import KNOWN_ELEMENTS, Tensor, values


def computed(function: Callable[..., Any], *parts: Any, kind: dtype) -> list[Any] | None:
    """Element-wise results where all operands are known and of one shape (or single elements)."""
    columns: list[list[Any]] = []
    count = 1
    for part in parts:
        if isinstance(part, Tensor):
            found = values(part)
            if found is None:
                return None
            columns.append(found)
            count = max(count, len(found))
        else:
            columns.append([part])
    if count > KNOWN_ELEMENTS or any(len(column) not in (1, count) for column in columns):
        return None
    shapes = {part._shape for part in parts if isinstance(part, Tensor) and part.numel() > 1}
    if len(shapes) > 1:
        return None
    try:
        out = [
            function(*(column[i] if len(column) > 1 else column[0] for column in columns))
            for i in range(count)
        ]
    except (ArithmeticError, ValueError, TypeError):
        return None
    if kind is BOOL:
        return [bool(element) for element in out]
    return [float(e) for e in out] if kind.is_floating_point else [int(e) for e in out]
