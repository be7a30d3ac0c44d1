"""What two trees build and call for one launch: where it differs, and where one side is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sgcheck.report.wording import reason_text
from sgcheck.resolve.resolution import FieldAnswer, LaunchError, Reason, Resolution
from sgcheck.resolve.started import cells_of, is_beyond, label, of_arguments, raising
from sgcheck.review.model import Change, Site

SUBJECT = "running"
_NAMED = 3
Sites = Callable[[FieldAnswer], tuple[Site, ...]]
ErrorSite = Callable[[LaunchError], Site]


def comparable(old: Resolution, new: Resolution) -> tuple[Resolution, Resolution]:
    """Both sides with the outcomes that can be compared.

    A start that is unknown beyond its arguments stands for those, unless the other side fails there.
    """
    return (old if _fails_beyond(new) else of_arguments(old)), (
        new if _fails_beyond(old) else of_arguments(new)
    )


def _fails_beyond(resolution: Resolution) -> bool:
    return resolution.outcome.status == "startup_error" and is_beyond(resolution.outcome)


def running_changes(
    old: Resolution, new: Resolution, sites: Sites, error_site: ErrorSite
) -> list[Change]:
    """The differences of what runs, where both starts were followed.

    A layer whose first batch fails on one side only makes the launch break, or start. What is not known
    on a side is one change for all of it.
    """
    if old.running is None or new.running is None:
        return []
    out = list(_raised(old, new, error_site))
    told = {change.subject for change in out}
    before, after = cells_of(old), cells_of(new)
    undecided: dict[str, str] = {}
    for name in before.keys() & after.keys():
        first, second = before[name], after[name]
        if name in told or first.status == second.status == "unknown":
            continue
        if "unknown" in (first.status, second.status):
            side, reason = (
                ("old", first.reason) if first.status == "unknown" else ("new", second.reason)
            )
            undecided[name] = f"{side}: {reason_text(reason)}"
        elif (first.value, first.cases) != (second.value, second.cases):
            out.append(Change("runs", name, first, second, sites(first), sites(second), (name,)))
    out.sort(key=lambda change: change.subject)
    reasons = (old.running.reason, new.running.reason)
    return out + _open(undecided, reasons)


def _open(undecided: dict[str, str], reasons: tuple[Reason | None, Reason | None]) -> list[Change]:
    same = (
        None not in reasons and len({reason.code for reason in reasons if reason is not None}) == 1
    )
    notes = [
        f"{side}: the start is not followed to its end: {reason_text(reason)}"
        for side, reason in zip(("old", "new"), reasons, strict=True)
        if reason is not None and not same
    ]
    if undecided:
        names = sorted(undecided)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        notes.append(
            f"{', '.join(names[:_NAMED])}{more} not known on one side ({undecided[names[0]]})"
        )
    return [Change("undecided", SUBJECT, None, None, note="; ".join(notes))] if notes else []


def _raised(old: Resolution, new: Resolution, error_site: ErrorSite) -> Iterator[Change]:
    """Layers whose first batch fails on one side, and is known not to on the other."""
    for category, resolution, other in (("starts", old, new), ("breaks", new, old)):
        answers = cells_of(other)
        for role, row, error in raising(resolution):
            name = f"{role}.{label(row.kind)}.kernel"
            there = answers.get(name)
            if there is None or there.status == "unknown":
                continue
            note = f"the first batch fails in {row.kind}"
            site = (error_site(error),)
            if category == "breaks":
                yield Change("breaks", name, there, error, (), site, (name,), note)
            else:
                yield Change("starts", name, error, there, site, (), (name,), note)
