"""Which functions of two trees are the same one, and which of their lines differ.

Functions are paired by file and name, else by name, else by what they say; so one that moved, even
to another file, is no difference. Only what ran on one side or the other is looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TypeAlias

from sgcheck.errors import SourceError
from sgcheck.review.outline import Function, Outline, outline
from sgcheck.review.watch import Run
from sgcheck.source import Tree

LineId: TypeAlias = tuple[str, str, int]
"""File, function and index of a logical line."""


@dataclass(slots=True)
class Outlines:
    """The outlines of one tree's files, each read when it is asked for."""

    tree: Tree
    _read: dict[str, Outline] = field(default_factory=dict)

    def of(self, file: str) -> Outline:
        """The outline of a file; an empty one where there is no such file."""
        if file not in self._read:
            try:
                self._read[file] = outline(file, self.tree.read(file))
            except (FileNotFoundError, SourceError) as error:
                self._read[file] = Outline(file, problem=str(error))
        return self._read[file]

    def find(self, file: str, line: int) -> LineId | None:
        """The logical line that a line of the source belongs to."""
        found = self.of(file).at(line)
        return (file, found[0].name, found[1]) if found is not None else None

    def function(self, key: LineId) -> Function:
        """The function that holds a logical line."""
        return self.of(key[0]).functions[key[1]]


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that differ: those of the old tree and those of the new one, either of them empty."""

    old: tuple[LineId, ...]
    new: tuple[LineId, ...]


def same_bytes(old: Tree, new: Tree, file: str) -> bool:
    """Whether both trees have a file with the same content."""
    try:
        return old.read(file) == new.read(file)
    except (FileNotFoundError, SourceError):
        return False


def hunks(old: Outlines, new: Outlines, ran: tuple[set[LineId], set[LineId]]) -> list[Hunk]:
    """The differences between functions of which a line ran, in the order of the files."""
    old_ran, new_ran = ran
    out: list[Hunk] = []
    for first, second in _pairs(old, new, old_ran, new_ran):
        for hunk in _differences(first, second):
            if any(key in old_ran for key in hunk.old) or any(key in new_ran for key in hunk.new):
                out.append(hunk)
    return out


def _pairs(
    old: Outlines, new: Outlines, old_ran: set[LineId], new_ran: set[LineId]
) -> list[tuple[Function | None, Function | None]]:
    first = {key[:2]: old.function(key) for key in sorted(old_ran)}
    second = {key[:2]: new.function(key) for key in sorted(new_ran)}
    out: list[tuple[Function | None, Function | None]] = []
    lone_old: list[Function] = []
    for place, function in first.items():
        other = new.of(place[0]).functions.get(place[1])
        if other is None:
            lone_old.append(function)
        else:
            out.append((function, other))
            second.pop(place, None)
    lone_new: list[Function] = []
    for place, function in second.items():
        other = old.of(place[0]).functions.get(place[1])
        if other is None:
            lone_new.append(function)
        else:
            out.append((other, function))
    moved = _moved(lone_old, lone_new)
    taken = {id(function) for function in moved.values()}
    out += [(function, moved.get(id(function))) for function in lone_old]
    out += [(None, function) for function in lone_new if id(function) not in taken]
    return out


def _moved(old: list[Function], new: list[Function]) -> dict[int, Function]:
    """Functions of other files or names, by the id of the old one."""
    found: dict[int, Function] = {}
    taken: set[int] = set()
    for key in (_whole, _named, _last):
        by_key: dict[object, list[Function]] = defaultdict(list)
        for function in new:
            if id(function) not in taken:
                by_key[key(function)].append(function)
        for function in old:
            same = by_key.get(key(function), [])
            if id(function) not in found and len(same) == 1 and id(same[0]) not in taken:
                found[id(function)] = same[0]
                taken.add(id(same[0]))
    return found


def _whole(function: Function) -> object:
    return (function.last, tuple(line.key for line in function.lines))


def _named(function: Function) -> object:
    return function.name or function.file


def _last(function: Function) -> object:
    return function.last or function.file


def _differences(old: Function | None, new: Function | None) -> Iterable[Hunk]:
    if old is None or new is None:
        yield Hunk(_ids(old), _ids(new))
        return
    before, after = ([line.key for line in f.lines] for f in (old, new))
    if before == after:
        return
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            yield Hunk(_ids(old, i1, i2), _ids(new, j1, j2))


def _ids(function: Function | None, start: int = 0, end: int | None = None) -> tuple[LineId, ...]:
    if function is None:
        return ()
    last = len(function.lines) if end is None else end
    return tuple((function.file, function.name, index) for index in range(start, last))


def executed(outlines: Outlines, run: Run, files: set[str]) -> dict[LineId, int]:
    """The logical lines of some files that ran, with the order in which they first did."""
    found: dict[LineId, int] = {}
    for (file, line), order in run.lines.items():
        if file in files:
            key = outlines.find(file, line)
            if key is not None and key not in found:
                found[key] = order
    return found
