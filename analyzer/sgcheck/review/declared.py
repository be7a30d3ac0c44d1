"""Where a tree declares the fields of its record and the flags of its parser."""

from __future__ import annotations

from dataclasses import dataclass, field

from sgcheck.errors import NothingToAnalyse
from sgcheck.review.model import Site
from sgcheck.review.outline import Outline
from sgcheck.review.pairing import Outlines
from sgcheck.source import SERVER_ARGS

_CALL = ".add_argument("


@dataclass(slots=True)
class Declarations:
    """The declaring lines of one tree; a field or flag that is not declared literally has none."""

    outlines: Outlines
    _fields: dict[str, Site] | None = None
    _flags: dict[str, Site] | None = field(default=None)

    def field(self, name: str) -> Site | None:
        """The line that declares a field with its default."""
        if self._fields is None:
            self._fields = self._read_fields()
        return self._fields.get(name)

    def flag(self, name: str) -> Site | None:
        """The line that declares a flag (`--tp-size`): its own, or that of the field behind it."""
        if self._flags is None:
            self._flags = self._read_flags()
        return self._flags.get(name) or self.field(name.lstrip("-").replace("-", "_"))

    def files(self) -> list[str]:
        """The files that declare something."""
        self.field("")
        return sorted({site.file for site in (self._fields or {}).values() if site.file})

    def _read_fields(self) -> dict[str, Site]:
        from sgcheck.graph.code import Code
        from sgcheck.graph.record import read_record

        try:
            record = read_record(Code(self.outlines.tree, jobs=1))
        except NothingToAnalyse:
            return {}
        return {
            name: self._site(rule.file, rule.line, "default")
            for name, rule in record.fields.items()
        }

    def _read_flags(self) -> dict[str, Site]:
        found: dict[str, Site] = {}
        for file in dict.fromkeys([SERVER_ARGS, *self.files()]):
            for line_text, line in _statements(self.outlines.of(file)):
                for word in line_text:
                    found.setdefault(word, self._site(file, line, "parser"))
        return found

    def _site(self, file: str, line: int, kind: str) -> Site:
        url = self.outlines.tree.permalink(file, line)
        return Site(kind, file, line, None, (), url, self.outlines.of(file).text(line))


def _statements(outline: Outline) -> list[tuple[list[str], int]]:
    """The flags of each statement that adds one, and its line."""
    return [
        (sorted(word for word in line.writes if word.startswith("--")), line.start)
        for function in outline.functions.values()
        for line in function.lines
        if _CALL in line.text
    ]
