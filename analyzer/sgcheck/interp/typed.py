"""Questions that the type of an unknown answers by itself."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from sgcheck.values.symbols import Typed

_COPIES: tuple[Any, ...] = (copy.copy, copy.deepcopy)
_VALUES = (bool, int, float, complex, str, bytes, type(None))
"""Types whose values are copied to themselves and whose attributes all belong to the type."""


def answer(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`func(*args)` where the types of its first argument decide it; else NotImplemented."""
    if not args or kwargs or not isinstance(args[0], Typed):
        return NotImplemented
    types: tuple[type, ...] = object.__getattribute__(args[0], "types")
    if not types:
        return NotImplemented
    rest = args[1:]
    if func is isinstance:
        classes = rest[0] if isinstance(rest[0], tuple) else rest
        if not all(isinstance(c, type) for c in classes):
            return NotImplemented
        return _agreed([issubclass(t, classes) for t in types])
    if func is type and not rest:
        return _agreed(types)
    if not all(t in _VALUES for t in types):
        return NotImplemented
    if func in _COPIES and not rest:
        return args[0]
    if func is dataclasses.is_dataclass or func is callable:
        return False
    if func is hasattr and isinstance(rest[0], str):
        return _agreed([hasattr(t, rest[0]) for t in types])
    return NotImplemented


def _agreed(verdicts: Any) -> Any:
    """The one verdict of all types, else NotImplemented."""
    first, *others = verdicts
    return first if all(other is first for other in others) else NotImplemented
