"""One launch on many targets as a table: a line per target, the errors below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sgcheck.report.answers import DIM, VALUE
from sgcheck.report.layout import Page, Span, width_of
from sgcheck.report.terminal import Terminal
from sgcheck.report.text import error_text, model_text, tip_line, verdict_spans
from sgcheck.report.wording import (
    OUTCOME_WORDS,
    argv_text,
    clean,
    condition_text,
    place,
    value_text,
)
from sgcheck.resolve.resolution import FieldAnswer, LaunchError, Resolution

COLUMNS = (
    ("moe_runner", "main", "moe_runner"),
    ("attention", "main", "attention_prefill"),
    ("draft moe_runner", "draft", "moe_runner"),
)
MAX_CELL = 20


def render_table(
    results: Sequence[Resolution], terminal: Terminal, fields: Sequence[str] = ()
) -> str:
    """The table; `results` must hold one launch on several targets.

    The columns are `fields`, or the backends of `COLUMNS` where none are named.
    """
    page = Page(terminal)
    first = results[0]
    page.line(Span(f"SGLang {clean(first.sglang.version)}", ("bold",)))
    page.paragraph(model_text(first), DIM, indent=2, hanging=2)
    if first.argv:
        page.paragraph(argv_text(first.argv), DIM, indent=2, hanging=2)
    page.blank()
    names = fields or [title for title, _, _ in COLUMNS]
    heads = [Span(text, ("bold",)) for text in ("arch", "outcome", *names)]
    rows = [_cells(result, fields) for result in results]
    starts = _starts(terminal, [heads, *rows])
    page.row(heads, starts)
    for row in rows:
        page.row(row, starts)
    _failures(page, results)
    return page.text()


def _cells(result: Resolution, fields: Sequence[str]) -> list[Span]:
    sign, _ = verdict_spans(result.outcome, "", "")
    word = f"{sign.text} {OUTCOME_WORDS[result.outcome.status]}"
    cells = [Span(clean(result.target.arch)), Span(word, sign.styles)]
    if fields:
        return cells + [_cell(result.fields, name) for name in fields]
    return cells + [_cell(result.effective.get(role, {}), name) for _, role, name in COLUMNS]


def _cell(answers: Mapping[str, FieldAnswer], name: str) -> Span:
    answer = answers.get(name)
    if answer is None:
        return Span("-", DIM)
    match answer.status:
        case "decided":
            return Span(value_text(answer.value, MAX_CELL), VALUE)
        case "conditional":
            return Span(f"{len(answer.cases)} values", ("yellow",))
        case "unknown":
            return Span("unknown", ("magenta",))


def _starts(terminal: Terminal, rows: Sequence[Sequence[Span]]) -> list[int]:
    """The column at which each cell starts, two columns apart."""
    starts = [0]
    for cells in list(zip(*rows, strict=True))[:-1]:
        starts.append(starts[-1] + width_of(terminal, (cell.text for cell in cells)) + 2)
    return starts


def _failures(page: Page, results: Sequence[Resolution]) -> None:
    """Each distinct error once, with the targets and conditions under which it comes."""
    always: dict[LaunchError, list[str]] = {}
    sometimes: dict[LaunchError, dict[str, list[str]]] = {}
    for result in results:
        arch = clean(result.target.arch)
        if result.outcome.error is not None:
            always.setdefault(result.outcome.error, []).append(arch)
        for case in result.outcome.cases:
            if case.error is not None:
                conditions = sometimes.setdefault(case.error, {})
                conditions.setdefault(condition_text(case.condition), []).append(arch)
    for error in dict.fromkeys((*always, *sometimes)):
        page.blank()
        if error in always:
            page.paragraph(", ".join(always[error]), ("bold",), hanging=2)
        for condition, names in sometimes.get(error, {}).items():
            page.paragraph(f"{', '.join(names)} if {condition}", ("bold",), hanging=2)
        page.paragraph(error_text(error), ("red",), 2, hanging=2)
        tip_line(page, error, 4)
        if error.file is not None:
            page.place(place(error.file, error.line), 4, error.url)
