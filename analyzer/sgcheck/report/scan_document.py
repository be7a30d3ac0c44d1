"""The JSON document `sgcheck.scan/1`."""

from __future__ import annotations

from sgcheck.findings.checking import Checked
from sgcheck.findings.model import Evidence, Finding, Place
from sgcheck.report.document import Document, dump_pretty, running_document
from sgcheck.report.scan_report import ScanReport
from sgcheck.report.wording import reason_text
from sgcheck.resolve.resolution import JsonValue

SCHEMA = "sgcheck.scan/1"


def render(report: ScanReport) -> str:
    """The document as indented JSON, in ASCII."""
    return dump_pretty(scan_document(report))


def scan_document(report: ScanReport) -> Document:
    """Launches, findings, skipped files, and what was suppressed."""
    return {
        "schema": SCHEMA,
        "launches": [_launch(checked) for checked in report.launches],
        "findings": [_finding(finding) for finding in report.findings],
        "skipped": [{"file": s.file, "line": s.line, "reason": s.reason} for s in report.skipped],
        "suppressed": dict(report.suppressed),
        "files": report.files,
    }


def _launch(checked: Checked) -> Document:
    launch, settled = checked.launch, checked.settled
    shown = launch.to_json()
    document: Document = {key: _json(value) for key, value in shown.items()}
    release: Document = {"version": checked.version, "from": settled.version_from}
    if settled.assumed:
        release["assumed"] = settled.assumed
    document["sglang"] = release
    targets = settled.targets if settled.certain else settled.targets[:1]
    document["target"] = {
        "arch": ",".join(dict.fromkeys(target.arch for target in targets)),
        "gpu": targets[0].gpu_name,
        "count": targets[0].count,
        "from": settled.target_from,
    }
    model = settled.model.info()
    document["model"] = {
        "source": model.source,
        "architecture": model.architecture,
        "name": model.name,
        "from": settled.model_from,
    }
    outcome = checked.resolution.outcome if checked.resolution is not None else None
    stated: Document = {"status": outcome.status if outcome is not None else "unknown"}
    if outcome is not None and outcome.status == "unknown":
        stated["reason"] = reason_text(outcome.reason)
    if outcome is not None and outcome.stage is not None:
        stated["stage"] = outcome.stage
    document["outcome"] = stated
    running = checked.resolution.running if checked.resolution is not None else None
    if running is not None:
        document["running"] = running_document(running, trace=True)
    if checked.problem is not None:
        document["problem"] = checked.problem
    return document


def _finding(finding: Finding) -> Document:
    deciding = finding.deciding
    document: Document = {
        "rule": finding.rule,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "message": finding.message,
        **_place(finding.place),
        "launch": finding.launch,
        "because": _evidence(deciding) if deciding is not None else None,
        "tip": finding.tip,
        "fingerprint": finding.fingerprint,
    }
    if len(finding.because) > 1:
        document["chain"] = [_evidence(step) for step in finding.because]
    if finding.related:
        document["related"] = [
            {**_place(each.place), "message": each.message} for each in finding.related
        ]
    return document


def _place(place: Place) -> Document:
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }


def _evidence(step: Evidence) -> Document:
    document: Document = {
        "origin": step.origin,
        "file": step.file,
        "line": step.line,
        "url": step.url or None,
    }
    if step.function:
        document["function"] = step.function
    if step.conditions:
        document["conditions"] = list(step.conditions)
    if step.note:
        document["note"] = step.note
    return document


def _json(value: object) -> JsonValue:
    if isinstance(value, dict):
        return {str(key): _json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json(each) for each in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
