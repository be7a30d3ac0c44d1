"""GitLab's code quality report (the Code Climate subset that GitLab reads)."""

from __future__ import annotations

from sgcheck.report.document import Document, dump_pretty
from sgcheck.report.scan_report import ScanReport

SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def render(report: ScanReport) -> str:
    """All findings; GitLab compares them by fingerprint."""
    rows: list[Document] = []
    for finding in report.findings:
        place = finding.place
        rows.append(
            {
                "description": finding.message,
                "check_name": finding.rule,
                "fingerprint": finding.fingerprint,
                "severity": SEVERITIES[finding.severity],
                "location": {
                    "path": place.file.replace("\\", "/").removeprefix("./"),
                    "lines": {"begin": place.line, "end": place.end_line},
                },
            }
        )
    return dump_pretty(list(rows))
