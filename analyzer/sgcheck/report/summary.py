"""The line at the end of a scan's report."""

from __future__ import annotations

from collections import Counter

from sgcheck.findings.model import SEVERITIES, at_least
from sgcheck.report.scan_report import ScanReport
from sgcheck.report.wording import count


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
    unresolved = sum(
        1
        for each in report.launches
        if each.resolution is None or each.resolution.outcome.status == "unknown"
    )
    if unresolved:
        parts.append(f"{count(unresolved, 'launch', 'launches')} could not be resolved")
    if report.skipped:
        parts.append(f"{count(len(report.skipped), 'place')} skipped")
    return "; ".join(parts)
