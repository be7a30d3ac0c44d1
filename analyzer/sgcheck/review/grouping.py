"""Changes with the same cause become one entry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sgcheck.resolve.resolution import FieldAnswer, LaunchError
from sgcheck.review.model import CATEGORIES, Change, Compared, Entry

SHOWN_EXAMPLES = 4


@dataclass(slots=True)
class _Group:
    first: Change
    launches: dict[str, None] = field(default_factory=dict)
    values: dict[object, tuple[Change, int]] = field(default_factory=dict)


def entries(compared: Iterable[Compared]) -> list[Entry]:
    """One entry per pair of lines, the most serious category and the most frequent first."""
    groups: dict[object, _Group] = {}
    for each in compared:
        for change in each.changes:
            group = groups.setdefault(_key(change), _Group(change))
            group.launches[each.launch.name] = None
            value = _values(change)
            known = group.values.get(value)
            group.values[value] = (change, 1) if known is None else (known[0], known[1] + 1)
    found = [_entry(group) for group in groups.values()]
    return sorted(found, key=_order)


def _entry(group: _Group) -> Entry:
    examples = sorted(group.values.values(), key=lambda pair: (-pair[1], str(_values(pair[0]))))
    return Entry(examples[0][0], tuple(group.launches), tuple(examples))


def _order(entry: Entry) -> tuple[object, ...]:
    change = entry.change
    places = [str(site.place) for site in (*change.old_sites, *change.new_sites)]
    return (
        CATEGORIES.index(change.category),
        -len(entry.launches),
        change.subject,
        places,
        str(_values(change)),
    )


def _key(change: Change) -> object:
    """The pair of lines. Where there are none, the values tell entries apart."""
    sites = tuple(
        tuple((s.kind if s.file is None else "", s.place) for s in each)
        for each in (change.old_sites, change.new_sites)
    )
    placed = any(site.file is not None for site in (*change.old_sites, *change.new_sites))
    rest = None if placed else (_values(change), change.note)
    return change.category, change.subject, change.roles, sites, rest


def _values(change: Change) -> object:
    return tuple(_text(side) for side in (change.old, change.new))


def _text(side: FieldAnswer | LaunchError | str | None) -> str:
    if isinstance(side, FieldAnswer):
        values = [case.value for case in side.cases] if side.status == "conditional" else side.value
        return f"{side.status} {values!r}"
    if isinstance(side, LaunchError):
        return f"{side.type} {side.message}"
    return repr(side)
