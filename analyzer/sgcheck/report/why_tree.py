"""The tree view of `why`: a field, what decided it, and below it the fields that this looked at."""

from __future__ import annotations

from typing import Any

from sgcheck.report.answers import DIM, OPEN, VALUE
from sgcheck.report.document import answer_document
from sgcheck.report.layout import Page, Span
from sgcheck.report.terminal import Terminal
from sgcheck.report.wording import clean, flag_in, place, reason_text, step_lines, value_text
from sgcheck.resolve.because_tree import Branch
from sgcheck.resolve.resolution import FieldAnswer, Resolution


def tree_document(branch: Branch) -> dict[str, Any]:
    """The tree as JSON (documented in docs/why.md)."""
    return {
        "field": branch.answer.name,
        **answer_document(branch.answer, trace=False),
        "steps": [
            {"kind": s.kind, "file": s.file, "line": s.line, "conditions": list(s.conditions)}
            for s in branch.steps
        ],
        "asks": list(branch.asks),
        "again": branch.again,
        "branches": [tree_document(each) for each in branch.branches],
    }


def render_tree(
    branch: Branch, resolution: Resolution, terminal: Terminal, verbose: bool = False
) -> str:
    """The tree as text; a field that stands in it twice is drawn out the first time."""
    page = Page(terminal)
    arch, version = clean(resolution.target.arch), clean(resolution.sglang.version)
    page.line(Span(branch.answer.name, ("bold",)), Span(f" in SGLang {version} on {arch}", DIM))
    _branch(page, branch, resolution, "", "", verbose)
    return page.text()


def _branch(
    page: Page, branch: Branch, resolution: Resolution, lead: str, below: str, verbose: bool
) -> None:
    """`lead` stands before the field's own line, `below` before the lines under it."""
    answer = branch.answer
    room = page.terminal.width - len(lead) - len(answer.name) - len(" = ")
    head = [Span(lead, DIM), Span(f"{answer.name} "), *_value(answer, max(room, 20))]
    page.line(*head, *([Span("  (above)", DIM)] if branch.again else []))
    stem = below + ("│ " if branch.branches else "  ")
    for text, styles in _about(branch, resolution, verbose):
        narrow = Page(Terminal(page.terminal.width - len(stem), unicode=page.terminal.unicode))
        narrow.paragraph(text, hanging=2)
        for line in narrow.lines:
            page.line(Span(stem, DIM), Span(line, styles))
    for number, each in enumerate(branch.branches):
        last = number == len(branch.branches) - 1
        sign, inner = ("└─ ", "   ") if last else ("├─ ", "│  ")
        _branch(page, each, resolution, below + sign, below + inner, verbose)


def _value(answer: FieldAnswer, room: int) -> list[Span]:
    if answer.status == "decided":
        return [Span("= "), Span(value_text(answer.value, room), VALUE)]
    if answer.status == "unknown":
        return [Span("unknown", OPEN)]
    values = dict.fromkeys(value_text(case.value) for case in answer.cases)
    return [Span("= "), Span(value_text(" or ".join(values), room).strip("'"), VALUE)]


def _about(
    branch: Branch, resolution: Resolution, verbose: bool
) -> list[tuple[str, tuple[Any, ...]]]:
    """Lines under a field: why, where, and what else is looked at."""
    if branch.again:
        return []
    if branch.answer.status == "unknown":
        return [(reason_text(branch.answer.reason), ())]
    flag = flag_in(resolution.argv, branch.answer.name)
    found: list[tuple[str, tuple[Any, ...]]] = []
    for step in branch.steps:
        found += [(line, ()) for line in step_lines(step, flag, verbose)]
        if step.file is not None:
            found.append((f"at {place(step.file, step.line)}", DIM))
    if branch.asks:
        found.append(("asks " + ", ".join(map(clean, branch.asks)), DIM))
    return found
