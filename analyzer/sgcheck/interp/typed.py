"""Questions that the type of an unknown answers by itself."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from sgcheck.values.symbols import Choice, Drawn, Fact, Typed
from sgcheck.values.unknown import PlainObject, Unknown

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


def distinct(left: Any, right: Any) -> bool:
    """Whether the type or the age of one says that it cannot be the other, a known object."""
    for mine, other in ((left, right), (right, left)):
        if type(other) is PlainObject and isinstance(mine, Unknown):
            if object.__getattribute__(mine, "sg_born") < other.sg_born and not _composed(mine):
                return True
        elif isinstance(mine, Typed) and not isinstance(other, Unknown):
            types: tuple[type, ...] = object.__getattribute__(mine, "types")
            complete = isinstance(mine, Drawn) or type(other) not in _VALUES
            if types and complete and all(t in _VALUES for t in types):
                return not isinstance(other, types)
    return False


def _composed(value: Unknown) -> bool:
    """Whether an unknown may stand for an object that was put into it later."""
    return isinstance(value, Choice | Fact)


def _agreed(verdicts: Any) -> Any:
    """The one verdict of all types, else NotImplemented."""
    first, *others = verdicts
    return first if all(other is first for other in others) else NotImplemented
