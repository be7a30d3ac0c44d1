"""What a launch leaves in the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sgcheck.interp.journal import MISSING
from sgcheck.resolve.expand import shown
from sgcheck.resolve.resolution import JsonValue
from sgcheck.values.condition import TRUE
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import Unknown

if TYPE_CHECKING:
    from sgcheck.resolve.answers import Answers


def environment(answers: Answers, before: Mapping[str, str]) -> dict[str, JsonValue]:
    """What resolution set, changed or (None) removed; a list of cases where paths differ."""
    stopped = answers.explored.stopped
    ends = answers.explored.ends if stopped is None else [(TRUE, stopped)]
    given = answers.started if stopped is None else TRUE
    imported = answers.explored.imported
    names = sorted({n for _, s in ends for n in s.environment} | set(before if ends else ()))
    out: dict[str, JsonValue] = {}
    for name in names:
        old = before.get(name)
        by_import = imported.get(name, MISSING)
        cases = tuple((c, left_behind(s.environment.get(name), old, by_import)) for c, s in ends)
        value = cases[0][1] if len(cases) == 1 else Choice(cases)
        if not isinstance(value, Unknown) and value == old:
            continue
        seen = shown(answers.expanded(value, given, where_there=True))
        if seen != old:
            out[name] = seen
    return out


def left_behind(value: Any, before: Any, by_import: Any) -> Any:
    """A variable as the launch left it; where only an import wrote it, as it was before."""
    if isinstance(value, Choice):
        return Choice(tuple((c, left_behind(v, before, by_import)) for c, v in value.cases))
    if value is MISSING:
        value = None
    same = not isinstance(value, Unknown) and by_import is not MISSING and value == by_import
    return before if same else value
