"""Fields of a command line on their way to words.

A `Field` is a mapped text plus the place at which the file has it as a word; `to_word` makes the public
`Word` of it. `split_posix` cuts a string as `shlex.split` does (no expansion), keeping places.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from sgcheck.scan.model import Choice, Many, Word
from sgcheck.scan.text import EMPTY, FILL, Hole, Mapped, SourceFile, join

_MAX_CHOICES = 16
_LONG_SOURCE = 200
BLANKS = " \t\r\n"
_QUOTING = "'\"\\`| >-+\t\r\n"
_ESCAPED = ("\\", " ", "\n", "\r", "\t")


@dataclass(frozen=True, slots=True)
class Field:
    """One word before it is made public. `start` and `end` are offsets in the file."""

    value: Mapped
    start: int
    end: int
    many: Many = "one"
    assumed: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text with its holes."""
        return self.value.text

    @classmethod
    def of(cls, value: Mapped, fallback: tuple[int, int] = (0, 0)) -> Field:
        """A field that stands where its text stands."""
        start, end = value.extent() or fallback
        return cls(value, start, end)

    def after(self, count: int, prefix: str = "") -> Field:
        """The field without its first `count` characters, at the same place, with `prefix` before."""
        rest = self.value[count:]
        if prefix:
            rest = join((Mapped.standing_for(prefix, self.start, self.start), rest))
        return Field(rest, self.start, self.end, self.many, self.assumed)


def clean_source(file: SourceFile, start: int, end: int) -> str:
    """The file's own words between two offsets."""
    return file.original[start:end]


def to_word(file: SourceFile, field: Field) -> Word:
    """The public word of a field."""
    text = field.value.text
    span = file.span(field.start, field.end)
    holes = file.holes_in(text)
    if not holes:
        exact = is_exact(file, field)
        origin = None
        place = field.value.extent()
        if not exact and place is not None and is_exact(file, Field(field.value, *place)):
            origin = file.span(*place)
        return Word(text, span, origin=origin, exact=exact, many=field.many, assumed=field.assumed)
    first = next(i for i, c in enumerate(text) if file.hole_of(c) is not None)
    choices = _choices(file, text)
    many: Many = "one" if choices else field.many
    source = clean_source(file, field.start, field.end) or holes[0].source
    if "\n" in source and (len(text.rstrip(FILL)) == 1 or len(source) > _LONG_SOURCE):
        source = holes[0].source  # a variable that was put together elsewhere
    if holes[0].spliced and len(text.rstrip(FILL)) == 1:
        many = "any"
        if holes[0].source.startswith(("{{", "{%")):  # the masked line is shorter than the action
            begin = file.original.find(holes[0].source, field.start - span.column + 1)
            if begin >= 0:
                source = holes[0].source
                span = file.span(begin, begin + len(source))
    return Word(
        None,
        span,
        source=source,
        reason=holes[0].reason,
        prefix=text[:first],
        choices=choices,
        many=many,
        exact=False,
        assumed=field.assumed,
    )


def is_exact(file: SourceFile, field: Field) -> bool:
    """Whether the file's text at the field's place is the field's text, up to quoting and escapes."""
    at = field.start
    original = file.original
    for start, end, width in field.value.stretches():
        if start < at or end > field.end or original[at:start].strip(_QUOTING):
            return False
        if width != 1 and original[start : start + 1] not in _ESCAPED:
            return False
        at = end
    return not original[at : field.end].strip(_QUOTING)


def _choices(file: SourceFile, text: str) -> tuple[Choice, ...]:
    """All values of a text, when each of its holes has a few known ones."""
    parts: list[tuple[Choice, ...]] = []
    total = 1
    for char in text:
        hole = file.hole_of(char)
        if hole is None:
            if char != FILL:
                parts.append((Choice("", char),))
            continue
        if not hole.choices:
            return ()
        total *= len(hole.choices)
        if total > _MAX_CHOICES:
            return ()
        parts.append(hole.choices)
    found: dict[Choice, None] = {}
    for combination in itertools.product(*parts):
        condition = " and ".join(c.condition for c in combination if c.condition)
        found[Choice(condition, "".join(c.text for c in combination))] = None
    return tuple(found)


def split_posix(text: Mapped, *, fallback: tuple[int, int] = (0, 0)) -> list[Field]:
    """Cut into words at blanks, with quotes and backslashes as in `shlex.split`. Nothing is expanded.

    An unclosed quote reaches to the end: deployment files are read, not judged, here.
    """
    raw = text.text
    fields: list[Field] = []
    pieces: list[Mapped] = []
    begin = -1
    i = 0
    size = len(raw)

    def close(stop: int) -> None:
        nonlocal begin
        if begin >= 0:
            start = text.place(begin)[0]
            end = text.place(stop - 1)[1]
            fields.append(Field(join(pieces), start, max(start, end)))
            pieces.clear()
            begin = -1

    while i < size:
        char = raw[i]
        if char in BLANKS:
            close(i)
            i += 1
            continue
        if begin < 0:
            begin = i
        if char == "'":
            stop = raw.find("'", i + 1)
            stop = size if stop < 0 else stop
            pieces.append(text[i + 1 : stop])
            i = stop + 1
        elif char == '"':
            i = _double_quoted(text, i + 1, pieces)
        elif char == "\\" and i + 1 < size:
            if raw[i + 1] == "\n":  # a continuation joins lines
                i += 2
                if begin == i - 2:
                    begin = -1
                continue
            pieces.append(text[i + 1 : i + 2])
            i += 2
        else:
            stop = i + 1
            while stop < size and raw[stop] not in BLANKS and raw[stop] not in "'\"\\":
                stop += 1
            pieces.append(text[i:stop])
            i = stop
    close(min(i, size))
    return fields


def _double_quoted(text: Mapped, i: int, pieces: list[Mapped]) -> int:
    raw = text.text
    size = len(raw)
    while i < size and raw[i] != '"':
        if raw[i] == "\\" and i + 1 < size and raw[i + 1] in '"\\$`\n':
            if raw[i + 1] != "\n":
                pieces.append(text[i + 1 : i + 2])
            i += 2
            continue
        stop = i + 1
        while stop < size and raw[stop] not in '"\\':
            stop += 1
        pieces.append(text[i:stop])
        i = stop
    return i + 1


def hole_text(file: SourceFile, hole: Hole, start: int, end: int) -> Mapped:
    """Mapped text of one hole that stands for the file's `start` to `end`."""
    return Mapped.standing_for(file.hole(hole), start, end)


def joined(fields: Iterable[Field]) -> Mapped:
    """The fields as one text with blanks between, as `eval` and `ssh` see them."""
    pieces: list[Mapped] = []
    for field in fields:
        if pieces:
            pieces.append(Mapped.standing_for(" ", field.start, field.start))
        pieces.append(field.value)
    return join(pieces) if pieces else EMPTY
