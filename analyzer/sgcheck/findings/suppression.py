"""What is not to be reported: comments in the files, the configuration's paths, a baseline file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sgcheck.findings.baseline import Baseline
from sgcheck.findings.builder import file_finding
from sgcheck.findings.model import Finding, Place
from sgcheck.scan.model import Launch, Suppression

RULE = "unused-suppression"


@dataclass(frozen=True, slots=True)
class Kept:
    """What is reported, and how much is not, by what: `comment`, `configuration`, `baseline`."""

    findings: tuple[Finding, ...]
    suppressed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Silence:
    """What to leave out. `ignored` gives the rules that the configuration ignores in a file.

    `rules` are the ids of all rules, `ran` those that ran: a comment about a rule that did not run is
    not called unused. `canonical` maps former ids to today's.
    """

    comments: Mapping[str, Sequence[Suppression]]
    ignored: Callable[[str], Collection[str]]
    baseline: Baseline | None
    rules: Collection[str]
    ran: Collection[str]
    canonical: Callable[[str], str] = lambda name: name


def suppress(findings: Iterable[Finding], launches: Sequence[Launch], silence: Silence) -> Kept:
    """The findings that are reported, and one more for each suppression without effect."""
    kept: list[Finding] = []
    counts: dict[str, int] = {}
    used: set[tuple[str, int, str]] = set()
    for finding in _distinct(findings):
        by = _by_comment(finding, launches, silence, used)
        if by is None and finding.rule in silence.ignored(finding.place.file):
            by = "configuration"
        if by is None and silence.baseline is not None and silence.baseline.takes(finding):
            by = "baseline"
        if by is None:
            kept.append(finding)
        else:
            counts[by] = counts.get(by, 0) + 1
    if RULE in silence.ran:
        for extra in (*_unused(silence, used), *_stale(silence)):
            if extra.rule not in silence.ignored(extra.place.file):
                kept.append(extra)
    return Kept(tuple(sorted(kept, key=_order)), counts)


def _distinct(findings: Iterable[Finding]) -> Iterable[Finding]:
    """Each only once: forms of one launch say the same of the words that they share."""
    seen: set[tuple[object, ...]] = set()
    for finding in findings:
        key = (finding.rule, finding.place, finding.message)
        if key not in seen:
            seen.add(key)
            yield finding


def _order(finding: Finding) -> tuple[object, ...]:
    return (finding.place, finding.rule, finding.message)


def _by_comment(
    finding: Finding,
    launches: Sequence[Launch],
    silence: Silence,
    used: set[tuple[str, int, str]],
) -> str | None:
    found = None
    for comment in silence.comments.get(finding.place.file, ()):
        for name in comment.rules:
            if silence.canonical(name) == finding.rule and _covers(comment, finding, launches):
                used.add((finding.place.file, comment.span.start, name))
                found = "comment"
    return found


def _covers(comment: Suppression, finding: Finding, launches: Sequence[Launch]) -> bool:
    """Its own lines; and the whole command when it stands above (or beside) its first line.

    Within a shell command that goes on over lines there is no place for a comment.
    """
    place = finding.place
    if place.line <= comment.last_line and place.end_line >= comment.first_line:
        return True
    if finding.launch is None:
        return False
    return comment.first_line <= launches[finding.launch].line <= comment.last_line


def _unused(silence: Silence, used: Collection[tuple[str, int, str]]) -> Iterable[Finding]:
    for file, comments in silence.comments.items():
        for comment in comments:
            for message, key in _complaints(file, comment, silence, used):
                place = Place.of(file, comment.span)
                yield file_finding(RULE, "warning", place, message, key)


def _complaints(
    file: str,
    comment: Suppression,
    silence: Silence,
    used: Collection[tuple[str, int, str]],
) -> Iterable[tuple[str, tuple[str, ...]]]:
    if not comment.rules:
        yield "the comment names no rule: write # sgcheck: ignore[RULE] reason", ("no rule",)
        return
    for name in comment.rules:
        rule = silence.canonical(name)
        if rule not in silence.rules:
            yield f"there is no rule {name}", ("no such rule", name)
        elif rule in silence.ran and (file, comment.span.start, name) not in used:
            yield f"ignore[{name}] suppresses nothing here", ("unused", name)
    if not comment.reason:
        rules = ", ".join(comment.rules)
        yield f"ignore[{rules}] has no reason: write one after it", ("no reason", rules)


def _stale(silence: Silence) -> Iterable[Finding]:
    if silence.baseline is None:
        return
    for entry in silence.baseline.unused():
        message = f"the baseline's {entry.rule} in {entry.file} matches no finding any more"
        key = (entry.fingerprint,)
        place = Place.of(silence.baseline.path, entry.span)
        yield file_finding(RULE, "warning", place, message, key)
