"""The report of one check as one HTML page, to be attached to a ticket. It has no script."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sgcheck import __version__
from sgcheck.graph.colour import Colour
from sgcheck.graph.data import RuleGraph
from sgcheck.report.answers import is_forced
from sgcheck.report.document import Selection, is_changed
from sgcheck.report.html.graph import resource, template
from sgcheck.report.running import cell_text, grouped
from sgcheck.report.text import arch_text, error_text, model_text, target_text, verdict_spans
from sgcheck.report.why import KINDS
from sgcheck.report.wording import (
    argv_text,
    clean,
    condition_text,
    count,
    effective_steps,
    flag_in,
    guard_text,
    place,
    reason_text,
    step_lines,
    value_text,
    when_text,
)
from sgcheck.resolve.resolution import (
    Because,
    Cell,
    FieldAnswer,
    LaunchError,
    LayerRow,
    Reason,
    Resolution,
    RoleRunning,
)
from sgcheck.resolve.started import PARTS, roles_of

if TYPE_CHECKING:
    from sgcheck.report.formats import Report

DECIDING_LINES = 3
_WRITES = ("write", "declared", "env")


def render(report: Report) -> str:
    """The page of all results. With chosen fields, what gave them their values is drawn."""
    graph = None
    if report.tree is not None and report.selection.names:
        from sgcheck.graph.build import build_graph

        graph = build_graph(report.tree)
    return render_check_html(report.results, report.selection, graph)


def render_check_html(
    results: Sequence[Resolution],
    selection: Selection | None = None,
    graph: RuleGraph | None = None,
) -> str:
    """One article per result. `graph` is the rule graph of the same tree, or None for no drawing."""
    selection = selection or Selection()
    first = results[0]
    page: str = template("check.html.j2").render(
        title=f"SGLang {clean(first.sglang.version)}: {clean(argv_text(first.argv))}"[:120],
        css=resource("page.css") + resource("check.css"),
        pages=[_page(result, selection, graph) for result in results],
        place=place,
        tool=__version__,
    )
    return page


def _page(resolution: Resolution, selection: Selection, graph: RuleGraph | None) -> dict[str, Any]:
    outcome, argv = resolution.outcome, resolution.argv
    release, arch = f"SGLang {clean(resolution.sglang.version)}", arch_text(resolution.target)
    sign, verdict = verdict_spans(outcome, release, arch)
    colours: Mapping[str, Colour] = {}
    still: Collection[str] = ()
    if graph is not None:
        from sgcheck.graph.colour import colour, constant_fields

        colours = colour(graph, resolution)
        still = constant_fields(resolution)
    forced = [answer for answer in resolution.fields.values() if is_forced(answer)]
    reason = outcome.reason
    return {
        "status": outcome.status,
        "sign": sign.text,
        "verdict": verdict,
        "argv": argv_text(argv).replace("\u00a0", " ") or "no flags",
        "target": f"{arch}: {target_text(resolution.target)}",
        "model": model_text(resolution).removeprefix("model "),
        "error": _error(outcome.error),
        "reason": reason
        and {"text": reason_text(reason), "file": reason.file, "line": reason.line},
        "cases": [
            {
                "verb": {"startup_error": "fails", "cli_error": "is refused"}.get(
                    case.status, "is unknown"
                ),
                "condition": condition_text(case.condition),
                "error": _error(case.error),
            }
            for case in outcome.cases
            if case.status != "ok"
        ],
        "effective": [
            (role, [_answer(name, answer, argv) for name, answer in answers.items()])
            for role, answers in resolution.effective.items()
            if answers
        ],
        "running": [_running(name, role) for name, role in roles_of(resolution)],
        "forced": [
            _answer(answer.name, answer, argv)
            | {
                "flag": clean(flag_in(argv, answer.name) or answer.name),
                "given": value_text(answer.user_value),
            }
            for answer in forced
        ],
        "chains": [
            _chain(answer, argv, graph, colours, still)
            for answer in _chosen(resolution, selection, forced)
        ],
        "log": [
            {
                "level": clean(line.level).lower(),
                "message": clean(line.message),
                "when": when_text(line.when) if line.when else "",
                "file": line.file,
                "line": line.line,
            }
            for line in resolution.log
        ],
        "environment": [
            f"{clean(name)} removed" if value is None else f"{clean(name)}={value_text(value)}"
            for name, value in resolution.env_after.items()
        ],
        "changed": [
            _answer(answer.name, answer, argv) | {"default": value_text(answer.default)}
            for answer in resolution.fields.values()
            if is_changed(answer)
        ],
        "counts": _counts(resolution.fields.values()),
        "version": clean(resolution.sglang.version),
        "origin": clean(resolution.sglang.origin),
        "tree": clean(resolution.sglang.tree),
    }


def _running(name: str, role: RoleRunning) -> dict[str, Any]:
    """A model that was built, layers that are alike in one row."""
    parts = [cell_text(role.parts[key]) for key in PARTS if key in role.parts]
    return {
        "role": name,
        "summary": ", ".join(parts),
        "rows": [_layers(group) for group in grouped(role.layers)],
    }


def _layers(group: Sequence[LayerRow]) -> dict[str, Any]:
    cells = group[0].cells
    kernel = cells["kernel"]
    text = cell_text(kernel)
    place_of: Because | LaunchError | Reason | None = kernel.because[-1] if kernel.because else None
    if kernel.raises is not None:
        text = f"its first batch raises {error_text(kernel.raises)}"
        place_of = kernel.raises
    elif kernel.status == "unknown":
        text, place_of = f"unknown: {reason_text(kernel.reason)}", kernel.reason
    url = place_of.url if isinstance(place_of, Because | LaunchError) else None
    return {
        "kinds": [clean(row.kind) for row in group],
        "count": sum(row.count for row in group),
        **{key: _said(cells[key]) for key in ("weights", "method", "runner")},
        "kernel": text if kernel.raises or _said(kernel) else "",
        "failed": kernel.raises is not None,
        "file": place_of.file if place_of is not None else None,
        "line": place_of.line if place_of is not None else None,
        "url": url if url is not None and url.startswith("https://") else None,
    }


def _said(cell: Cell) -> str:
    return "" if cell.status == "decided" and cell.value is None else cell_text(cell)


def _chosen(
    resolution: Resolution, selection: Selection, forced: Sequence[FieldAnswer]
) -> list[FieldAnswer]:
    """The fields asked for; without any, those behind the backends and the overwritten flags."""
    if selection.names is not None or selection.changed:
        return list(selection.fields_of(resolution).values())
    names = {a.name: a for role in resolution.effective.values() for a in role.values()}
    names.update({answer.name: answer for answer in forced})
    return [
        resolution.fields.get(name, answer)
        for name, answer in names.items()
        if any(step.kind in _WRITES for step in answer.because)
    ]


def _answer(label: str, answer: FieldAnswer, argv: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "label": clean(label),
        "status": answer.status,
        "value": value_text(answer.value),
        "cases": [
            {"value": value_text(case.value), "when": when_text(case.condition)}
            for case in answer.cases
        ],
        "why": [],
        "places": [],
    }
    if answer.status == "unknown":
        found["why"] = [reason_text(answer.reason)]
        if answer.reason is not None and answer.reason.file is not None:
            found["places"] = [_place(answer.reason.file, answer.reason.line, None)]
        return found
    steps = effective_steps(answer)
    if answer.status == "decided" and steps:
        found["why"] = step_lines(steps[-1], flag_in(argv, answer.name))
    found["places"] = [
        _place(step.file, step.line, step.url) for step in steps if step.kind in _WRITES
    ]
    return found


def _place(file: str | None, line: int | None, url: str | None) -> dict[str, Any]:
    return {"file": file, "line": line, "url": _safe(url)}


def _safe(url: str | None) -> str | None:
    return url if url is not None and url.startswith("https://") else None


def _chain(
    answer: FieldAnswer,
    argv: Sequence[str],
    graph: RuleGraph | None,
    colours: Mapping[str, Colour],
    still: Collection[str],
) -> dict[str, Any]:
    from sgcheck.report.html.figure import draw

    final = effective_steps(answer)
    figure = draw(graph, answer.name, colours, still) if graph is not None else None
    return _answer(answer.name, answer, argv) | {
        "anchor": "field-" + clean(answer.name),
        "steps": [_step(step, step in final) for step in answer.because],
        "figure": figure,
    }


def _step(step: Because, effective: bool) -> dict[str, Any]:
    shown = step.conditions[-DECIDING_LINES:]
    hidden = len(step.conditions) - len(shown)
    return {
        "value": value_text(step.value),
        "kind": KINDS[step.kind],
        "conditions": [guard_text(text) for text in shown],
        "hidden": f"(+{count(hidden, 'outer condition')})" if hidden else "",
        "when": when_text(step.when) if step.when else "",
        "effective": effective,
        **_place(step.file, step.line, step.url),
    }


def _error(error: LaunchError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "text": error_text(error),
        "tip": clean(error.tip or ""),
        "function": clean(error.function or ""),
        "conditions": [guard_text(text) for text in error.conditions[-DECIDING_LINES:]],
        **_place(error.file, error.line, error.url),
    }


def _counts(answers: Iterable[FieldAnswer]) -> str:
    found = list(answers)
    if not found:
        return ""
    number = {
        s: sum(1 for a in found if a.status == s) for s in ("decided", "conditional", "unknown")
    }
    return (
        f"{count(len(found), 'field')}: {number['decided']} decided, "
        f"{number['conditional']} conditional, {number['unknown']} unknown."
    )
