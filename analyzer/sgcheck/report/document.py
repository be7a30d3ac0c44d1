"""The JSON document `sgcheck.check/1` of one launch (`docs/json.md`, `check.schema.json`)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.json import encode

from sgcheck.resolve.resolution import (
    Because,
    Cell,
    FieldAnswer,
    JsonValue,
    LaunchError,
    ModelInfo,
    Outcome,
    OutcomeCase,
    Reason,
    Resolution,
    Running,
    Target,
    TreeInfo,
)

if TYPE_CHECKING:
    from sgcheck.report.formats import Report

SCHEMA = "sgcheck.check/1"

Document: TypeAlias = dict[str, JsonValue]

_CHANGED = frozenset({float, list, dict})


class Selection(Struct, frozen=True):
    """Which fields a report holds. `names` is None for all; `changed` keeps those off their default."""

    names: frozenset[str] | None = None
    changed: bool = False
    trace: bool = True

    def fields_of(self, resolution: Resolution) -> dict[str, FieldAnswer]:
        """The chosen fields in the order of `ServerArgs`."""
        return {
            name: answer
            for name, answer in resolution.fields.items()
            if (self.names is None or name in self.names)
            and (not self.changed or is_changed(answer))
        }


def is_changed(answer: FieldAnswer) -> bool:
    """True unless the field is certain to end with its declared default."""
    return not (answer.status == "decided" and same_value(answer.value, answer.default))


def same_value(left: JsonValue, right: JsonValue) -> bool:
    """Equality that, unlike Python's, tells `True` from 1 and `False` from 0 at every depth.

    An int and a float that are numerically equal are the same.
    """
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_value(left[k], right[k]) for k in left)
    return left == right


def check_document(
    resolution: Resolution,
    selection: Selection | None = None,
    *,
    case_id: JsonValue = None,
    findings: Sequence[Mapping[str, JsonValue]] = (),
    show: Callable[[FieldAnswer, bool], JsonValue] | None = None,
) -> Document:
    """The document of one launch; `case_id`, when not None, becomes its `id`.

    `show` makes JSON of the answers of fields, with or without what made them so, where
    `answer_document` does not.
    """
    show = show or answer_document
    selection = selection or Selection()
    tree, target, model = resolution.sglang, resolution.target, resolution.model
    document: Document = {"schema": SCHEMA}
    if case_id is not None:
        document["id"] = _identity(case_id)
    document |= {
        "sglang": tree_document(tree),
        "target": {
            **target_document(target),
            **({"unknown": list(target.unknown)} if target.unknown else {}),
        },
        "model": model_document(model),
        "argv": list(resolution.argv),
        "outcome": outcome_document(resolution.outcome),
        "fields": {
            name: show(answer, selection.trace)
            for name, answer in selection.fields_of(resolution).items()
        },
        "effective": {
            role: {
                name: {"field": answer.name, **answer_document(answer, selection.trace)}
                for name, answer in backends.items()
            }
            for role, backends in resolution.effective.items()
        },
        "log": [
            {
                "level": line.level,
                "message": line.message,
                "file": line.file,
                "line": line.line,
                "when": line.when,
            }
            for line in resolution.log
        ],
        "env_after": dict(resolution.env_after),
        "findings": [_finite(dict(finding)) for finding in findings],
    }
    if resolution.assumed:
        document["assumed"] = [{"path": a.path, "kind": a.kind} for a in resolution.assumed]
    if resolution.running is not None:
        document["running"] = running_document(resolution.running, selection.trace)
    return document


def running_document(running: Running, trace: bool) -> Document:
    """What is built and runs; without a trace the lines that made it so are left out."""
    document: Document = {}
    rows: list[JsonValue]
    for name, role in (("main", running.main), ("draft", running.draft)):
        if role is not None:
            rows = [
                {
                    "kind": row.kind,
                    "count": row.count,
                    "names": row.names,
                    **{part: cell_document(cell, trace) for part, cell in row.cells.items()},
                }
                for row in role.layers
            ]
            parts = {part: cell_document(cell, trace) for part, cell in role.parts.items()}
            document[name] = {**parts, "layers": rows}
    if running.reason is not None:
        document["reason"] = _reason(running.reason)
    if running.assumed:
        document["assumed"] = [_reason(reason) for reason in running.assumed]
    return document


def cell_document(cell: Cell, trace: bool) -> Document:
    """One fact of what runs."""
    document: Document = {"status": cell.status}
    if cell.status == "decided":
        document["value"] = cell.value
    elif cell.status == "conditional":
        document["cases"] = [{"condition": c.condition, "value": c.value} for c in cell.cases]
    if cell.reason is not None:
        document["reason"] = _reason(cell.reason)
    if cell.raises is not None:
        document["raises"] = _error(cell.raises)
    if trace and cell.because:
        document["because"] = [
            {"file": b.file, "line": b.line, "function": b.function, "value": b.value, "url": b.url}
            for b in cell.because
        ]
    return document


def tree_document(tree: TreeInfo) -> Document:
    """Which tree was read."""
    return {"version": tree.version, "origin": tree.origin, "tree": tree.tree, "ref": tree.ref}


def target_document(target: Target) -> Document:
    """The machine."""
    gpu = target.gpu
    return {
        "arch": target.arch,
        "gpu": {"name": gpu.name, "memory_mib": gpu.memory_mib, "count": gpu.count},
        "cuda": target.cuda,
    }


def model_document(model: ModelInfo) -> Document:
    """The model."""
    return {"source": model.source, "architecture": model.architecture, "name": model.name}


def render(report: Report) -> str:
    """One document, or an array of documents when there are several targets."""
    documents = [check_document(result, report.selection) for result in report.results]
    return dump_pretty(documents[0] if len(documents) == 1 else list(documents))


def failed_document(error: str, case_id: JsonValue = None) -> Document:
    """The document of a `batch` line that could not be analysed; `error` is one sentence."""
    return {
        "schema": SCHEMA,
        "id": _identity(case_id),
        "outcome": {"status": "unknown"},
        "error": error,
    }


def dump_line(document: Document) -> str:
    """One line of JSON, in ASCII, without its newline, of a document that this module made."""
    try:
        return encode(document).decode("ascii")
    except (UnicodeError, TypeError, RecursionError):
        # Mostly text that is not ASCII, which is rare.
        return json.dumps(document, separators=(",", ":"), allow_nan=False)


def dump_pretty(document: JsonValue) -> str:
    """Indented JSON, in ASCII, with a newline at its end."""
    return json.dumps(_finite(document), indent=2, allow_nan=False) + "\n"


def outcome_document(outcome: Outcome) -> Document:
    """An outcome as JSON."""
    document: Document = {"status": outcome.status}
    if outcome.stage is not None:
        document["stage"] = outcome.stage
    if outcome.error is not None:
        document["error"] = _error(outcome.error)
    if outcome.status == "conditional" or outcome.cases:
        document["cases"] = [_outcome_case(case) for case in outcome.cases]
    if outcome.reason is not None:
        document["reason"] = _reason(outcome.reason)
    return document


def _outcome_case(case: OutcomeCase) -> Document:
    document: Document = {"condition": case.condition, "status": case.status}
    if case.error is not None:
        document["error"] = _error(case.error)
    return document


def _error(error: LaunchError) -> Document:
    return {
        "type": error.type,
        "message": error.message,
        "file": error.file,
        "line": error.line,
        "function": error.function,
        "conditions": list(error.conditions),
        "url": error.url,
        **({"tip": error.tip} if error.tip is not None else {}),
    }


def _reason(reason: Reason) -> Document:
    return {
        "code": reason.code,
        "file": reason.file,
        "line": reason.line,
        "detail": reason.detail,
    }


def answer_document(answer: FieldAnswer, trace: bool = True) -> Document:
    """The answer for one field as JSON; without `trace` it does not say what made it so."""
    document: Document = {"status": answer.status}
    if answer.status == "decided":
        document["value"] = _known(answer.value)
    elif answer.status == "conditional":
        document["cases"] = [
            {"condition": case.condition, "value": _known(case.value)} for case in answer.cases
        ]
    else:
        document["reason"] = _reason(answer.reason or Reason("unexplained"))
    document["user_value"] = _known(answer.user_value)
    document["user_set"] = answer.user_set
    document["default"] = _known(answer.default)
    if answer.passed_on:
        document["passed_on"] = list(answer.passed_on)
    if trace:
        document["because"] = [_because(step) for step in answer.because]
    return document


def _because(step: Because) -> Document:
    return {
        "kind": step.kind,
        "value": _known(step.value),
        "file": step.file,
        "line": step.line,
        "function": step.function,
        "conditions": list(step.conditions),
        "url": step.url,
        "when": step.when,
        "effective": step.effective,
    }


def _identity(case_id: JsonValue) -> JsonValue:
    """What the user called a case, which may be nested to any depth, as JSON can hold it."""
    if type(case_id) in _CHANGED:
        try:
            json.dumps(case_id, allow_nan=False)
        except ValueError:
            return _finite(case_id)
    return case_id


def _known(value: JsonValue) -> JsonValue:
    """`_finite` of a value that is mostly none of the kinds that it changes."""
    return _finite(value) if type(value) in _CHANGED else value


def _finite(value: JsonValue) -> JsonValue:
    """`value` with the floats that JSON cannot hold as the strings "NaN", "Infinity", "-Infinity"."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value
