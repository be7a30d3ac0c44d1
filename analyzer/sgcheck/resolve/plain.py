"""Values of the interpreter as JSON."""

from __future__ import annotations

import enum
import math
import re
from typing import Any

from sgcheck.resolve.resolution import JsonValue
from sgcheck.values.records import record_names
from sgcheck.values.unknown import Unknown

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_DEPTH = 8
_AS_IT_IS = frozenset({type(None), bool, int, str})
MOST_BITS = 14_000
"""Of a number that is written with its digits: Python writes and reads up to 4300 of them."""


def is_long(value: Any) -> bool:
    """Whether a number has more digits than are written."""
    return issubclass(type(value), int) and int.bit_length(value) > MOST_BITS


def plain(value: Any, depth: int = 0) -> JsonValue:
    """A JSON form: enums by name (string enums by value), sets sorted, records as objects."""
    kind = type(value)
    if is_long(value):
        return f"an integer of {int.bit_length(value)} bits"
    if kind in _AS_IT_IS:
        return value  # type: ignore[no-any-return]
    if kind is list and _AS_IT_IS.issuperset(map(type, value)) and not any(map(is_long, value)):
        return value[:]  # type: ignore[no-any-return]
    if issubclass(kind, enum.Enum):
        inner: Any = value.value
        named = not (issubclass(type(inner), str | int) and issubclass(kind, str))
        return plain(value.name if named else inner, depth + 1)
    # What is the tree's own kind of text or number says nothing about itself here.
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, int):
        return int.__index__(value)
    if issubclass(kind, float):
        number = float.__pos__(value)
        return number if math.isfinite(number) else repr(number)
    if issubclass(type(value), Unknown):
        return repr(value)
    if depth > _DEPTH:
        return _ADDRESS.sub("", repr(value))
    if issubclass(type(value), dict):
        return {str(plain(k)): plain(v, depth + 1) for k, v in value.items()}
    if issubclass(type(value), list | tuple):
        return [plain(v, depth + 1) for v in value]
    if issubclass(type(value), set | frozenset):
        return sorted((plain(v, depth + 1) for v in value), key=str)
    names = record_names(value)
    if names is not None:
        return {n: plain(getattr(value, n, None), depth + 1) for n in names}
    try:
        return _ADDRESS.sub("", repr(value))
    except Exception:
        return f"<{type(value).__name__}>"
