"""The formats of `matrix`, each loaded when it is asked for."""

from __future__ import annotations

from pathlib import Path

from sgcheck.matrix.plan import Matrix
from sgcheck.report.terminal import Terminal

FORMATS = ("text", "markdown", "csv", "json", "html")
_ENDINGS = {".md": "markdown", ".csv": "csv", ".json": "json", ".html": "html", ".htm": "html"}


def format_of(output: Path | None) -> str:
    """The format that a file's name says, text otherwise."""
    return _ENDINGS.get(output.suffix.lower(), "text") if output is not None else "text"


def render(name: str, matrix: Matrix, terminal: Terminal, verbose: bool = False) -> str:
    """The matrix in one of `FORMATS`."""
    match name:
        case "json":
            from sgcheck.matrix.document import render_json

            return render_json(matrix)
        case "csv":
            from sgcheck.matrix.document import render_csv

            return render_csv(matrix)
        case "html":
            from sgcheck.matrix.html import render_html

            return render_html(matrix)
        case "markdown":
            from sgcheck.matrix.text import render_markdown

            return render_markdown(matrix)
        case _:
            from sgcheck.matrix.text import render_text

            return render_text(matrix, terminal, verbose)
