"""`why FIELD --all-cases`: every value that a field can get, when, and by which lines.

Machines on which a field has the same cases are told once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sgcheck.report.answers import DIM, OPEN, VALUE
from sgcheck.report.document import answer_document, outcome_document, same_value
from sgcheck.report.layout import Page, Span
from sgcheck.report.terminal import Terminal
from sgcheck.report.text import error_summary, verdict_spans
from sgcheck.report.why import KINDS
from sgcheck.report.wording import (
    clean,
    condition_text,
    effective_steps,
    place,
    reason_text,
    value_text,
    when_text,
)
from sgcheck.resolve.resolution import Because, FieldAnswer, Resolution


@dataclass(frozen=True, slots=True)
class Group:
    """Machines that agree; `first` speaks for all of them."""

    archs: tuple[str, ...]
    first: Resolution


def grouped(results: Sequence[Resolution], field: str) -> list[Group]:
    """The results, machines with the same cases of `field` and the same ways to fail together."""
    found: dict[str, list[Resolution]] = {}
    for result in results:
        answer = result.fields.get(field)
        key = repr((_key(answer), result.outcome))
        found.setdefault(key, []).append(result)
    return [Group(tuple(r.target.arch for r in group), group[0]) for group in found.values()]


def _key(answer: FieldAnswer | None) -> object:
    if answer is None:
        return None
    steps = [(s.value, s.file, s.line, s.when) for s in effective_steps(answer)]
    return answer.status, answer.value, answer.cases, answer.reason, steps


def cases_document(results: Sequence[Resolution], field: str) -> list[dict[str, Any]]:
    """The groups as JSON (documented in docs/why.md)."""
    return [
        {
            "archs": list(group.archs),
            "outcome": outcome_document(group.first.outcome),
            "answer": None
            if field not in group.first.fields
            else answer_document(group.first.fields[field]),
        }
        for group in grouped(results, field)
    ]


def render_all_cases(
    results: Sequence[Resolution], field: str, terminal: Terminal, verbose: bool = False
) -> str:
    """Every case of every machine, with its whole condition and the lines that make it so."""
    page = Page(terminal)
    version = clean(results[0].sglang.version)
    page.line(Span(field, ("bold",)), Span(f" in SGLang {version}: all cases", DIM))
    for group in grouped(results, field):
        page.blank()
        page.paragraph("on " + ", ".join(map(clean, group.archs)), ("bold",), hanging=3)
        _group(page, group.first, field, verbose)
    return page.text()


def _group(page: Page, result: Resolution, field: str, verbose: bool) -> None:
    answer = result.fields.get(field)
    if answer is None:
        arch, version = clean(result.target.arch), clean(result.sglang.version)
        sign, sentence = verdict_spans(result.outcome, f"SGLang {version}", arch)
        page.line(sign, f" {sentence}: it has no value", indent=2)
        error_summary(page, result, verbose)
        return
    if answer.status == "unknown":
        page.line(Span("unknown", OPEN), indent=2)
        page.paragraph(reason_text(answer.reason), indent=4, hanging=2)
        return
    if answer.status == "decided":
        cases: list[tuple[Any, str]] = [(answer.value, "always")]
    else:
        cases = [(case.value, case.condition) for case in answer.cases]
    for value, condition in cases:
        page.line("= ", Span(value_text(value, None), VALUE), indent=2)
        if condition != "always":
            page.paragraph(when_text(condition, True), ("yellow",), indent=4, hanging=2)
        for step in _steps_of(answer, value):
            _step(page, step)
    failing = [case for case in result.outcome.cases if case.error is not None]
    for case in failing:
        assert case.error is not None
        page.line(Span("fails", ("red",)), indent=2)
        page.paragraph(when_text(case.condition, True), ("yellow",), indent=4, hanging=2)
        page.place(place(case.error.file, case.error.line), 4, case.error.url)


def _steps_of(answer: FieldAnswer, value: Any) -> list[Because]:
    """The final steps that give this value; a step with several values gives each of them."""
    found = []
    for step in effective_steps(answer):
        values = [step.value]
        if isinstance(step.value, list) and not isinstance(value, list):
            values = step.value
        if any(same_value(each, value) for each in values):
            found.append(step)
    return found


def _step(page: Page, step: Because) -> None:
    page.line(Span(KINDS[step.kind], DIM), indent=4)
    if step.file is not None:
        page.place(place(step.file, step.line), 4, step.url)
    for count, condition in enumerate(step.conditions):
        lead = Span("and" if count else "because", DIM)
        page.row([lead, Span(condition_text(condition, True))], [4, 4 + len("because ")])
