"""One answer of one launch through many releases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sgcheck.report.document import Document, same_value
from sgcheck.report.wording import clean, reason_text, value_text
from sgcheck.resolve.resolution import FieldAnswer, LaunchError, Resolution
from sgcheck.review.compare import answer_sites, error_site, same_answer
from sgcheck.review.counterparts import atoms_of, canonical
from sgcheck.review.document import entry_document, site_document
from sgcheck.review.model import Entry, ReviewLaunch, Site
from sgcheck.review.sides import Side
from sgcheck.review.timeline import changes_in, looked_at

SCHEMA = "sgcheck.history/1"


@dataclass(frozen=True, slots=True)
class Point:
    """The answer in one release: a field's, or why there is none (`text`)."""

    answer: FieldAnswer | None
    text: str
    sites: tuple[Site, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A change between two releases that were looked at, with its entry of the review of both."""

    before: int
    after: int
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldHistory:
    """`points` holds the releases that were resolved, by index in `releases`."""

    field: str
    releases: tuple[str, ...]
    points: dict[int, Point]
    steps: tuple[Step, ...]
    launch: ReviewLaunch


def field_history(
    field: str,
    releases: Sequence[str],
    launch: ReviewLaunch,
    open_side: Callable[[str], Side],
    *,
    every: bool = False,
) -> FieldHistory:
    """Resolve few of the releases (all with `every`) and find where the answer changes.

    `field` is a field, or an effective backend such as `draft.moe_runner`.
    """
    sides: dict[int, Side] = {}

    def side(index: int) -> Side:
        if index not in sides:
            sides[index] = open_side(releases[index])
        return sides[index]

    def point(index: int) -> Point:
        here = side(index)
        return _placed(field, point_of(field, here.resolve(launch)), here)

    seeds = range(len(releases)) if every else ()
    found = looked_at(len(releases), point, same_rule, seeds)
    steps = []
    for low, high in changes_in(found, same_point):
        entries = _entries(field, side(low), side(high), launch, (releases[low], releases[high]))
        steps.append(Step(low, high, entries))
    return FieldHistory(field, tuple(releases), found, tuple(steps), launch)


def _entries(
    field: str, old: Side, new: Side, launch: ReviewLaunch, names: tuple[str, str]
) -> tuple[Entry, ...]:
    """What the review of two releases says of the field, or of the start where that changed."""
    from sgcheck.errors import NothingToAnalyse
    from sgcheck.review.comparing import Plan, review

    try:
        found = review(old, new, [launch], names, Plan(jobs=1))
    except NothingToAnalyse:
        return ()
    return tuple(
        entry
        for entry in found.entries
        if entry.change.subject in (field, "start") or field in entry.change.roles
    )


def point_of(field: str, resolution: Resolution) -> Point:
    """The answer for a field or a backend; without one, what there is instead."""
    outcome = resolution.outcome
    if not resolution.fields:
        error = outcome.error
        if isinstance(error, LaunchError):
            text = f"fails: {error.type}: {error.message}"
            return Point(None, clean(text).replace("\n", " "), (error_site(error),))
        reason = reason_text(outcome.reason) if outcome.reason else "fails in several ways"
        return Point(None, f"not known: {reason}")
    role, _, operation = field.partition(".")
    answer = resolution.effective.get(role, {}).get(operation) if operation else None
    answer = answer or resolution.fields.get(field)
    if answer is None:
        return Point(None, "no such field")
    return Point(answer, _text(answer), answer_sites(answer))


def _text(answer: FieldAnswer) -> str:
    if answer.status == "unknown":
        return f"unknown: {reason_text(answer.reason)}"
    if answer.status == "decided":
        return value_text(answer.value)
    return " or ".join(dict.fromkeys(value_text(case.value) for case in answer.cases))


def same_point(left: Point, right: Point) -> bool:
    """Whether two releases answer the same."""
    if left.answer is None or right.answer is None:
        return left.answer is right.answer and left.text == right.text
    if "unknown" in (left.answer.status, right.answer.status):
        return left.answer.status == right.answer.status
    if left.answer.status == right.answer.status == "decided":
        return same_value(left.answer.value, right.answer.value)
    return same_answer(left.answer, right.answer)


def same_rule(left: Point, right: Point) -> bool:
    """Whether two releases answer the same by rules that say the same.

    How a default is declared, and by what name a rule reads the record, makes no difference.
    """
    rules = [[_rule(site) for site in point.sites] for point in (left, right)]
    return same_point(left, right) and rules[0] == rules[1]


def _rule(site: Site) -> tuple[str, str, frozenset[str]]:
    text = "" if site.kind in ("default", "flag") else canonical(site.text or "")
    return site.kind, text, frozenset(atoms_of(site.conditions))


def _placed(field: str, point: Point, side: Side) -> Point:
    """The point with texts of its lines, and the declaring line of a default."""
    from sgcheck.review.declared import Declarations
    from sgcheck.review.pairing import Outlines

    outlines = Outlines(side.tree)
    declared = Declarations(outlines)
    sites = []
    name = point.answer.name if point.answer is not None else field
    for site in point.sites:
        found = site
        if site.file is None and site.kind in ("default", "flag"):
            declaration = declared.field(name)
            found = replace(declaration, kind=site.kind) if declaration is not None else site
        if found.file is not None and found.text is None:
            found = replace(found, text=outlines.of(found.file).text(found.line))
        sites.append(found)
    return Point(point.answer, point.text, tuple(sites))


def history_document(history: FieldHistory) -> Document:
    """The JSON form (`docs/diff.md`)."""
    return {
        "schema": SCHEMA,
        "field": history.field,
        "releases": [
            {
                "release": release,
                "resolved": index in history.points,
                "value": _value(history.points.get(index)),
                "text": history.points[index].text if index in history.points else None,
                "lines": [site_document(s) for s in history.points[index].sites]
                if index in history.points
                else [],
            }
            for index, release in enumerate(history.releases)
        ],
        "changes": [
            {
                "from": history.releases[step.before],
                "to": history.releases[step.after],
                "entries": [entry_document(entry) for entry in step.entries],
            }
            for step in history.steps
        ],
    }


def _value(point: Point | None) -> Document | None:
    if point is None or point.answer is None:
        return None
    answer = point.answer
    document: Document = {"status": answer.status}
    if answer.status == "decided":
        document["value"] = answer.value
    elif answer.status == "conditional":
        document["cases"] = [{"condition": c.condition, "value": c.value} for c in answer.cases]
    return document
