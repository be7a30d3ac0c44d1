"""A matrix as text for a terminal, and as Markdown.

A table that is too wide for the terminal is written with a letter for each value, explained below
it; where that is too wide as well, its columns continue below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from string import ascii_lowercase

from sgcheck.matrix.plan import Matrix
from sgcheck.matrix.tables import Entry, Mark, Note, Row, Table, Tables, tables_of, title_of
from sgcheck.report.answers import DIM, VALUE
from sgcheck.report.layout import Page, Span, Styles, width_of
from sgcheck.report.terminal import Terminal
from sgcheck.report.text import error_text
from sgcheck.report.wording import argv_text, clean, condition_text, place, reason_text
from sgcheck.resolve.resolution import LaunchError, Outcome, Reason

SIGNS: Mapping[Mark, str] = {"": "", "differs": "*", "replaced": "!"}
STYLES: Mapping[str, Styles] = {
    "value": VALUE,
    "conditional": ("yellow",),
    "unknown": ("magenta",),
    "failed": ("red",),
    "none": DIM,
}
GAP = 2
MAX_LABEL = 24
"""Columns that the joined labels of equal lines may take."""


def render_text(matrix: Matrix, terminal: Terminal, verbose: bool = False) -> str:
    """The tables, what the marks mean, and every distinct error once."""
    page = Page(terminal)
    found = tables_of(matrix)
    page.line(Span("SGLang " + ", ".join(map(clean, matrix.versions)), ("bold",)))
    for line in base_lines(matrix):
        page.paragraph(line, DIM, indent=2, hanging=2)
    for table in found.tables:
        page.blank()
        if table.title:
            page.line(Span(title_of(table.title), ("bold",)))
        _table(page, table)
    page.blank()
    for line in legend_lines(matrix, found):
        page.paragraph(line, DIM, hanging=2)
    _notes(page, found.notes)
    if verbose:
        _conditions(page, found)
    return page.text()


def base_lines(matrix: Matrix) -> list[str]:
    """What all launches share and does not vary: model, machine, flags, environment."""
    varies = {axis.kind for axis in matrix.axes}
    target, lines = matrix.base.target, []
    if "machine" not in varies:
        spec = target.to_target()
        lines.append(f"{spec.gpu.count} × {spec.gpu.name} ({spec.arch}), CUDA {spec.cuda}")
    if "model" not in varies:
        lines.append(f"model {matrix.base.model or 'unknown'}")
    if matrix.base.argv:
        lines.append(argv_text(matrix.base.argv))
    if matrix.base.env:
        lines.append(" ".join(f"{k}={v}" for k, v in matrix.base.env if v is not None))
    return [clean(line) for line in lines if line]


def legend_lines(matrix: Matrix, found: Tables) -> list[str]:
    """What the marks in these tables mean; only those that occur."""
    marks = {e.mark for t in found.tables for row in t.rows for e in row.entries}
    where = "the first column of its row" if matrix.layout.columns else "the first row"
    words = {
        "differs": f"{SIGNS['differs']} differs from {where}",
        "replaced": f"{SIGNS['replaced']} SGLang does not keep the value that the flag gives",
    }
    return [words[mark] for mark in ("differs", "replaced") if mark in marks]


def note_text(note: Note) -> str:
    """A footnote in one paragraph, without its place."""
    if isinstance(note, LaunchError):
        return error_text(note) + (f" (tip: {clean(note.tip)})" if note.tip is not None else "")
    if isinstance(note, Reason):
        return reason_text(note)
    ways = [
        f"{'fails' if case.status == 'startup_error' else 'is refused'} if "
        f"{condition_text(case.condition)}: {error_text(case.error)} "
        f"({place(case.error.file, case.error.line)})"
        for case in note.cases
        if case.error is not None
    ]
    return "starts in some cases; " + "; ".join(ways) if ways else "unknown in some cases"


def note_place(note: Note) -> str:
    """Where the footnote's fact stands, empty for several places."""
    return "" if isinstance(note, Outcome) else place(note.file, note.line)


def cell_text(entry: Entry) -> str:
    """An entry in words: value, footnote, mark."""
    note = f" [{entry.note}]" if entry.note else ""
    return clean(entry.text).replace("\n", " ") + note + SIGNS[entry.mark]


def render_markdown(matrix: Matrix) -> str:
    """The same tables in GitHub's Markdown; marked entries are bold."""
    found = tables_of(matrix)
    lines = ["# SGLang " + _escape(", ".join(map(clean, matrix.versions))), ""]
    lines += [f"- {_escape(line.replace(chr(0xA0), ' '))}" for line in base_lines(matrix)]
    for table in found.tables:
        lines.append("")
        if table.title:
            lines += [f"## {_escape(title_of(table.title))}", ""]
        lines.append(_markdown_row((*table.labels, *table.heads)))
        lines.append("|" + " --- |" * (len(table.labels) + len(table.heads)))
        for row in table.rows:
            texts = [_escape(cell_text(e)) for e in row.entries]
            marked = zip(texts, row.entries, strict=True)
            shown = [f"**{text}**" if e.mark else text for text, e in marked]
            lines.append("| " + " | ".join((*map(_escape, row.labels), *shown)) + " |")
    lines += ["", *(f"{_escape(line)}  " for line in legend_lines(matrix, found))]
    for number, note in enumerate(found.notes, 1):
        at = note_place(note)
        lines.append(f"[{number}] {_escape(note_text(note))}{f' (`{at}`)' if at else ''}  ")
    return "\n".join(lines).rstrip() + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_escape, cells)) + " |"


def _escape(text: str) -> str:
    text = clean(text).replace("\n", " ").replace("\\", "\\\\")
    for sign in "|*_`<[":
        text = text.replace(sign, "\\" + sign)
    return text


def _table(page: Page, table: Table) -> None:
    """The table in the first form that fits: values, letters, letters with columns below."""
    table = _joined(table)
    shown = [[cell_text(entry) for entry in row.entries] for row in table.rows]
    widths = _widths(page, table, shown)
    labels = _label_widths(page, table)
    room = page.terminal.width - sum(width + GAP for width in labels)
    if sum(widths) + GAP * (len(widths) - 1) <= room:
        _lines(page, table, shown, labels, widths, range(len(widths)))
        return
    if not table.title:
        # One answer per column: the values themselves matter more than an even grid.
        _blocks(page, table, shown, labels, widths, room)
        return
    keys: dict[str, str] = {}
    letters = _letters()
    for row in table.rows:
        for entry in row.entries:
            if entry.state in ("value", "conditional") and entry.text not in keys:
                keys[entry.text] = next(letters)
    short = [[_short(entry, keys) for entry in row.entries] for row in table.rows]
    _blocks(page, table, short, labels, _widths(page, table, short), room)
    for text, key in keys.items():
        page.paragraph(f"{key} = {clean(text)}", indent=2, hanging=4)


def _joined(table: Table) -> Table:
    """The table with neighbours that say the same in one line, while that keeps labels short."""
    rows: list[Row] = []
    for row in table.rows:
        last = rows[-1] if rows else None
        if last is not None and last.labels[:-1] == row.labels[:-1] and last.entries == row.entries:
            label = f"{last.labels[-1]}, {row.labels[-1]}"
            if len(label) <= MAX_LABEL:
                rows[-1] = replace(last, labels=(*last.labels[:-1], label))
                continue
        rows.append(row)
    return replace(table, rows=tuple(rows))


def _short(entry: Entry, keys: Mapping[str, str]) -> str:
    note = f"[{entry.note}]" if entry.note else ""
    text = keys.get(entry.text) if entry.state in ("value", "conditional") else None
    sign = {"failed": "✗", "unknown": "?", "none": "-"}.get(entry.state, "")
    return (text or sign) + note + SIGNS[entry.mark]


def _letters() -> Iterator[str]:
    yield from ascii_lowercase
    for number in count(2):
        yield from (letter + str(number) for letter in ascii_lowercase)


def _blocks(
    page: Page,
    table: Table,
    shown: Sequence[Sequence[str]],
    labels: Sequence[int],
    widths: Sequence[int],
    room: int,
) -> None:
    """As many columns as fit, then the next ones below, each time with the row's labels."""
    start = 0
    while start < len(widths):
        end, used = start + 1, widths[start]
        while end < len(widths) and used + GAP + widths[end] <= room:
            used += GAP + widths[end]
            end += 1
        if start:
            page.blank()
        _lines(page, table, shown, labels, widths, range(start, end))
        start = end


def _lines(
    page: Page,
    table: Table,
    shown: Sequence[Sequence[str]],
    labels: Sequence[int],
    widths: Sequence[int],
    columns: range,
) -> None:
    starts = [0]
    for width in (*labels, *(widths[i] for i in columns))[:-1]:
        starts.append(starts[-1] + width + GAP)
    heads = [clean(text) for text in (*table.labels, *(table.heads[i] for i in columns))]
    page.row([Span(text, ("bold",)) for text in heads], starts)
    before: tuple[str, ...] = ()
    for row, texts in zip(table.rows, shown, strict=True):
        cells = [Span(text) for text in _without_repeats(row, before)]
        cells += [Span(texts[i], _styles(row.entries[i])) for i in columns]
        page.row(cells, starts)
        before = row.labels


def _styles(entry: Entry) -> Styles:
    return ("bold", *STYLES[entry.state]) if entry.mark else STYLES[entry.state]


def _without_repeats(row: Row, before: tuple[str, ...]) -> list[str]:
    """The labels, the outer ones empty where they are those of the row above."""
    same = 0
    while same < len(before) - 1 and before[same] == row.labels[same]:
        same += 1
    return ["" if i < same else clean(label) for i, label in enumerate(row.labels)]


def _label_widths(page: Page, table: Table) -> list[int]:
    return [
        width_of(page.terminal, [clean(title), *(clean(row.labels[i]) for row in table.rows)])
        for i, title in enumerate(table.labels)
    ]


def _widths(page: Page, table: Table, shown: Sequence[Sequence[str]]) -> list[int]:
    return [
        width_of(page.terminal, [clean(head), *(texts[i] for texts in shown)])
        for i, head in enumerate(table.heads)
    ]


def _notes(page: Page, notes: Sequence[Note]) -> None:
    for number, note in enumerate(notes, 1):
        page.paragraph(f"[{number}] {note_text(note)}", hanging=4)
        if at := note_place(note):
            page.place(at, 4, note.url if isinstance(note, LaunchError) else None)


def _conditions(page: Page, found: Tables) -> None:
    """The conditions behind every conditional entry."""
    for table in found.tables:
        for row in table.rows:
            for head, entry in zip(table.heads, row.entries, strict=True):
                if entry.details:
                    page.blank()
                    title = " ".join((*row.labels, head, title_of(table.title))).strip()
                    page.line(Span(clean(title), ("bold",)))
                    for line in entry.details:
                        page.paragraph(condition_text(line, True), indent=2, hanging=2)
