"""What the formats of `scan` write, and where they are."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sgcheck.findings.checking import Checked
from sgcheck.findings.model import Finding, Severity
from sgcheck.findings.rule import Rule
from sgcheck.report.terminal import Terminal
from sgcheck.scan.model import Skipped

Lines = Callable[[str], Sequence[str]]
"""Gives the lines of one of the user's files, without their ends; empty where it cannot be read."""


@dataclass(frozen=True, slots=True)
class ScanReport:
    """A finished scan. `least` is the lowest severity that people are shown; machines get all."""

    launches: Sequence[Checked]
    findings: Sequence[Finding]
    skipped: Sequence[Skipped]
    rules: Sequence[Rule]
    lines: Lines
    terminal: Terminal
    files: int = 0
    suppressed: Mapping[str, int] = field(default_factory=dict)
    least: Severity = "warning"
    verbose: bool = False


FORMATS: Mapping[str, str] = {
    "text": "sgcheck.report.full:render",
    "full": "sgcheck.report.full:render",
    "concise": "sgcheck.report.concise:render",
    "json": "sgcheck.report.scan_document:render",
    "sarif": "sgcheck.report.sarif:render",
    "github": "sgcheck.report.github:render",
    "gitlab": "sgcheck.report.gitlab:render",
    "junit": "sgcheck.report.junit:render",
    "markdown": "sgcheck.report.markdown:render",
}
"""Format -> `module:function`; the function takes a `ScanReport` and gives the whole text."""


def render(name: str, report: ScanReport) -> str:
    """The report in one of `FORMATS`."""
    module, _, function = FORMATS[name].partition(":")
    renderer: Callable[[ScanReport], str] = getattr(importlib.import_module(module), function)
    return renderer(report)
