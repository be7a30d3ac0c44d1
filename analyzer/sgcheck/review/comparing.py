"""The whole review of two trees: resolve, compare, group, attribute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sgcheck.errors import NothingToAnalyse
from sgcheck.resolve.resolution import LaunchError, Resolution
from sgcheck.review.causes import Causes, attribute
from sgcheck.review.compare import compare
from sgcheck.review.counterparts import counterparts
from sgcheck.review.declared import Declarations
from sgcheck.review.flag_changes import flag_changes
from sgcheck.review.grouping import entries
from sgcheck.review.model import (
    Change,
    Compared,
    Entry,
    FlagChange,
    Review,
    ReviewLaunch,
    Site,
    field_name,
)
from sgcheck.review.sides import Side, another_process, resolve_both
from sgcheck.source import Progress, silent

WATCHED = 8
"""Launches that are run once more to find the lines behind their differences."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a review is made. `jobs` as in `another_process`; `watched` 0: edits are not searched."""

    jobs: int | None = None
    watched: int = WATCHED
    progress: Progress = silent


def review(
    old: Side,
    new: Side,
    launches: Sequence[ReviewLaunch],
    names: tuple[str, str],
    plan: Plan | None = None,
) -> Review:
    """Compare all launches. `names` are how the user named the trees.

    Raises NothingToAnalyse where neither tree's parser accepts any of the launches.
    """
    plan = plan or Plan()
    infos = (old.release.predictor.info, new.release.predictor.info)
    targets = list(dict.fromkeys(each.launch.target for each in launches))
    if infos[0].tree == infos[1].tree:
        resolved = [(r, r) for r in map(new.resolve, launches)] if len(launches) == 1 else []
        _refuse_refused(resolved, names)
        same = tuple(Compared(each, "ok", "ok") for each in launches)
        if resolved:
            status = resolved[0][0].outcome.status
            same = (Compared(launches[0], status, status),)
        return Review(*infos, same, (), names=names, notes=("both trees are the same",))
    old.borrow_from(new)
    new.borrow_from(old)
    with another_process(old, len(launches), jobs=plan.jobs) as elsewhere:
        resolved = resolve_both(old, new, launches, elsewhere=elsewhere, progress=plan.progress)
        _refuse_refused(resolved, names)
        causes = Causes(old, new, elsewhere)
        declared = (Declarations(causes.outlines[0]), Declarations(causes.outlines[1]))
        compared = [
            _with_declarations(compare(each, *pair), declared)
            for each, pair in zip(launches, resolved, strict=True)
        ]
        found = entries(compared)
        by_name = {each.name: each for each in launches}
        plan.progress(f"finding the lines behind {len(found)} differences", transient=True)
        found = attribute(found, causes, by_name, plan.watched)
    found = [_with_texts(entry, causes) for entry in found]
    found = counterparts(found, causes)
    moved = {each for one in compared for each in one.moved}
    return Review(
        *infos,
        tuple(compared),
        tuple(found),
        _flags(old, new, targets, declared),
        len(moved),
        names=names,
    )


def _refuse_refused(
    resolved: Sequence[tuple[Resolution, Resolution]], names: tuple[str, str]
) -> None:
    """Launches that no side's parser takes say nothing about either."""
    if not resolved or not all(r.outcome.status == "cli_error" for pair in resolved for r in pair):
        return
    error = resolved[0][1].outcome.error
    what = "the launch" if len(resolved) == 1 else f"any of the {len(resolved)} launches"
    why = f": {error.message}" if isinstance(error, LaunchError) else ""
    raise NothingToAnalyse(
        f"neither {names[0]} nor {names[1]} accepts {what}{why}; give flags that one of them has."
    )


def _with_declarations(compared: Compared, declared: tuple[Declarations, Declarations]) -> Compared:
    """Defaults and flags get the line that declares them."""
    changes = tuple(
        replace(
            change,
            old_sites=_declared(change, change.old_sites, declared[0]),
            new_sites=_declared(change, change.new_sites, declared[1]),
        )
        for change in compared.changes
    )
    return replace(compared, changes=changes)


def _declared(change: Change, sites: Iterable[Site], declared: Declarations) -> tuple[Site, ...]:
    out: list[Site] = []
    for site in sites:
        found = None
        if site.kind in ("default", "flag") and site.file is None:
            found = declared.field(field_name(change))
        out.append(replace(found, kind=site.kind) if found is not None else site)
    return tuple(out)


def _with_texts(entry: Entry, causes: Causes) -> Entry:
    change = replace(
        entry.change,
        old_sites=tuple(causes.at(0, site) for site in entry.change.old_sites),
        new_sites=tuple(causes.at(1, site) for site in entry.change.new_sites),
    )
    return replace(entry, change=change)


def _flags(
    old: Side, new: Side, targets: Sequence[object], declared: tuple[Declarations, Declarations]
) -> tuple[FlagChange, ...]:
    """From the first machine on which both trees build their parser."""
    for target in targets:
        tables = (old.flags(target), new.flags(target))  # type: ignore[arg-type]
        if tables[0] is not None and tables[1] is not None:
            return tuple(flag_changes(tables[0], tables[1], declared))
    return ()
