"""JUnit XML: a test case per launch, failed by its errors and warnings, skipped if it was not checked."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from sgcheck.findings.model import Finding, at_least
from sgcheck.report.github import text_of
from sgcheck.report.harmless import clean
from sgcheck.report.scan_report import ScanReport
from sgcheck.report.summary import why_unresolved

_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def render(report: ScanReport) -> str:
    """One suite; findings about a file as such have a test case of their own."""
    cases: list[tuple[str, str, list[Finding], str]] = []
    shown = [f for f in report.findings if at_least(f.severity, report.least)]
    for index, checked in enumerate(report.launches):
        launch = checked.launch
        name = " ".join(part for part in (launch.role, launch.name, launch.label) if part)
        mine = [finding for finding in shown if finding.launch == index]
        reason = "" if mine else why_unresolved(checked)
        cases.append((launch.file, f"{name} at line {launch.line}", mine, reason))
    for finding in shown:
        if finding.launch is None:
            cases.append((finding.place.file, f"line {finding.place.line}", [finding], ""))
    failures = sum(bool(found) for _, _, found, _ in cases)
    skipped = sum(bool(reason) for *_, reason in cases)
    suite = ET.Element(
        "testsuite",
        name="sgcheck",
        tests=str(len(cases)),
        failures=str(failures),
        errors="0",
        skipped=str(skipped),
    )
    for file, name, found, reason in cases:
        case = ET.SubElement(suite, "testcase", classname=_xml(file), name=_xml(name))
        if reason:
            ET.SubElement(case, "skipped", message=_xml(reason))
        for finding in found:
            place = finding.place
            failure = ET.SubElement(
                case, "failure", type=finding.rule, message=_xml(finding.message)
            )
            where = f"{place.file}:{place.line}:{place.column}"
            failure.text = _xml(f"{where}\n{text_of(finding)}")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    body = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _xml(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return clean(_NO_XML.sub("\ufffd", text))
