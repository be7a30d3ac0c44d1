"""GitHub workflow commands: one annotation per finding."""

from __future__ import annotations

from sgcheck.findings.model import Finding, at_least
from sgcheck.report.harmless import clean
from sgcheck.report.scan_report import ScanReport

COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: ScanReport) -> str:
    """The annotations of the findings that people are shown."""
    shown = (f for f in report.findings if at_least(f.severity, report.least))
    return "".join(annotation(finding) + "\n" for finding in shown)


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
