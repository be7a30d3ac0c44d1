"""The report of `why FIELD … --versus …`: where two launches part over a field."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sgcheck.report.answers import DIM, OPEN, VALUE
from sgcheck.report.layout import Page, Span
from sgcheck.report.terminal import Terminal
from sgcheck.report.text import error_summary, verdict_spans
from sgcheck.report.wording import argv_text, clean, condition_text, place, value_text
from sgcheck.resolve.resolution import FieldAnswer, JsonValue, Resolution
from sgcheck.resolve.versus import Part, Side, VersusReport

NAMES = ("A", "B")
KINDS = {
    "input": "the command line gives two values",
    "value": "one line gives two values",
    "branch": "a condition holds in one launch only",
    "call": "only one launch comes past here",
}


def versus_document(report: VersusReport) -> dict[str, Any]:
    """The comparison as JSON (documented in docs/why.md)."""
    return {
        "inputs": [asdict(looked) for looked in report.inputs],
        "part": None if report.part is None else asdict(report.part),
    }


def render_versus(report: VersusReport, terminal: Terminal, verbose: bool = False) -> str:
    """What differs in the launches, both values, and the chain of places where they part."""
    page = Page(terminal)
    version = clean(report.left.sglang.version)
    page.line(Span(report.field, ("bold",)), Span(f" in SGLang {version}, two launches", DIM))
    for name, resolution in zip(NAMES, (report.left, report.right), strict=True):
        _launch(page, name, resolution, report.field, verbose)
    page.heading("what differs between them")
    if not report.inputs:
        page.line(Span("nothing", DIM), indent=2)
    for looked in report.inputs:
        if looked.field == "flags":
            only = _only_flags(looked.left, looked.right)
            for name, words in zip(NAMES, only, strict=True):
                text = argv_text(words) if words else "none of the other's"
                page.paragraph(f"flags {name}: {text}", indent=2, hanging=2)
        else:
            page.paragraph(_two(looked.field, looked.left, looked.right), indent=2, hanging=2)
    page.heading("where they part")
    if report.part is None:
        page.paragraph(_no_part(report), DIM, indent=2)
    else:
        _part(page, report.part, 2, verbose)
    return page.text()


def _launch(page: Page, name: str, resolution: Resolution, field: str, verbose: bool) -> None:
    answer = resolution.fields.get(field)
    page.line(Span(f"{name} "), *_value(answer), indent=2)
    if answer is None:
        arch, version = clean(resolution.target.arch), clean(resolution.sglang.version)
        sign, sentence = verdict_spans(resolution.outcome, f"SGLang {version}", arch)
        page.line(sign, f" {sentence}", indent=4)
        error_summary(page, resolution, verbose)


def _value(answer: FieldAnswer | None) -> list[Span]:
    if answer is None:
        return [Span("has no value", OPEN)]
    if answer.status == "decided":
        return [Span("= "), Span(value_text(answer.value), VALUE)]
    return [Span("= "), Span(answer.status, OPEN)]


def _only_flags(left: JsonValue, right: JsonValue) -> tuple[list[str], list[str]]:
    """The words of each command line, flag with value, that the other has not."""
    both = [_grouped(words if isinstance(words, list) else []) for words in (left, right)]
    apart = [[g for g in mine if g not in other] for mine, other in (both, both[::-1])]
    flat = [[word for group in groups for word in group] for groups in apart]
    return flat[0], flat[1]


def _grouped(words: list[JsonValue]) -> list[list[str]]:
    groups: list[list[str]] = []
    for word in map(str, words):
        if word.startswith("--") or not groups:
            groups.append([word])
        else:
            groups[-1].append(word)
    return groups


def _two(name: str, left: JsonValue, right: JsonValue) -> str:
    return f"{clean(name)}: A {value_text(left)}, B {value_text(right)}"


def _no_part(report: VersusReport) -> str:
    left, right = (r.fields.get(report.field) for r in (report.left, report.right))
    if left is None or right is None:
        return "nothing that was recorded differs before one of them ends"
    if (left.status, left.value) != (right.status, right.value):
        return "their values differ, and no recorded step says where"
    return "nowhere: the same lines give it the same values"


def _part(page: Page, part: Part, indent: int, verbose: bool) -> None:
    head = f"{part.field}: {KINDS[part.kind]}"
    page.line(Span(clean(head), ("bold",)), indent=indent)
    inner = indent + 2
    if part.text:
        lead = "its value is " if part.kind == "value" else ""
        page.paragraph(lead + condition_text(part.text, True), indent=inner, hanging=2)
    if part.file is not None:
        page.place(place(part.file, part.line), inner, part.url)
        if part.function:
            page.place(clean(part.function), inner, lead="in ")
    if part.holds is not None:
        true, false = NAMES if part.holds else NAMES[::-1]
        page.line(f"true in {true}, false in {false}", indent=inner)
    for name, side in zip(NAMES, (part.left, part.right), strict=True):
        _side(page, name, side, inner, part.kind == "input")
    for looked in part.looked:
        page.paragraph(
            "there " + _two(looked.field, looked.left, looked.right), ("yellow",), inner, 2
        )
    if part.asks:
        page.paragraph("it asks " + ", ".join(map(clean, part.asks)), DIM, inner, 2)
    for each in part.parts:
        _part(page, each, inner, verbose)


def _side(page: Page, name: str, side: Side, indent: int, given: bool) -> None:
    if side.file is None and not given:
        page.line(Span(f"{name} is given no value here", DIM), indent=indent)
        return
    page.line(f"{name} ", Span(value_text(side.value), VALUE), indent=indent)
    if side.file is not None:
        page.place(place(side.file, side.line), indent + 2)
