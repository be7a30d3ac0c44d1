"""Tree-sitter trees over mapped text, and the one of a shell script."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from sgcheck.scan.text import Hole, Mapped, SourceFile

_WIDE = re.compile(r"[^\x00-\x7f]")


@lru_cache(maxsize=1)
def _bash() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


class Tree:
    """A parsed text. Positions of nodes are bytes; `index` gives characters of the text."""

    def __init__(self, file: SourceFile, text: Mapped, parser: Parser) -> None:
        self.file = file
        self.text = text
        self.raw = self.prepared(text.text)
        self.data = self.raw.encode("utf-8", "replace")
        # Where characters of more than one byte end, and how many bytes too many there are by then.
        self._ends: list[int] = []
        self._surplus: list[int] = []
        if len(self.data) != len(self.raw):
            self._note_wide()
        self.root = parser.parse(self.data).root_node

    def prepared(self, raw: str) -> str:
        """The text to parse: as long as `raw`, character for character."""
        return raw

    def index(self, byte: int) -> int:
        """The character at a byte."""
        if not self._ends:
            return byte
        before = bisect_right(self._ends, byte)
        return byte - self._surplus[before - 1] if before else byte

    def _note_wide(self) -> None:
        surplus = 0
        for match in _WIDE.finditer(self.raw):
            width = len(match[0].encode("utf-8", "replace"))
            start = match.start() + surplus
            surplus += width - len(match[0])
            self._ends.append(start + width)
            self._surplus.append(surplus)

    def source(self, node: Node) -> str:
        """A node's text (with hole characters)."""
        return self.raw[self.index(node.start_byte) : self.index(node.end_byte)]

    def mapped(self, node: Node) -> Mapped:
        """A node's text with places."""
        return self.text[self.index(node.start_byte) : self.index(node.end_byte)]

    def between(self, start_byte: int, end_byte: int) -> Mapped:
        """The text between two bytes, with places."""
        return self.text[self.index(start_byte) : self.index(end_byte)]

    def place(self, node: Node) -> tuple[int, int]:
        """A node's offsets in the file."""
        found = self.mapped(node).extent()
        if found is not None:
            return found
        if not self.text:
            return (0, 0)
        start = self.text.place(min(self.index(node.start_byte), len(self.text) - 1))[0]
        return start, start

    def shown(self, node: Node) -> str:
        """A node's words as the file has them."""
        start, end = self.place(node)
        return self.file.original[start:end]

    def hole(self, node: Node, reason: str, *, spliced: bool = False) -> Mapped:
        """An unknown that stands for a node."""
        char = self.file.hole(Hole(self.shown(node), reason, spliced=spliced))
        return Mapped.standing_for(char, *self.place(node))


class Script(Tree):
    """A parsed shell script."""

    def __init__(self, file: SourceFile, text: Mapped) -> None:
        super().__init__(file, text, _bash())

    def prepared(self, raw: str) -> str:
        """Windows line ends made plain: bash would take the CR into a word, no author means that."""
        if "\r" not in raw:
            return raw
        return raw.replace("\\\r\n", " \\\n").replace("\r\n", " \n")
