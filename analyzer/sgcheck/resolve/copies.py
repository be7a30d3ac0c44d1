"""Copies of raw values that outlive the run: what a run changed is taken back at its end."""

from __future__ import annotations

import enum
from typing import Any

from sgcheck.interp.journal import MISSING
from sgcheck.resolve.plain import plain
from sgcheck.values.records import record_names
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import Unknown

_DEPTH = 8


def copied(value: Any, depth: int = 0) -> Any:
    """A value as it stands, in plain containers; choices and unknowns stay what they are."""
    if issubclass(type(value), Choice):
        return Choice(tuple((c, copied(v, depth)) for c, v in value.cases), value.label)
    if issubclass(type(value), enum.Enum):
        return plain(value)
    if value is MISSING or value is None or issubclass(type(value), Unknown | str | int | float):
        return value
    if depth > _DEPTH:
        return plain(value)
    if issubclass(type(value), dict):
        return {
            k if issubclass(type(k), str) else str(plain(k)): copied(v, depth + 1)
            for k, v in value.items()
        }
    if issubclass(type(value), list | tuple):
        return [copied(v, depth + 1) for v in value]
    names = record_names(value)
    if names is not None:
        return {n: copied(getattr(value, n, None), depth + 1) for n in names}
    return plain(value)
