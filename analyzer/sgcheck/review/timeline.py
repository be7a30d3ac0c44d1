"""A row of releases of which few are looked at: where does a state change?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from sgcheck.errors import UsageError
from sgcheck.source.metadata import release_number
from sgcheck.source.releases import by_number

State = TypeVar("State")

MAX_LABEL = 24
"""Columns that the name of a release takes at most."""


def looked_at(
    count: int,
    state: Callable[[int], State],
    same: Callable[[State, State], bool],
    seeds: Iterable[int] = (),
) -> dict[int, State]:
    """The states of some of `count` items: both ends, the seeds, and both sides of each change.

    Between two states that are the same (`same` should compare what made them so, too) nothing is
    looked at: a change that is taken back in between is not found there, unless a seed lies in it.
    """
    found: dict[int, State] = {}
    points = sorted({0, count - 1, *(seed for seed in seeds if 0 <= seed < count)})
    for point in points:
        found[point] = state(point)
    todo = list(pairwise(points))
    while todo:
        low, high = todo.pop()
        if high - low < 2 or same(found[low], found[high]):
            continue
        middle = (low + high) // 2
        found[middle] = state(middle)
        todo += [(low, middle), (middle, high)]
    return dict(sorted(found.items()))


def changes_in(
    found: dict[int, State], same: Callable[[State, State], bool]
) -> list[tuple[int, int]]:
    """Neighbours that were looked at and differ."""
    points = sorted(found)
    return [(low, high) for low, high in pairwise(points) if not same(found[low], found[high])]


def chosen_releases(named: Sequence[str], first: str | None, last: str | None) -> list[str]:
    """The releases to look at, oldest first: those named, else the measured ones.

    `first` and `last` narrow them, and are among them. Raises UsageError for a bound that is no
    release number and for an empty row.
    """
    from sgcheck_rules.history import history

    if named and not (first or last):
        return list(named)
    releases = list(named or history().releases)
    for word in (first, last):
        if word is not None and release_number(word) is None:
            raise UsageError(f"{word} is no release number; write it as 0.5.23")
    bounds = [release_number(word) or word for word in (first, last) if word is not None]
    row = sorted({*releases, *bounds}, key=by_number)
    low = by_number(release_number(first) or first) if first else None
    high = by_number(release_number(last) or last) if last else None
    row = [
        r
        for r in row
        if (low is None or by_number(r) >= low) and (high is None or by_number(r) <= high)
    ]
    if not row:
        raise UsageError(f"there is no release from {first} to {last}: --from comes first")
    return row


def label(spec: str) -> str:
    """A release as it is shown: a path by its last part."""
    name = spec.replace("\\", "/").rstrip("/").rpartition("/")[2] or spec
    if name.endswith(".whl"):
        name = "-".join(name.split("-")[:2])
    return name if len(name) <= MAX_LABEL else name[: MAX_LABEL - 1] + "…"
