"""A command line of a file read as the release's own parser would: uses of flags with their places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sgcheck.findings.flags import Flag, FlagTable, Match
from sgcheck.scan.model import Span, Word

_NEGATIVE_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$")


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a flag.

    `spelling` is the name as written, `names` the full names that it can stand for (none for an
    unknown flag). `values` are the words that it takes, `inline` says that the value is joined by
    `=`. `flag` is None unless the spelling stands for exactly one.
    """

    word: Word
    spelling: str
    match: Match
    names: tuple[str, ...]
    flag: Flag | None
    values: tuple[Word, ...] = ()
    inline: bool = False

    @property
    def known(self) -> bool:
        """Whether all values are in the file."""
        return all(value.text is not None for value in self.values)

    @property
    def value(self) -> str | None:
        """The value of a flag that has exactly one, if it is in the file."""
        return self.values[0].text if len(self.values) == 1 else None

    @property
    def name(self) -> str:
        """The first long spelling of the flag, or what is written."""
        return self.flag.name if self.flag is not None else self.spelling

    @property
    def span(self) -> Span:
        """From the flag to its last value, where they stand one after the other."""
        return join_spans(self.word.span, *(value.span for value in self.values))

    @property
    def value_span(self) -> Span:
        """The values, or the flag where it has none or where both are one word."""
        if not self.values or self.inline:
            return self.word.span
        return join_spans(*(value.span for value in self.values))

    @property
    def written(self) -> str:
        """The use on one line, as a person would write it; open values in their own words."""
        if self.inline:
            return shown(self.word)
        return " ".join((shown(self.word), *(shown(value) for value in self.values)))


@dataclass(frozen=True, slots=True)
class Command:
    """The uses of a command line.

    `stray` are words that belong to no flag; `open` are words known only at run time that may hold
    further flags, so that nothing can be concluded from what is absent.
    """

    uses: tuple[Use, ...]
    stray: tuple[Word, ...] = ()
    open: tuple[Word, ...] = ()

    def of(self, *names: str) -> tuple[Use, ...]:
        """The uses of flags that have one of some names, in order."""
        return tuple(
            use
            for use in self.uses
            if use.spelling in names or (use.flag is not None and set(names) & set(use.flag.names))
        )

    def last(self, *names: str) -> Use | None:
        """The use that counts."""
        found = self.of(*names)
        return found[-1] if found else None

    def of_dest(self, dest: str) -> tuple[Use, ...]:
        """The uses that write a field, in order."""
        return tuple(use for use in self.uses if use.flag is not None and use.flag.dest == dest)

    @property
    def unread(self) -> tuple[Use, ...]:
        """The uses whose value is known only at run time."""
        return tuple(use for use in self.uses if not use.known)

    def without(self, dest: str) -> Command:
        """The command line without every flag that sets a field."""
        uses = (use for use in self.uses if use.flag is None or use.flag.dest != dest)
        return replace(self, uses=tuple(uses))

    def prediction_argv(self) -> tuple[str, ...]:
        """The words to predict with: everything that the file tells, open parts left out."""
        out: list[str] = []
        for use in self.uses:
            if use.known:
                out.append(use.word.text or use.spelling)
                out.extend(value.text or "" for value in use.values if not use.inline)
        out.extend(word.text or "" for word in self.stray)
        return tuple(out)


def read_command(words: Sequence[Word], table: FlagTable | None) -> Command:
    """The uses in `words`. Without a table no flag is known."""
    uses: list[Use] = []
    stray: list[Word] = []
    unread: list[Word] = []
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        head = word.text if word.text is not None else word.prefix
        if not _is_flag(head):
            # After an open word (`$FLAG 8`) a plain word may be that flag's value.
            is_open = word.text is None or (bool(unread) and words[i - 2] is unread[-1])
            (unread if is_open else stray).append(word)
            continue
        name, equals, tail = head.partition("=")
        if word.text is None and not equals:
            unread.append(word)
            continue
        use = _use(word, name, table)
        if equals:
            text = None if word.text is None else tail
            values: tuple[Word, ...] = (replace(word, text=text, prefix=tail),)
            use = replace(use, values=values, inline=True)
        else:
            taken = _taken(words, i, use.flag)
            use = replace(use, values=tuple(words[i : i + taken]))
            i += taken
        uses.append(use)
    return Command(tuple(uses), tuple(stray), tuple(unread))


def _use(word: Word, name: str, table: FlagTable | None) -> Use:
    if table is None:
        return Use(word, name, "exact", (name,), None)
    match, names = table.match(name)
    flags = {id(table.by_name[full]): table.by_name[full] for full in names}
    # Python refuses two spellings of one option as ambiguous before 3.12, so only one counts here.
    flag = next(iter(flags.values())) if len(flags) == 1 and len(names) == 1 else None
    return Use(word, name, match, names, flag)


def _taken(words: Sequence[Word], start: int, flag: Flag | None) -> int:
    """How many of the words from `start` on belong to a flag; to an unknown one all up to the next."""
    least, most = (flag.least, flag.most) if flag is not None else (0, None)
    count = 0
    for word in words[start:]:
        if most is not None and count >= most:
            break
        text = word.text if word.text is not None else word.prefix
        if _is_flag(text) or (word.text is None and word.many == "any" and count >= least):
            break
        count += 1
    return count


def _is_flag(text: str) -> bool:
    return len(text) > 1 and text.startswith("-") and not _NEGATIVE_NUMBER.match(text)


def join_spans(*spans: Span) -> Span:
    """From the first span's start to the end of the last one that lies after it."""
    first = spans[0]
    last = first
    for span in spans[1:]:
        if span.start >= last.end and span.line - last.end_line <= 2:
            last = span
    return Span(first.line, first.column, last.end_line, last.end_column, first.start, last.end)


def shown(word: Word) -> str:
    """A word for a message."""
    text = word.text if word.text is not None else word.source or "…"
    return " ".join(text.split()) or "''"


def dests(uses: Iterable[Use]) -> frozenset[str]:
    """The fields that some uses write."""
    return frozenset(use.flag.dest for use in uses if use.flag is not None)
