"""Lines of styled, linked and wrapped text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from sgcheck.report.terminal import StyleName, Terminal

Styles = tuple[StyleName, ...]

NO_BREAK = "\u00a0"
"""A space at which no line is wrapped; it is written as a plain space."""


class Span(Struct, frozen=True):
    """A piece of text in one style; `url` makes it a link where the terminal can."""

    text: str
    styles: Styles = ()
    url: str | None = None


class Page(Struct):
    """Collects lines. All positions and widths are in columns."""

    terminal: Terminal
    lines: list[str] = field(default_factory=list)

    def text(self) -> str:
        """All lines; the last one ends with a newline too."""
        return "".join(line + "\n" for line in self.lines)

    def blank(self) -> None:
        """An empty line, unless the page is empty or already ends with one."""
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def line(self, *spans: Span | str, indent: int = 0) -> None:
        """One line that is not wrapped."""
        parts = [Span(span) if isinstance(span, str) else span for span in spans]
        text = "".join(self._styled(part) for part in parts)
        self.lines.append(" " * indent + text if text else "")

    def heading(self, text: str) -> None:
        """A bold line after an empty one."""
        self.blank()
        self.line(Span(text, ("bold",)))

    def paragraph(self, text: str, styles: Styles = (), indent: int = 0, hanging: int = 0) -> None:
        """Wrapped text; lines after the first are indented by `hanging` columns more."""
        for number, line in enumerate(self._wrap(text, indent, hanging)):
            self.line(Span(line, styles), indent=indent + (hanging if number else 0))

    def row(self, cells: Sequence[Span], columns: Sequence[int]) -> None:
        """Cells that start at `columns`; the last one wraps in its own column.

        A cell that is too long for its column pushes the rest to the next line.
        """
        position = 0
        line: list[Span] = []
        for cell, start in zip(cells[:-1], columns[:-1], strict=True):
            if line and start <= position:
                self.line(*line)
                line, position = [], 0
            text = self.terminal.plain(cell.text)
            line += [Span(" " * (start - position)), cell]
            position = start + len(text)
        last, start = cells[-1], columns[-1]
        if position and start <= position and last.text:
            self.line(*line)
            line, position = [], 0
        wrapped = self._wrap(last.text, start, 0) if last.text else []
        for number, text in enumerate(wrapped):
            head = [*line, Span(" " * (start - position))] if number == 0 else [Span(" " * start)]
            self.line(*head, Span(text, last.styles, last.url))
        if not wrapped:
            self.line(*line)

    def place(self, where: str, indent: int, url: str | None = None, lead: str = "at ") -> None:
        """A place in the source, moved to the left where it would not fit at `indent`."""
        room = self.terminal.width - len(lead) - len(where)
        self.line(
            Span(lead, ("dim",)), Span(where, ("dim",), url), indent=max(min(indent, room), 4)
        )

    def _styled(self, span: Span) -> str:
        return self.terminal.style(self.terminal.plain(span.text), span.styles, span.url)

    def _wrap(self, text: str, indent: int, hanging: int) -> list[str]:
        lines: list[str] = []
        for paragraph in self.terminal.plain(text).split("\n"):
            lines += textwrap.wrap(
                paragraph,
                max(self.terminal.width - indent, 20),
                subsequent_indent=" " * hanging,
                break_long_words=False,
                break_on_hyphens=False,
            ) or [""]
        lines = [line if number == 0 else line.lstrip() for number, line in enumerate(lines)]
        return [line.replace(NO_BREAK, " ") for line in lines]


def width_of(terminal: Terminal, texts: Iterable[str]) -> int:
    """The columns that the longest text takes, 0 for none."""
    return max((len(terminal.plain(text)) for text in texts), default=0)
