"""Text that remembers where in its file each character stands.

Deployment files nest languages: a shell script in a YAML scalar in a ConfigMap. `Mapped` is a string
whose characters keep their offsets in the outermost file through unquoting, folding, slicing and
joining, so that the word found at the innermost level still points at the file.

What is known only at run time is a *hole*: one private-use character in the text, described in the
file's table. Every inner reader takes it for an ordinary letter.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from sgcheck.scan.model import Choice, Span

_FIRST_HOLE = 0xF0000
_LAST_HOLE = 0xFFFFC
FILL = "\U000ffffd"  # second and further characters of a hole that keeps its length
MAX_TEXT = 8_000_000
MAX_VALUE = 131_072
"""Characters of a variable; the kernel takes no longer word either."""
OVERLONG = f"longer than {MAX_VALUE} characters, or put together from very many pieces"
_MAX_PIECES = 4096
_MAX_WORK = 1_000_000
_work_left: ContextVar[list[int] | None] = ContextVar("_work_left", default=None)


class TooMuchText(Exception):
    """A file whose values grow without bound when they are put together."""


def begin_file() -> None:
    """Start counting the work of `join` anew: each file may cause so much of it."""
    _work_left.set([_MAX_WORK - 1])


@dataclass(frozen=True, slots=True)
class Hole:
    """Something unknown: its words in the file, why it is unknown, its few values if known.

    `spliced` marks what can become any number of words (an array, a rendered list).
    """

    source: str
    reason: str
    choices: tuple[Choice, ...] = ()
    spliced: bool = False


class SourceFile:
    """One file's text with line numbers and its table of holes. `path` is shown to people."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.original = text
        self.text = text
        self._lines: list[int] | None = None
        self._holes: dict[str, Hole] = {}
        self._known: dict[Hole, str] = {}
        self._next = _FIRST_HOLE
        self._tail = ""
        top = max(text, default="")
        if top >= "\U000f0000":
            for char in {c for c in text if c >= "\U000f0000"}:
                self._holes[char] = Hole(char, "a private-use character")

    @property
    def line_starts(self) -> list[int]:
        """The offset at which each line begins."""
        if self._lines is None:
            starts = [0]
            find = self.original.find
            at = find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = find("\n", at + 1)
            self._lines = starts
        return self._lines

    def line_of(self, offset: int) -> int:
        """The line, from 1, that holds the offset."""
        return bisect_right(self.line_starts, offset)

    def line_text(self, line: int) -> str:
        """The text of a line, from 1, without its end."""
        starts = self.line_starts
        end = starts[line] if line < len(starts) else len(self.original)
        return self.original[starts[line - 1] : end].rstrip("\r\n")

    def span(self, start: int, end: int) -> Span:
        """The place of the characters from `start` to before `end`."""
        starts = self.line_starts
        first = bisect_right(starts, start)
        last = bisect_right(starts, end)
        return Span(
            first, start - starts[first - 1] + 1, last, end - starts[last - 1] + 1, start, end
        )

    def hole(self, hole: Hole) -> str:
        """The one character that stands for `hole` in mapped text."""
        char = self._known.get(hole)
        if char is not None:
            return char
        if self._next > _LAST_HOLE:
            return self._overflow()
        char = chr(self._next)
        self._next += 1
        while char in self._holes:
            char = chr(self._next)
            self._next += 1
        self._holes[char] = hole
        self._known[hole] = char
        return char

    def _overflow(self) -> str:
        if not self._tail:
            self._tail = "\U0010fff0"
            self._holes[self._tail] = Hole("", "too many unknown values in one file")
        return self._tail

    def hole_of(self, char: str) -> Hole | None:
        """The hole that a character stands for, if it is one."""
        return self._holes.get(char) if char >= "\U000f0000" else None

    def holes_in(self, text: str) -> list[Hole]:
        """The holes of a text, in order."""
        if not text or max(text) < "\U000f0000":
            return []
        return [h for c in text if (h := self.hole_of(c)) is not None]

    def plain(self, text: str) -> str:
        """A text for people: each hole as the words of the file."""
        if not self.holes_in(text):
            return text
        shown = [hole.source if (hole := self.hole_of(c)) is not None else c for c in text]
        return "".join(shown).replace(FILL, "")

    def mapped(self, start: int = 0, end: int | None = None) -> Mapped:
        """A stretch of the file itself."""
        stop = len(self.text) if end is None else end
        return Mapped.written(self.text[start:stop], start)


class Mapped:
    """An immutable string with the file offset of each of its characters.

    Kept as runs of (first index, offset, width). In a run of width 1 the characters stand one after the other
    from the offset on. In a run of another width every character stands for the whole stretch
    `offset` to `offset + width`: an escape sequence, or text that the file writes in another form.
    """

    __slots__ = ("_at", "_to", "_width", "text")

    def __init__(self, text: str, runs: Iterable[tuple[int, int, int]] = ()) -> None:
        self.text = text
        self._at: list[int] = []
        self._to: list[int] = []
        self._width: list[int] = []
        for at, to, width in runs:
            self._at.append(at)
            self._to.append(to)
            self._width.append(width)

    @classmethod
    def _single(cls, text: str, to: int, width: int) -> Mapped:
        made = cls.__new__(cls)
        made.text = text
        made._at, made._to, made._width = _ONE, [to], [width]
        return made

    @classmethod
    def written(cls, text: str, start: int) -> Mapped:
        """Text that stands in the file as it is, from `start` on."""
        return cls._single(text, start, 1) if text else EMPTY

    @classmethod
    def standing_for(cls, text: str, start: int, end: int) -> Mapped:
        """Text that as a whole stands for the file's `start` to `end`."""
        # A run of width 1 means letter by letter, so one character for many is given no width.
        width = 0 if end - start == 1 and len(text) > 1 else end - start
        return cls._single(text, start, width) if text else EMPTY

    def __len__(self) -> int:
        return len(self.text)

    def __bool__(self) -> bool:
        return bool(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Mapped({self.text!r}, {self.extent()})"

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """The runs as (first index, offset, width)."""
        return zip(self._at, self._to, self._width, strict=True)

    def place(self, index: int) -> tuple[int, int]:
        """The file's start and end offset of one character."""
        run = bisect_right(self._at, index) - 1 if len(self._at) > 1 else 0
        width = self._width[run]
        if width == 1:
            start = self._to[run] + index - self._at[run]
            return start, start + 1
        return self._to[run], self._to[run] + width

    def extent(self) -> tuple[int, int] | None:
        """From the first character's start to the last one's end; None for empty text.

        When the text was joined from pieces in another order than the file's, it is the first piece.
        """
        if not self.text:
            return None
        start, first_end = self.place(0)
        end = self.place(len(self.text) - 1)[1]
        return (start, end) if end >= first_end else (start, first_end)

    def stretches(self) -> Iterator[tuple[int, int, int]]:
        """The stretches of the file that the text consists of, in order: start, end and width."""
        stops = [*self._at[1:], len(self.text)] if self.text else []
        for at, to, width, stop in zip(self._at, self._to, self._width, stops, strict=True):
            yield to, to + (stop - at if width == 1 else width), width

    def __getitem__(self, part: slice) -> Mapped:
        start, stop, _ = part.indices(len(self.text))
        if start >= stop:
            return EMPTY
        if len(self._at) == 1:
            width = self._width[0]
            to = self._to[0] + start if width == 1 else self._to[0]
            return Mapped._single(self.text[start:stop], to, width)
        first = bisect_right(self._at, start) - 1
        last = bisect_right(self._at, stop - 1) - 1
        runs = []
        for i in range(first, last + 1):
            at, to, width = self._at[i], self._to[i], self._width[i]
            if at < start and width == 1:
                to += start - at
            runs.append((max(at - start, 0), to, width))
        return Mapped(self.text[start:stop], runs)

    def __add__(self, other: Mapped) -> Mapped:
        return join((self, other))

    @property
    def is_overlong(self) -> bool:
        """Whether it is longer, or of more pieces, than the value of any variable."""
        return len(self.text) > MAX_VALUE or len(self._at) > _MAX_PIECES

    def strip(self, chars: str | None = None) -> Mapped:
        """As `str.strip`."""
        left = len(self.text) - len(self.text.lstrip(chars))
        return self[left : len(self.text.rstrip(chars))]

    def split(self) -> list[Mapped]:
        """As `str.split()`: at runs of blanks."""
        parts: list[Mapped] = []
        begin = -1
        for index, char in enumerate(self.text):
            if char in " \t\r\n":
                if begin >= 0:
                    parts.append(self[begin:index])
                    begin = -1
            elif begin < 0:
                begin = index
        if begin >= 0:
            parts.append(self[begin:])
        return parts


_ONE = [0]  # shared by all texts of one run; never changed
EMPTY = Mapped("")


def join(pieces: Iterable[Mapped]) -> Mapped:
    """One text from several, each character keeping its place.

    Raises TooMuchText where that is more than any file needs (`X=$X$X`, sixty times).
    """
    texts: list[str] = []
    runs: list[tuple[int, int, int]] = []
    length = 0
    kept = [piece for piece in pieces if piece.text]
    if len(kept) == 1:
        return kept[0]
    _count(kept)
    for piece in kept:
        runs.extend((at + length, to, width) for at, to, width in piece.runs())
        texts.append(piece.text)
        length += len(piece.text)
    return Mapped("".join(texts), runs)


def _count(pieces: list[Mapped]) -> None:
    size = sum(len(piece.text) for piece in pieces)
    if size > MAX_TEXT:
        spend(_MAX_WORK)
        raise TooMuchText
    spend(sum(len(piece._at) for piece in pieces) + size // 100)


def spend(work: int) -> None:
    """Count what a file makes: pieces of text, words. Raises TooMuchText where it is too much."""
    left = _work_left.get()
    if left is not None:
        left[0] -= work
        if left[0] < 0:
            raise TooMuchText


def is_exhausted() -> bool:
    """Whether the file has caused more work than it may since `begin_file`: not all of it was followed."""
    left = _work_left.get()
    return left is not None and left[0] < 0
