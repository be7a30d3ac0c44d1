"""Markdown for the comment on a merge request: a table, then the reasons."""

from __future__ import annotations

from sgcheck.findings.model import Finding, at_least
from sgcheck.report.scan_report import ScanReport
from sgcheck.report.summary import assumed_line, summary_line
from sgcheck.report.wording import clean

SIGNS = {"error": "🔴", "warning": "🟡", "note": "🔵"}


def render(report: ScanReport) -> str:
    """The findings that people are shown."""
    shown = [f for f in report.findings if at_least(f.severity, report.least)]
    lines = ["### sgcheck", "", summary_line(report), ""]
    if line := assumed_line(report):
        lines += [line, ""]
    if shown:
        lines += ["| | place | rule | finding |", "|---|---|---|---|"]
        lines += [_row(finding) for finding in shown]
        lines.append("")
    return "".join(line + "\n" for line in lines)


def _row(finding: Finding) -> str:
    place = finding.place
    where = f"`{_cell(place.file)}:{place.line}`"
    step = finding.deciding
    reason = ""
    if step is not None and step.url:
        name = f"{step.file}:{step.line}" if step.file is not None else "report"
        reason = f" ([{_cell(name)}](<{_cell(step.url)}>))"
    tip = f"<br>{_cell(finding.tip)}" if finding.tip else ""
    text = _cell(finding.message) + reason + tip
    return f"| {SIGNS[finding.severity]} | {where} | `{finding.rule}` | {text} |"


def _cell(text: str) -> str:
    """Text that neither ends a cell nor becomes markup."""
    flat = " ".join(clean(text).split())
    for char in "\\|<>`*_[]":
        flat = flat.replace(char, "\\" + char) if char not in "`_" else flat
    return flat.replace("`", "'")
