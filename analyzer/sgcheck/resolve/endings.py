"""The ways in which a launch ends early: which of them are one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from sgcheck.resolve.resolution import OutcomeCase
from sgcheck.values.condition import Condition, Space, variables_of
from sgcheck.values.signals import LimitReached

Ending = tuple[Condition, OutcomeCase]

MAX_MESSAGES = 3
"""So many messages of one `raise` are told apart; more are one case with what they share."""


def distinct(space: Space, endings: Iterable[Ending]) -> list[Ending]:
    """The endings with equal ones joined; `condition` of their outcomes is not looked at.

    Where one `raise` has many messages, which only name other facts each time, they are one ending:
    its message says what the difference depends on.
    """
    equal: dict[Any, list[Ending]] = {}
    for ending in endings:
        equal.setdefault(_said(ending[1]), []).append(ending)
    at_line: dict[Any, list[Ending]] = {}
    for same in equal.values():
        one = space.any_of(condition for condition, _ in same), same[0][1]
        at_line.setdefault(_place(one[1]), []).append(one)
    found: list[Ending] = []
    for here in at_line.values():
        found += [_one(space, here)] if len(here) > MAX_MESSAGES else here
    return found


def _said(case: OutcomeCase) -> Any:
    error = case.error
    return case.status, error and (error.type, error.file, error.line, error.message), case.reason


def _place(case: OutcomeCase) -> Any:
    """The line that raises, with the type of what it raises; of each its own where there is no line."""
    error = case.error
    if error is None or error.file is None:
        return id(case)
    return case.status, error.type, error.file, error.line, error.function


def _one(space: Space, endings: Sequence[Ending]) -> Ending:
    whole = space.any_of(condition for condition, _ in endings)
    case = endings[0][1]
    assert case.error is not None
    messages = [other.error.message for _, other in endings if other.error is not None]
    text = shared_text(messages, _between(space, whole, [condition for condition, _ in endings]))
    return whole, replace(case, error=replace(case.error, message=text))


def _between(space: Space, whole: Condition, parts: Sequence[Condition]) -> str:
    """The questions that tell the parts of a condition from each other."""
    names: dict[str, None] = {}
    try:
        for part in parts:
            names.update((v.name, None) for v in variables_of(space.assume(part, whole)))
    except LimitReached:
        return "depends on the model"
    return f"depends on {', '.join(sorted(names))}"


def shared_text(messages: Sequence[str], difference: str) -> str:
    """What all messages say, word for word, with `<difference>` where they part."""
    words = [message.split(" ") for message in messages]
    shortest = min(map(len, words))
    start = 0
    while start < shortest and len({each[start] for each in words}) == 1:
        start += 1
    end = 0
    while end < shortest - start and len({each[-1 - end] for each in words}) == 1:
        end += 1
    first = words[0]
    return " ".join([*first[:start], f"<{difference}>", *first[len(first) - end :]])
