"""A matrix as the JSON document `sgcheck.matrix/1` (`docs/matrix.md`, `matrix.schema.json`), and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping

from sgcheck.matrix.axes import points
from sgcheck.matrix.plan import Matrix
from sgcheck.matrix.solve import OUTCOME, Solved
from sgcheck.matrix.tables import Mark, marks_of
from sgcheck.report.document import Document, answer_document, dump_pretty, outcome_document
from sgcheck.resolve.resolution import FieldAnswer, JsonValue

SCHEMA = "sgcheck.matrix/1"


def matrix_document(matrix: Matrix) -> Document:
    """The document; cells in the order of the axes, the last one fastest."""
    axes, layout, base = matrix.axes, matrix.layout, matrix.base
    target = base.target.to_target()
    marks = marks_of(matrix)
    cells: list[JsonValue] = []
    for point, cell, found in zip(points(axes), matrix.cells, marks, strict=True):
        at: Document = {axis.name: value for axis, value in zip(axes, point, strict=True)}
        cells.append(_cell(at, cell, found))
    varies = {axis.kind for axis in axes}
    fixed: Document = {"argv": list(base.argv), "env": dict(base.env)}
    if "machine" not in varies:
        gpu = target.gpu
        fixed["target"] = {
            "arch": target.arch,
            "gpu": {"name": gpu.name, "memory_mib": gpu.memory_mib, "count": gpu.count},
            "cuda": target.cuda,
        }
    if "model" not in varies:
        fixed["model"] = base.model
    return {
        "schema": SCHEMA,
        "sglang": list(matrix.versions),
        "fixed": fixed,
        "axes": [
            {
                "name": axis.name,
                "kind": axis.kind,
                "field": matrix.flag_fields.get(axis.name),
                "values": list(axis.values),
            }
            for axis in axes
        ],
        "rows": [axes[i].name for i in layout.rows],
        "columns": [axes[i].name for i in layout.columns],
        "answers": list(matrix.names),
        "cells": cells,
    }


def render_json(matrix: Matrix) -> str:
    """The document as indented ASCII."""
    return dump_pretty(matrix_document(matrix))


def _cell(at: Document, cell: Solved, marks: Mapping[str, Mark]) -> Document:
    answers: Document = {}
    for name, answer in cell.answers.items():
        if name == OUTCOME:
            continue
        shown = None if answer is None else {"field": answer.name, **answer_document(answer)}
        answers[name] = shown
    return {
        "at": at,
        "outcome": outcome_document(cell.outcome),
        "answers": answers,
        "marks": {name: mark for name, mark in marks.items() if mark},
    }


def render_csv(matrix: Matrix) -> str:
    """A line per cell: the axes, the outcome with its error, then each answer.

    Values that are no text are written as JSON. A conditional answer is the list of its values; an
    unknown one is empty and its status says so.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [name for name in matrix.names if name != OUTCOME]
    head = [axis.name for axis in matrix.axes]
    head += [OUTCOME, "error", "error_file", "error_line"]
    head += [column for name in names for column in (name, f"{name}.status")]
    writer.writerow([*head, "marks"])
    cells = zip(points(matrix.axes), matrix.cells, marks_of(matrix), strict=True)
    for point, cell, marks in cells:
        error = cell.outcome.error
        row: list[str] = [*point, cell.outcome.status]
        if error is None:
            row += ["", "", ""]
        else:
            line = "" if error.line is None else str(error.line)
            row += [f"{error.type}: {error.message}", error.file or "", line]
        for name in names:
            row += _pair(cell.answers.get(name))
        marked = " ".join(f"{name}={mark}" for name, mark in marks.items() if mark)
        writer.writerow([_safe(text) for text in (*row, marked)])
    return out.getvalue()


def _pair(answer: FieldAnswer | None) -> list[str]:
    if answer is None:
        return ["", "absent"]
    match answer.status:
        case "decided":
            return [_plain(answer.value), "decided"]
        case "conditional":
            values = [case.value for case in answer.cases]
            return [json.dumps(values, ensure_ascii=True), "conditional"]
        case _:
            return ["", "unknown"]


def _plain(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=True)


def _safe(text: str) -> str:
    """A text that a spreadsheet would take for a formula gets an apostrophe in front."""
    return "'" + text if text[:1] in ("=", "+", "@", "\t", "\r") else text
