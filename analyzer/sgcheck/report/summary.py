"""The line at the end of a scan's report."""

from __future__ import annotations

from collections import Counter

from sgcheck.findings.checking import Checked
from sgcheck.findings.model import SEVERITIES, at_least
from sgcheck.report.scan_report import ScanReport
from sgcheck.report.wording import count, reason_text
from sgcheck.source.releases import by_number

UNKNOWN_MODEL = "whose model is not known"
OTHER_MACHINE = "on machines that are not modelled"
UNRESOLVED = "could not be resolved"


def summary_line(report: ScanReport) -> str:
    """How many launches, findings by severity, and what is not shown and why."""
    numbers = Counter(finding.severity for finding in report.findings)
    found = ", ".join(
        count(numbers[severity], severity)
        for severity in reversed(SEVERITIES)
        if numbers[severity] and at_least(severity, report.least)
    )
    parts = [f"{count(len(report.launches), 'launch', 'launches')}: {found or 'nothing found'}"]
    hidden = sum(n for severity, n in numbers.items() if not at_least(severity, report.least))
    if hidden:
        parts.append(f"{count(hidden, 'note')} hidden (--notes shows them)")
    if silenced := sum(report.suppressed.values()):
        parts.append(f"{silenced:,} suppressed")
    reasons = Counter(map(_unresolved, report.launches))
    for words in (UNKNOWN_MODEL, OTHER_MACHINE, UNRESOLVED):
        if number := reasons[words]:
            parts.append(f"{count(number, 'launch', 'launches')} {words}")
    if unfollowed := sum(not each.settled.follow for each in report.launches):
        some = count(unfollowed, "launch", "launches")
        parts.append(f"{some} checked up to the arguments only (--depth kernels: all)")
    if report.skipped:
        parts.append(f"{count(len(report.skipped), 'place')} skipped")
    return "; ".join(parts)


def assumed_line(report: ScanReport) -> str:
    """How many launches name no release and which setting gives it; empty where all do."""
    some = [each for each in report.launches if each.settled.assumed]
    if not some:
        return ""
    versions = sorted({each.version or "the default release" for each in some}, key=by_number)
    verb = "names" if len(some) == 1 else "name"
    return (
        f"{count(len(some), 'launch', 'launches')} {verb} no release and went by "
        f'{", ".join(versions)}: say it with --sglang, `sglang = "…"` in the configuration, '
        "or `# sgcheck: sglang=…` in the file"
    )


def why_unresolved(checked: Checked) -> str:
    """What kept a launch from being resolved, in words; empty where a model of its own is unknown or nothing did."""
    if checked.problem is not None:
        return checked.problem
    if _unresolved(checked) in ("", UNKNOWN_MODEL) or checked.resolution is None:
        return ""
    return reason_text(checked.resolution.outcome.reason)


def _unresolved(checked: Checked) -> str:
    """Why a launch is not resolved, empty for one that is."""
    if checked.resolution is None:
        return UNRESOLVED
    outcome = checked.resolution.outcome
    if outcome.status != "unknown":
        return ""
    code = outcome.reason.code if outcome.reason is not None else ""
    return {"model-unknown": UNKNOWN_MODEL, "target-not-modelled": OTHER_MACHINE}.get(
        code, UNRESOLVED
    )
