"""Findings of launches whose release is only assumed: errors are kept where the other releases have them too.

What holds only by an assumption is neither an error nor proved. Each error is asked of the other releases
that the launch may be for; one of them without it, or none that can be asked, makes a warning of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sgcheck.findings.checking import Checked
from sgcheck.findings.model import Finding
from sgcheck.resolve.started import is_beyond

Ask = Callable[[str, Sequence[int]], Mapping[int, Checked]]
"""Checks some launches (by their places in the list) with another release; what cannot be asked is left out."""

START = "start-failure"
BATCH = "first-batch-failure"
ENOUGH = 2
"""Of how many other releases an error must be known, where there are so many."""


@dataclass(slots=True)
class _Doubt:
    """One error of one launch: the releases that have it too, and the first that has not."""

    finding: Finding
    agree: list[str] = field(default_factory=list)
    against: str | None = None


def confirmed(
    checked: Sequence[Checked], ask: Ask | None, of_release: Callable[[str], bool]
) -> list[Checked]:
    """The launches in their order, their findings as strong as the releases that they may be for allow.

    `of_release` says of a rule's id whether what it finds depends on the release. Without `ask` no error
    of an assumed release is kept.
    """
    doubts: dict[int, list[_Doubt]] = {}
    for index, each in enumerate(checked):
        if each.settled.assumed:
            errors = [f for f in each.findings if f.severity == "error" and of_release(f.rule)]
            if errors:
                doubts[index] = [_Doubt(finding) for finding in errors]
    if ask is not None:
        _ask_all(checked, doubts, ask)
    return [
        _weakened(each, doubts.get(index, []), of_release) if each.settled.assumed else each
        for index, each in enumerate(checked)
    ]


def _ask_all(checked: Sequence[Checked], doubts: Mapping[int, list[_Doubt]], ask: Ask) -> None:
    versions = dict.fromkeys(
        version for index in doubts for version in checked[index].settled.neighbours
    )
    for version in versions:
        open_ones = [
            index
            for index, some in doubts.items()
            if version in checked[index].settled.neighbours
            and any(doubt.against is None for doubt in some)
        ]
        if not open_ones:
            continue
        for index, there in ask(version, open_ones).items():
            for doubt in doubts[index]:
                beyond = doubt.finding.rule == BATCH or _fails_beyond(checked[index], doubt.finding)
                verdict = _has_it(doubt.finding, there, beyond)
                if verdict is True:
                    doubt.agree.append(version)
                elif verdict is False and doubt.against is None:
                    doubt.against = version


def _has_it(finding: Finding, there: Checked, beyond: bool) -> bool | None:
    """Whether another release has an error too; None where its answer says nothing about it.

    `beyond`: the error comes after the arguments, where the other release may not have been followed.
    """
    if there.problem is not None or there.resolution is None:
        return None
    for other in there.findings:
        same = other.fingerprint == finding.fingerprint or other.place == finding.place
        if other.rule == finding.rule and (same or finding.rule == START):
            return True if other.severity == "error" else None
    outcome = there.resolution.outcome
    if finding.rule in (START, BATCH) and outcome.status not in ("ok", "conditional"):
        return None  # it did not come as far
    running = there.resolution.running
    if beyond and (running is None or running.reason is not None):
        return None
    return False


def _fails_beyond(each: Checked, finding: Finding) -> bool:
    outcome = each.resolution.outcome if each.resolution is not None else None
    return finding.rule == START and outcome is not None and is_beyond(outcome)


def _weakened(
    each: Checked, doubts: Sequence[_Doubt], of_release: Callable[[str], bool]
) -> Checked:
    by_finding = {id(doubt.finding): doubt for doubt in doubts}
    enough = min(ENOUGH, len(each.settled.neighbours))
    where = f"on {each.version or 'the default release'}; {each.settled.assumed}"
    out: list[Finding] = []
    for finding in each.findings:
        if not of_release(finding.rule):
            out.append(finding)
            continue
        doubt = by_finding.get(id(finding))
        if doubt is not None and doubt.against is None and enough <= len(doubt.agree):
            too = f"; the same in {', '.join(doubt.agree)}" if doubt.agree else ""
            said = f"({each.settled.assumed}{too})"
            out.append(replace(finding, message=f"{finding.message} {said}", fix=None))
            continue
        against = f", and {doubt.against} has no such error" if doubt and doubt.against else ""
        words = "" if finding.severity == "note" else f" ({where}{against})"
        severity = "warning" if finding.severity == "error" else finding.severity
        out.append(
            replace(
                finding,
                severity=severity,
                confidence="likely",
                message=finding.message + words,
                fix=None,
            )
        )
    return replace(each, findings=tuple(out))
