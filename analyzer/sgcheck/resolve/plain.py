"""Values of the interpreter as JSON."""

from __future__ import annotations

import dataclasses
import enum
import math
import re
from typing import Any

from sgcheck.resolve.resolution import JsonValue
from sgcheck.values.unknown import Unknown

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_DEPTH = 8
_AS_IT_IS = frozenset({type(None), bool, int, str})


def plain(value: Any, depth: int = 0) -> JsonValue:
    """A JSON form: enums by name (string enums by value), sets sorted, records as objects."""
    kind = type(value)
    if kind in _AS_IT_IS:
        return value  # type: ignore[no-any-return]
    if kind is list and _AS_IT_IS.issuperset(map(type, value)):
        return value[:]  # type: ignore[no-any-return]
    if isinstance(value, enum.Enum):
        inner = value.value
        return inner if isinstance(inner, str | int) and isinstance(value, str) else value.name
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Unknown):
        return repr(value)
    if depth > _DEPTH:
        return _ADDRESS.sub("", repr(value))
    if isinstance(value, dict):
        return {str(plain(k)): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v, depth + 1) for v in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(v, depth + 1) for v in value), key=str)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: plain(getattr(value, f.name, None), depth + 1)
            for f in dataclasses.fields(value)
        }
    names = getattr(type(value), "__struct_fields__", None)
    if names is not None:
        return {n: plain(getattr(value, n, None), depth + 1) for n in names}
    try:
        return _ADDRESS.sub("", repr(value))
    except Exception:
        return f"<{type(value).__name__}>"
