"""Tree-sitter trees over mapped text, and the one of a shell script."""

from __future__ import annotations

import re
from functools import lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from sgcheck.scan.text import Hole, Mapped, SourceFile

_WIDE = re.compile(r"[^\x00-\x7f]")
_REMARK = re.compile(r"`[ \t]*#[^`\n]*`")


@lru_cache(maxsize=1)
def _bash() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _blanked(remark: re.Match[str]) -> str:
    line = remark.string[remark.string.rfind("\n", 0, remark.start()) + 1 : remark.start()]
    if line.count("'") % 2 or line.lstrip().startswith("#"):
        return remark.group()
    return " " * len(remark.group())


class Tree:
    """A parsed text. Nodes are positions in it; the text of a node is taken from the text itself.

    The parser sees a plain ASCII letter, `filler`, in place of every other character: one byte per
    character, so that its positions need no translation. (Grammars' scanners hand characters to the C
    library's `is…` functions, which crash on large ones.)
    """

    filler = "."

    def __init__(self, file: SourceFile, text: Mapped, parser: Parser) -> None:
        self.file = file
        self.text = text
        self.raw = self.prepared(text.text)
        plain = self.raw if self.raw.isascii() else _WIDE.sub(self.filler, self.raw)
        self.root = parser.parse(plain.encode("ascii")).root_node

    def prepared(self, raw: str) -> str:
        """The text to parse: as long as `raw`, character for character."""
        return raw

    def source(self, node: Node) -> str:
        """A node's text (with hole characters)."""
        return self.raw[node.start_byte : node.end_byte]

    def mapped(self, node: Node) -> Mapped:
        """A node's text with places."""
        return self.text[node.start_byte : node.end_byte]

    def between(self, start: int, end: int) -> Mapped:
        """The text between two positions of nodes, with places."""
        return self.text[start:end]

    def place(self, node: Node) -> tuple[int, int]:
        """A node's offsets in the file."""
        found = self.mapped(node).extent()
        if found is not None:
            return found
        if not self.text:
            return (0, 0)
        start = self.text.place(min(node.start_byte, len(self.text) - 1))[0]
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
        first = text.text[:80].lstrip("\ufeff").split("\n", 1)[0]
        named = file.path.lower().endswith(".zsh") and not first.startswith("#!")
        self.is_zsh = named or (first.startswith("#!") and first.rstrip().endswith("zsh"))
        """Whether `$NAME` is not split, and all of a list."""

    def prepared(self, raw: str) -> str:
        """Windows line ends made plain, and remarks between the words of a command made blank.

        Bash would take the CR into a word, no author means that. A remark is `` `# text` ``: a command
        substitution of nothing but a comment, whose end the grammar does not see.
        """
        if "\r" in raw:
            raw = raw.replace("\\\r\n", " \\\n").replace("\r\n", " \n")
        return _REMARK.sub(_blanked, raw) if "`" in raw else raw
