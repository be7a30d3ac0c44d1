"""Python code that stands anywhere in a file, and where its nodes stand in that file."""

from __future__ import annotations

import ast

from sgcheck.scan.text import Mapped, SourceFile
from sgcheck.syntax.parsing import parse_quietly


class Source:
    """One stretch of Python: a whole file, a here-document, the word behind `python -c`.

    Holes of the text are names to Python, of one letter, so that every place stays where it is.
    """

    def __init__(self, file: SourceFile, text: Mapped) -> None:
        self.file = file
        self.text = text
        self.code = without_holes(file, text.text)
        self._starts = [0]
        at = self.code.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = self.code.find("\n", at + 1)

    def parse(self) -> ast.Module:
        """The syntax tree. Raises what `ast.parse` raises."""
        return parse_quietly(self.code)

    def mapped(self, node: ast.AST) -> Mapped:
        """A node's text, each character with its place in the file."""
        return self.text[slice(*self._range(node))]

    def place(self, node: ast.AST) -> tuple[int, int]:
        """A node's offsets in the file."""
        start, end = self._range(node)
        if start >= len(self.text):
            return (0, 0)
        return self.text.place(start)[0], self.text.place(max(end - 1, start))[1]

    def line_of(self, line: int) -> int:
        """The file's line, from 1, of a line of the code."""
        start = self._starts[min(max(line, 1), len(self._starts)) - 1]
        at = min(start, len(self.text) - 1)
        return self.file.line_of(self.text.place(at)[0]) if at >= 0 else 1

    def _range(self, node: ast.AST) -> tuple[int, int]:
        start = self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end_line, end_column = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        return start, self._offset(end_line, end_column)

    def _offset(self, line: int, column: int) -> int:
        starts = self._starts
        begin = starts[line - 1] if line - 1 < len(starts) else len(self.code)
        end = starts[line] if line < len(starts) else len(self.code)
        text = self.code[begin:end]
        if text.isascii():
            return begin + column
        return begin + len(text.encode("utf-8")[:column].decode("utf-8", "replace"))


def without_holes(file: SourceFile, text: str) -> str:
    """A text with a letter for each hole."""
    if not file.holes_in(text):
        return text
    return "".join("_" if file.hole_of(char) is not None else char for char in text)
