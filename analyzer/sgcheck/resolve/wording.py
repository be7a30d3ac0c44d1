"""Conditions in words: the user's terms, short, deterministic."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import Any

from sgcheck.resolve.cover import Way, cover
from sgcheck.values.condition import FALSE, TRUE, Condition, Space, ValueSet, Variable, paths, size
from sgcheck.values.signals import LimitReached

_MAX_PATHS = 24
_COMPUTED = re.compile(r"\b(value|number) \d+ (computed|derived) from the (model|inputs)")

_CHOICE = re.compile(r"\bchoice \d+\b")


def word(value: Any) -> str:
    """One value."""
    if isinstance(value, enum.Enum):
        return str(value.name)
    return value if isinstance(value, str) and value else repr(value)


def clause(variable: Variable, values: ValueSet) -> str:
    """What one step of a path says."""
    name = _COMPUTED.sub(r"a \1 \2 from the \3", variable.name)
    name = _CHOICE.sub("one of several values", name).replace(" (another one)", "")
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
    space: Space,
    condition: Condition,
    given: Condition = TRUE,
    possible: Callable[[Variable, ValueSet], ValueSet] = lambda _, values: values,
) -> str:
    """A condition as a sentence without its "if"; empty for one that always holds.

    It has to be right only where `given` holds. `possible` takes values away that need not be
    named, since they cannot be there.
    """

    def say(step: tuple[Variable, ValueSet]) -> str:
        return clause(step[0], possible(*step))

    if condition is TRUE:
        return ""
    if condition is FALSE:
        return "never"
    try:
        ways, shared, against = _told(space, condition, given, say)
    except LimitReached:
        # What is given may be many times what is to be said: without it there is less to do.
        alone = _simpler(space, condition, given)
        try:
            ways, shared, against = _told(space, alone, TRUE, say, spare=False)
        except LimitReached:
            ways = [tuple(way) for way in paths(alone, _MAX_PATHS + 1)]
            shared, against = (), None
    if not ways or not all(ways):
        return ""
    rest = [tuple(step for step in way if step not in shared) for way in ways]
    parts = [say(step) for step in shared]
    either = _either([" and ".join(map(say, way)) for way in rest])
    if len(rest) == 1:
        parts = [*parts, either] if either else parts
    elif against is not None and sum(map(len, against)) < len(either):
        parts = [*parts, *against]
    else:
        parts = [*parts, f"({either})"] if parts else [either]
    return " and ".join(parts)


def _simpler(space: Space, condition: Condition, given: Condition) -> Condition:
    """The condition without what is given; as it is where that is shorter or takes too much."""
    try:
        return min(space.assume(condition, given), condition, key=size)
    except LimitReached:
        return condition


def _told(
    space: Space,
    condition: Condition,
    given: Condition,
    say: Callable[[tuple[Variable, ValueSet]], str],
    *,
    spare: bool = True,
) -> tuple[list[Way], Way, list[str] | None]:
    """The ways of a condition, what they share, and its exceptions in words where there are any."""
    ways = cover(space, condition, given, spare=spare)
    shared = tuple(s for s in ways[0] if all(s in way for way in ways[1:])) if ways else ()
    if len(ways) < 2:
        return ways, shared, None
    return ways, shared, _against(space, condition, given, shared, say, spare=spare)


def _against(
    space: Space,
    condition: Condition,
    given: Condition,
    shared: Way,
    say: Callable[[tuple[Variable, ValueSet]], str],
    *,
    spare: bool,
) -> list[str]:
    """What must not be, for a condition that is said sooner by its exceptions."""
    within = given
    for step in shared:
        within = space.both(within, space.among_set(*step))
    out = []
    for way in cover(space, space.negate(condition), within, spare=spare):
        if len(way) == 1:
            variable, values = way[0]
            out.append(say((variable, _other_values(variable, values))))
        else:
            out.append(f"not ({' and '.join(map(say, way))})")
    return out


def _other_values(variable: Variable, values: ValueSet) -> ValueSet:
    if variable.domain is None:
        return ~values
    return ValueSet(variable.domain) & ~values


def _either(ways: list[str]) -> str:
    shown = ways[:_MAX_PATHS]
    if len(ways) > _MAX_PATHS:
        shown.append("… (further cases)")
    if len(shown) == 1:
        return shown[0]
    return " or ".join(f"({s})" if " and " in s else s for s in shown)
