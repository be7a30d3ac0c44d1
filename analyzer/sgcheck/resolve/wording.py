"""Conditions in words: the user's terms, short, deterministic."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from sgcheck.values.condition import FALSE, TRUE, Condition, ValueSet, Variable, paths

_MAX_PATHS = 24


def word(value: Any) -> str:
    """One value."""
    if isinstance(value, enum.Enum):
        return str(value.name)
    return value if isinstance(value, str) and value else repr(value)


def clause(variable: Variable, values: ValueSet) -> str:
    """What one step of a path says."""
    name = variable.name
    if variable.domain == frozenset((True, False)) or (
        values.values <= {True, False} and variable.kind == "flag"
    ):
        return name if True in values else f"not ({name})"
    falsy = {v for v in values.values if v is None or v is False or v == "" or repr(v) == "absent"}
    if len(falsy) == len(values.values) > 1:
        return f"{name} is set" if values.others else f"{name} is not set"
    if (
        falsy == values.values
        and falsy
        and next(iter(falsy)) is not None
        and repr(next(iter(falsy))) == "absent"
    ):
        return f"{name} is there" if values.others else f"{name} is absent"
    listed = sorted(word(v) for v in values.values)
    if values.others:
        return (
            f"{name} is not {listed[0]}"
            if len(listed) == 1
            else f"{name} is none of {', '.join(listed)}"
        )
    return f"{name} is {listed[0]}" if len(listed) == 1 else f"{name} is one of {', '.join(listed)}"


def text(
    condition: Condition,
    possible: Callable[[Variable, ValueSet], ValueSet] = lambda _, values: values,
) -> str:
    """A condition as a sentence without its "if"; empty for one that always holds.

    `possible` takes values away that need not be named, since they cannot be there.
    """
    if condition is TRUE:
        return ""
    if condition is FALSE:
        return "never"
    ways = list(paths(condition, _MAX_PATHS + 1))
    shown = [" and ".join(clause(v, possible(v, s)) for v, s in way) for way in ways[:_MAX_PATHS]]
    if len(ways) > _MAX_PATHS:
        shown.append("… (further cases)")
    if len(shown) == 1:
        return shown[0]
    return " or ".join(f"({s})" if " and " in s else s for s in shown)
