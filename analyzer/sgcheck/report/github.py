"""GitHub workflow commands: one annotation per finding."""

from __future__ import annotations

from sgcheck.findings.model import Finding, at_least
from sgcheck.report.harmless import clean
from sgcheck.report.scan_report import ScanReport
from sgcheck.report.summary import assumed_line, why_unresolved

COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: ScanReport) -> str:
    """The annotations of the findings that people are shown, and of launches that were not checked."""
    shown = (f for f in report.findings if at_least(f.severity, report.least))
    lines = [annotation(finding) for finding in shown]
    for checked in report.launches:
        if reason := why_unresolved(checked):
            where = f"file={_property(checked.launch.file)},line={checked.launch.line}"
            title = _property("sgcheck: not checked")
            lines.append(f"::warning {where},title={title}::{_data(clean(reason))}")
    if line := assumed_line(report):
        lines.append(f"::notice title=sgcheck::{_data(clean(line))}")
    return "".join(line + "\n" for line in lines)


def annotation(finding: Finding) -> str:
    """`::error file=…,line=…::message`, escaped as GitHub's own toolkit does."""
    place = finding.place
    properties = {
        "file": place.file,
        "line": str(place.line),
        "col": str(place.column),
        "endLine": str(place.end_line),
        "endColumn": str(max(place.end_column - 1, 1)),
        "title": f"sgcheck {finding.rule}",
    }
    if place.end_line != place.line:
        # GitHub refuses columns of an annotation over several lines.
        del properties["col"], properties["endColumn"]
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{COMMANDS[finding.severity]} {listed}::{_data(text_of(finding))}"


def text_of(finding: Finding) -> str:
    """The message with tip and reason, a line each."""
    lines = [finding.message]
    if finding.tip:
        lines.append(f"Tip: {finding.tip}")
    step = finding.deciding
    if step is not None:
        where = f"{step.file}:{step.line}" if step.file is not None else ""
        lines.append(f"Because: {' '.join(part for part in (where, step.url, step.note) if part)}")
    return clean("\n".join(lines))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(clean(text).replace("\n", " ")).replace(":", "%3A").replace(",", "%2C")
