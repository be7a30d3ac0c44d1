"""Comparing values of which some are not known, and the reasons that they carry on."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import TRUE
from sgcheck.values.kinds import is_a
from sgcheck.values.symbols import Choice, Drawn, Fact, Symbol, Test, Text, Typed
from sgcheck.values.unknown import Unknown, find_unknown

_SCALARS = (str, int, float, bool, bytes, type(None), enum.Enum, complex)

FALSY = (None, False, "")
"""Values that are false; 0 and 0.0 equal False."""


NUMBERS = (int, float)
"""Types of an unknown that arithmetic has made."""


PLAIN = (bool, int, float, str, list, tuple, dict, type(None))
"""Types of what a model's files and its configuration hold, as far as anyone calculates with it."""
_ADDED = (str, list, tuple)
"""Types other than numbers that `+` joins, and `*` repeats."""


def types_of(value: Any) -> tuple[type, ...]:
    """The types that a value can have; empty where they are not known."""
    if issubclass(type(value), Choice):
        found = [types_of(case) for _, case in value.cases]
        return tuple(dict.fromkeys(t for types in found for t in types)) if all(found) else ()
    if issubclass(type(value), Test):
        return (bool,)
    if issubclass(type(value), Typed):
        types: tuple[type, ...] = value.types
        return types
    if is_a(value, Fact):
        return value.sg_types
    if issubclass(type(value), Unknown):
        return ()
    return (type(value),) if type(value) in PLAIN else ()


def is_number(value: Any) -> bool:
    """Whether a value, known or not, is certainly a number."""
    if not issubclass(type(value), Unknown):
        return issubclass(type(value), int | float)
    types = types_of(value)
    return bool(types) and all(t in (int, float, bool) for t in types)


def calculated(op: str, left: Any, right: Any) -> tuple[type, ...]:
    """The types that `left op right` can have, if it is not an error; empty where that is not known."""
    mine, other = types_of(left), types_of(right)
    certain = is_number(left) or is_number(right)
    if op in ("-", "/", "//", "**"):
        return NUMBERS if certain or (mine and other and {*mine, *other} <= {*PLAIN}) else ()
    if op not in ("+", "*") or not mine or not other or not {*mine, *other} <= {*PLAIN}:
        return NUMBERS if is_number(left) and is_number(right) else ()
    numbers = any(t in (int, float, bool) for t in mine) and any(
        t in (int, float, bool) for t in other
    )
    if op == "+":
        rest = [t for t in _ADDED if t in mine and t in other]
    else:
        rest = [
            t
            for t in _ADDED
            if (t in mine and {int, bool} & {*other}) or (t in other and {int, bool} & {*mine})
        ]
    return (*(NUMBERS if numbers else ()), *rest)


def is_open_number(value: Any) -> bool:
    """A number, or a computed unknown that may be one."""
    if not issubclass(type(value), Unknown):
        return issubclass(type(value), int | float) and not issubclass(type(value), bool)
    if type(value) is Unknown:
        return True
    types = types_of(value)
    if issubclass(type(value), Choice | Fact | Test) or bool in types:
        return False
    return is_number(value) or (type(value) is Typed and int in types)


def derived(label: str, *operands: Any, types: tuple[type, ...] = ()) -> Unknown:
    """What is computed from unknowns (or from what holds them): for the reason of the first."""
    of = tuple(u for u in (find_unknown(x, 6) for x in operands) if u is not None)
    reasons = [blame(unknown) for unknown in of]
    reason = next((r for r in reasons if r is not BRANCHES_REASON), reasons[0])
    return Typed(reason, label, types, of) if types else Unknown(reason, label, of)


def is_scalar(value: Any) -> bool:
    """A value that is compared by what it is, not by which object it is."""
    return issubclass(type(value), _SCALARS)


def alike(left: Any, right: Any, depth: int = 6) -> bool:
    """Whether two values cannot be told apart (unknowns: the same question)."""
    if left is right:
        return True
    if issubclass(type(left), Unknown) or issubclass(type(right), Unknown):
        return _alike_unknown(left, right)
    if type(left) is not type(right) or depth == 0:
        return False
    if is_scalar(left):
        return bool(left == right)
    if issubclass(type(left), list | tuple):
        return len(left) == len(right) and all(
            alike(a, b, depth - 1) for a, b in zip(left, right, strict=True)
        )
    if issubclass(type(left), dict):
        return list(left) == list(right) and all(alike(left[k], right[k], depth - 1) for k in left)
    if issubclass(type(left), set | frozenset):
        return bool(left == right)
    return False


def _alike_unknown(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if issubclass(type(left), Test):
        return left.condition is right.condition
    if issubclass(type(left), Choice):
        return len(left.cases) == len(right.cases) and all(
            c is d and alike(v, w) for (c, v), (d, w) in zip(left.cases, right.cases, strict=True)
        )
    if issubclass(type(left), Symbol):
        return left.variable is right.variable
    return type(left) in (Unknown, Drawn, Text, Typed) and left.label == right.label


def possible(symbol: Symbol, values: Iterable[Any]) -> list[Any]:
    """Those of the values that an input can have by its type; all of them for other facts."""
    if symbol.variable.kind != "input" or not symbol.types:
        return list(values)
    numbers = bool({int, float} & set(symbol.types))
    types = (*symbol.types, int, float) if numbers else symbol.types
    return [value for value in values if issubclass(type(value), types)]


def unanswerable(reason: Reason) -> Reason | None:
    """Reasons of facts that a user can give are none: the condition itself says what is asked."""
    answerable = reason.code.startswith(("model-unknown", "input-unknown", "host-file-unknown"))
    return None if answerable or reason is BRANCHES_REASON else reason


def blame(value: Unknown) -> Reason:
    """The reason to pass on: that of an unknown inside a choice, where there is one."""
    if issubclass(type(value), Choice):
        for _, case in value.cases:
            if issubclass(type(case), Unknown):
                return blame(case)
    reason: Reason = value.reason
    return reason


BRANCHES_REASON = Test(TRUE).reason
