"""SARIF 2.1.0, with only the parts that sgcheck has something to say in.

The lines of SGLang do not lie in the scanned repository, so they are no physical locations of it: they
stand in the message and, as steps with absolute addresses, in a code flow.
"""

from __future__ import annotations

from urllib.parse import quote

from sgcheck import __version__
from sgcheck.findings.checking import Checked
from sgcheck.findings.model import Evidence, Finding, Place
from sgcheck.findings.rule import Rule
from sgcheck.report.document import Document, dump_pretty
from sgcheck.report.github import text_of
from sgcheck.report.scan_report import ScanReport
from sgcheck.report.summary import why_unresolved
from sgcheck.resolve.resolution import JsonValue

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
FINGERPRINT = "sgcheck/v1"


def render(report: ScanReport) -> str:
    """One run with all rules and all findings; `results` is there even when it is empty."""
    index = {rule.meta.id: number for number, rule in enumerate(report.rules)}
    notifications: list[JsonValue] = [
        {"level": "note", "message": {"text": f"{skipped.file}: skipped: {skipped.reason}"}}
        for skipped in report.skipped
    ]
    notifications += [_not_checked(each) for each in report.launches if why_unresolved(each)]
    run: Document = {
        "tool": {
            "driver": {
                "name": "sgcheck",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in report.rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, index) for finding in report.findings],
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": notifications,
            }
        ],
    }
    return dump_pretty({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _not_checked(checked: Checked) -> Document:
    """The notification about a launch that could not be resolved."""
    launch = checked.launch
    return {
        "level": "warning",
        "message": {"text": f"not checked: {why_unresolved(checked)}"},
        "locations": [{"physicalLocation": _physical(Place.of(launch.file, launch.span))}],
    }


def _rule(rule: Rule) -> Document:
    sections = rule.sections()
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())
    level = {"error": "error", "warning": "warning", "note": "note"}[rule.meta.severity]
    return {
        "id": rule.meta.id,
        "name": "".join(word.capitalize() for word in rule.meta.id.split("-")),
        "shortDescription": {"text": rule.meta.summary},
        "fullDescription": {"text": sections.get("What it finds", rule.meta.summary)},
        "help": {"text": body, "markdown": body},
        "defaultConfiguration": {"level": level},
        "properties": {
            "precision": "very-high" if rule.meta.confidence == "proved" else "high",
            "tags": ["sglang", "configuration"],
        },
    }


def _result(finding: Finding, index: dict[str, int]) -> Document:
    result: Document = {
        "ruleId": finding.rule,
        "level": finding.severity,
        "message": {"text": text_of(finding)},
        "locations": [{"physicalLocation": _physical(finding.place)}],
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
        "properties": {"confidence": finding.confidence},
    }
    if finding.rule in index:
        result["ruleIndex"] = index[finding.rule]
    if finding.related:
        result["relatedLocations"] = [
            {
                "id": number,
                "physicalLocation": _physical(each.place),
                "message": {"text": each.message},
            }
            for number, each in enumerate(finding.related)
        ]
    steps = [step for step in finding.because if step.url and step.file is not None]
    if steps:
        flow: list[JsonValue] = [
            {
                "location": {
                    "physicalLocation": _physical(finding.place),
                    "message": {"text": "as the file has it"},
                }
            }
        ]
        flow += [{"location": _step(step)} for step in steps]
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    return result


def _step(step: Evidence) -> Document:
    conditions = "; ".join(step.conditions)
    text = f"{step.file}:{step.line}" + (f" because {conditions}" if conditions else "")
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": (step.url or "").partition("#")[0]},
            "region": {"startLine": step.line or 1},
        },
        "message": {"text": text},
    }


def _physical(place: Place) -> Document:
    return {
        "artifactLocation": {"uri": _uri(place.file)},
        "region": {
            "startLine": place.line,
            "startColumn": place.column,
            "endLine": place.end_line,
            "endColumn": place.end_column,
        },
    }


def _uri(file: str) -> str:
    """A relative reference; `:` in its first segment would read as a scheme."""
    path = file.replace("\\", "/").removeprefix("./")
    quoted = quote(path, safe="/@!$&'()*+,;=~-._", errors="surrogateescape")
    return f"./{quoted}" if "%3A" in quoted.split("/")[0] else quoted
