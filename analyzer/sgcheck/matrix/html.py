"""A matrix as one HTML page without script, to be read on a screen or printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sgcheck import __version__
from sgcheck.matrix.plan import Matrix
from sgcheck.matrix.tables import Entry, Note, Row, Table, tables_of, title_of
from sgcheck.matrix.text import base_lines, legend_lines, note_place, note_text
from sgcheck.report.html.graph import resource, template
from sgcheck.report.wording import clean
from sgcheck.resolve.resolution import LaunchError


def render_html(matrix: Matrix) -> str:
    """The page."""
    found = tables_of(matrix)
    versions = ", ".join(map(clean, matrix.versions))
    page: str = template("matrix.html.j2").render(
        title=f"SGLang {versions}: " + " × ".join(clean(axis.title) for axis in matrix.axes),
        versions=versions,
        base=[line.replace("\u00a0", " ") for line in base_lines(matrix)],
        legend=legend_lines(matrix, found),
        tables=[_table(table) for table in found.tables],
        notes=[_note(note) for note in found.notes],
        css=resource("page.css") + resource("check.css") + resource("matrix.css"),
        tool=__version__,
    )
    return page


def _table(table: Table) -> dict[str, Any]:
    return {
        "title": title_of(table.title) if table.title else "",
        "labels": [clean(text) for text in table.labels],
        "heads": [clean(text) for text in table.heads],
        "rows": _rows(table.rows),
    }


def _rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {
            "labels": [clean(text) for text in row.labels],
            "entries": [_entry(entry) for entry in row.entries],
        }
        for row in rows
    ]


def _entry(entry: Entry) -> dict[str, Any]:
    about = [*entry.details, entry.place] if entry.place else list(entry.details)
    return {
        "text": clean(entry.text),
        "state": entry.state,
        "mark": entry.mark,
        "note": entry.note,
        "about": clean("\n".join(about)),
    }


def _note(note: Note) -> dict[str, Any]:
    url = note.url if isinstance(note, LaunchError) else None
    safe = url if url is not None and url.startswith("https://") else None
    return {"text": note_text(note), "place": note_place(note), "url": safe}
