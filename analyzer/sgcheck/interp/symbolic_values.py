"""Comparing values of which some are not known, and the reasons that they carry on."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import TRUE
from sgcheck.values.symbols import Choice, Drawn, Symbol, Test, Text, Typed
from sgcheck.values.unknown import Unknown

_SCALARS = (str, int, float, bool, bytes, type(None), enum.Enum, complex)

FALSY = (None, False, "")
"""Values that are false; 0 and 0.0 equal False."""


NUMBERS = (int, float)
"""Types of an unknown that arithmetic has made."""


def is_number(value: Any) -> bool:
    """Whether a value, known or not, is certainly a number."""
    if isinstance(value, Choice):
        return all(is_number(case) for _, case in value.cases)
    if isinstance(value, Typed):
        return bool(value.types) and all(t in (int, float, bool) for t in value.types)
    return isinstance(value, int | float)


def is_open_number(value: Any) -> bool:
    if isinstance(value, Unknown):
        return type(value) is Unknown or (is_number(value) and bool not in value.types)
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_scalar(value: Any) -> bool:
    """A value that is compared by what it is, not by which object it is."""
    return isinstance(value, _SCALARS)


def alike(left: Any, right: Any, depth: int = 6) -> bool:
    """Whether two values cannot be told apart (unknowns: the same question)."""
    if left is right:
        return True
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return _alike_unknown(left, right)
    if type(left) is not type(right) or depth == 0:
        return False
    if is_scalar(left):
        return bool(left == right)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(
            alike(a, b, depth - 1) for a, b in zip(left, right, strict=True)
        )
    if isinstance(left, dict):
        return list(left) == list(right) and all(alike(left[k], right[k], depth - 1) for k in left)
    if isinstance(left, set | frozenset):
        return bool(left == right)
    return False


def _alike_unknown(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, Test):
        return left.condition is right.condition
    if isinstance(left, Choice):
        return len(left.cases) == len(right.cases) and all(
            c is d and alike(v, w) for (c, v), (d, w) in zip(left.cases, right.cases, strict=True)
        )
    if isinstance(left, Symbol):
        return left.variable is right.variable
    return type(left) in (Unknown, Drawn, Text, Typed) and left.label == right.label


def possible(symbol: Symbol, values: Iterable[Any]) -> list[Any]:
    """Those of the values that an input can have by its type; all of them for other facts."""
    if symbol.variable.kind != "input" or not symbol.types:
        return list(values)
    numbers = bool({int, float} & set(symbol.types))
    types = (*symbol.types, int, float) if numbers else symbol.types
    return [value for value in values if isinstance(value, types)]


def unanswerable(reason: Reason) -> Reason | None:
    """Reasons of facts that a user can give are none: the condition itself says what is asked."""
    answerable = reason.code.startswith(("model-unknown", "input-unknown"))
    return None if answerable or reason is BRANCHES_REASON else reason


def blame(value: Unknown) -> Reason:
    """The reason to pass on: that of an unknown inside a choice, where there is one."""
    if isinstance(value, Choice):
        for _, case in value.cases:
            if isinstance(case, Unknown):
                return blame(case)
    reason: Reason = value.reason
    return reason


BRANCHES_REASON = Test(TRUE).reason
