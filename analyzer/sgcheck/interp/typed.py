"""Questions that the type of an unknown answers by itself."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

from sgcheck.interp.symbolic_values import PLAIN, is_number
from sgcheck.values.symbols import Choice, Drawn, Fact, Typed
from sgcheck.values.unknown import PlainObject, Unknown

_COPIES: tuple[Any, ...] = (copy.copy, copy.deepcopy)
_VALUES = (bool, int, float, complex, str, bytes, type(None))
"""Types whose values are copied to themselves and whose attributes all belong to the type."""


def answer(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`func(*args)` where the types of its first argument decide it; else NotImplemented."""
    if not args or kwargs or not issubclass(type(args[0]), Typed):
        return NotImplemented
    types: tuple[type, ...] = object.__getattribute__(args[0], "types")
    if not types:
        return NotImplemented
    rest = args[1:]
    if func is isinstance:
        classes = rest[0] if issubclass(type(rest[0]), tuple) else rest
        if not all(issubclass(type(c), type) for c in classes):
            return NotImplemented
        return _agreed([issubclass(t, classes) for t in types])
    if func is type and not rest:
        return _agreed(types)
    if func in _COPIES and not rest and all(t in _VALUES for t in types):
        return args[0]
    if not all(t in PLAIN or t in _VALUES for t in types):
        return NotImplemented
    if func is dataclasses.is_dataclass or func is callable:
        return False
    if func is hasattr and issubclass(type(rest[0]), str):
        return _agreed([hasattr(t, rest[0]) for t in types])
    return NotImplemented


def distinct(left: Any, right: Any) -> bool:
    """Whether the type or the age of one says that it cannot be the other, a known object."""
    for mine, other in ((left, right), (right, left)):
        if type(other) is PlainObject and issubclass(type(mine), Unknown):
            if object.__getattribute__(mine, "sg_born") < other.sg_born and not _composed(mine):
                return True
        elif issubclass(type(mine), Typed) and not issubclass(type(other), Unknown):
            types: tuple[type, ...] = object.__getattribute__(mine, "types")
            complete = issubclass(type(mine), Drawn) or type(other) not in _VALUES
            if types and complete and all(t in _VALUES for t in types):
                return not issubclass(type(other), types)
    return False


def _composed(value: Unknown) -> bool:
    """Whether an unknown may stand for an object that was put into it later."""
    return issubclass(type(value), Choice | Fact)


_OF_NUMBERS = (min, max, abs, round, sum)


def gives_number(func: Any, args: tuple[Any, ...]) -> bool:
    """Whether a function of Python certainly gives a number for these arguments (or raises)."""
    if func is len:
        return True
    if func in (min, max) and len(args) > 1:
        # A number can be compared with numbers only.
        return any(is_number(a) for a in args)
    if func in _OF_NUMBERS:
        return all(is_number(a) for a in args) and (len(args) > 1 or func in (abs, round))
    return getattr(func, "__module__", None) == "math" and func is getattr(
        math, getattr(func, "__name__", ""), None
    )


def _agreed(verdicts: Any) -> Any:
    """The one verdict of all types, else NotImplemented."""
    first, *others = verdicts
    return first if all(other is first for other in others) else NotImplemented
