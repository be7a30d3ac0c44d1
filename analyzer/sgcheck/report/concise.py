"""One line per finding: `path:line:column: severity[rule] message`."""

from __future__ import annotations

from sgcheck.findings.model import at_least
from sgcheck.report.scan_report import ScanReport
from sgcheck.report.summary import assumed_line, summary_line
from sgcheck.report.wording import clean


def render(report: ScanReport) -> str:
    """The findings that people are shown, then one line that counts."""
    lines = []
    for finding in report.findings:
        if not at_least(finding.severity, report.least):
            continue
        place = finding.place
        where = f"{clean(place.file)}:{place.line}:{place.column}"
        message = " ".join(clean(finding.message).split())
        lines.append(f"{where}: {finding.severity}[{finding.rule}] {message}")
    lines += [line for line in (summary_line(report), assumed_line(report)) if line]
    return report.terminal.plain("".join(line + "\n" for line in lines))
