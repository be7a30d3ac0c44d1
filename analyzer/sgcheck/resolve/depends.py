"""What a value that is not known was computed from, in the user's terms."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from sgcheck.resolve.resolution import Reason
from sgcheck.values.symbols import Choice, Fact, Symbol
from sgcheck.values.unknown import Unknown

_NAMED = 4
"""Facts that are named; of more only the number is said."""
_INTERNAL = re.compile(r"\b(choice|test|number|value) \d+\b|[A-Za-z_]+ \d+$")


def facts_of(value: Unknown) -> list[str]:
    """The facts from which an unknown was computed, each once, the nearest first."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    todo: list[Any] = [value]
    while todo:
        one = todo.pop(0)
        if id(one) in seen or not isinstance(one, Unknown):
            continue
        seen.add(id(one))
        of: tuple[Unknown, ...] = object.__getattribute__(one, "sg_of")
        if isinstance(one, Choice):
            todo.extend(case for _, case in one.cases)
        elif isinstance(one, Symbol):
            found[one.variable.name] = None
        elif of and not isinstance(one, Fact):
            todo.extend(of)
        else:
            label: str = object.__getattribute__(one, "label")
            if label != one.reason.code and not _INTERNAL.search(label):
                found[label] = None
    return list(found)


def reason_of(value: Unknown) -> Reason:
    """Why a value is not known, with what it depends on where its reason does not say that."""
    reason: Reason = object.__getattribute__(value, "reason")
    if reason.detail is not None:
        return reason
    facts = facts_of(value)
    if not facts:
        return reason
    more = f" and {len(facts) - _NAMED} more" if len(facts) > _NAMED else ""
    return replace(reason, detail=f"computed from {', '.join(facts[:_NAMED])}{more}")
