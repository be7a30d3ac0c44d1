"""The line at the end of a scan's report."""

from __future__ import annotations

from collections import Counter

from sgcheck.findings.checking import Checked
from sgcheck.findings.model import SEVERITIES, at_least
from sgcheck.report.scan_report import ScanReport
from sgcheck.report.wording import count, reason_text


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
    for words in ("model is not known", "could not be resolved"):
        if number := reasons[words]:
            noun = count(number, "launch", "launches")
            parts.append(
                f"{noun} whose {words}" if words.startswith("model") else f"{noun} {words}"
            )
    if report.skipped:
        parts.append(f"{count(len(report.skipped), 'place')} skipped")
    return "; ".join(parts)


def why_unresolved(checked: Checked) -> str:
    """What kept a launch from being resolved, in words; empty where a model of its own is unknown or nothing did."""
    if checked.problem is not None:
        return checked.problem
    if _unresolved(checked) != "could not be resolved" or checked.resolution is None:
        return ""
    return reason_text(checked.resolution.outcome.reason)


def _unresolved(checked: Checked) -> str:
    """Why a launch is not resolved, empty for one that is."""
    if checked.resolution is None:
        return "could not be resolved"
    outcome = checked.resolution.outcome
    if outcome.status != "unknown":
        return ""
    is_model = outcome.reason is not None and outcome.reason.code == "model-unknown"
    return "model is not known" if is_model else "could not be resolved"
