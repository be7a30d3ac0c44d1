"""How near the lines of one run are to a value: a backward slice, nearest lines first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sgcheck.review.pairing import LineId, Outlines
from sgcheck.review.watch import Run

_HOPS = 8
COMMON = 12
"""Lines that call a function from which on it says little about any one value: looked at last."""


@dataclass(slots=True)
class Slicer:
    """Slices of one run. Lines that never ran are in no slice, but for guards and starting lines."""

    outlines: Outlines
    run: Run
    _callers: dict[tuple[str, str], set[LineId]] = field(default_factory=dict)
    _callees: dict[LineId, set[tuple[str, str]]] = field(default_factory=dict)
    _ran: dict[tuple[str, str], set[LineId]] = field(default_factory=dict)
    _writers: dict[str, set[LineId]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        callers: dict[tuple[str, str], set[LineId]] = defaultdict(set)
        callees: dict[LineId, set[tuple[str, str]]] = defaultdict(set)
        for file, line, called, first in self.run.calls:
            caller = self.outlines.find(file, line)
            callee = self.outlines.find(called, first)
            if caller is not None and callee is not None and caller[:2] != callee[:2]:
                callers[callee[:2]].add(caller)
                callees[caller].add(callee[:2])
        ran: dict[tuple[str, str], set[LineId]] = defaultdict(set)
        writers: dict[str, set[LineId]] = defaultdict(set)
        for file, line in self.run.lines:
            key = self.outlines.find(file, line)
            if key is None or key in ran[key[:2]]:
                continue
            ran[key[:2]].add(key)
            for name in self.outlines.function(key).lines[key[2]].writes:
                writers[name].add(key)
        self._callers, self._callees = dict(callers), dict(callees)
        self._ran, self._writers = dict(ran), dict(writers)

    def lines_with(self, wanted: Callable[[str], bool]) -> set[LineId]:
        """Executed lines that write a name, a keyword, a key or a text of some kind."""
        return {key for name, keys in self._writers.items() if wanted(name) for key in keys}

    def tiers(self, start: set[LineId]) -> Iterator[set[LineId]]:
        """The lines themselves, what guards them, how they are reached, what these call, what
        writes the names that are read there, and so on outwards."""
        near = set(start)
        yield near
        guards = self._guards(near)
        yield guards
        near = near | guards
        around = self._around(near)
        yield self._called(near) | around
        seen = near | around
        for _ in range(_HOPS):
            written = self._written(near, seen)
            if not written:
                break
            written |= self._guards(written)
            yield written
            yield self._called(written)
            seen |= written
            near = written
        yield self._called(seen)
        yield self._called(seen, common=True)

    def _guards(self, lines: set[LineId]) -> set[LineId]:
        found: set[LineId] = set()
        for file, name, index in lines:
            function = self.outlines.of(file).functions[name]
            found |= {(file, name, guard) for guard in function.lines[index].guards}
        return found - lines

    def _around(self, lines: set[LineId]) -> set[LineId]:
        """The lines that called the functions of `lines`, and theirs, with their guards."""
        found: set[LineId] = set()
        todo = [key[:2] for key in lines]
        seen = set(todo)
        while todo:
            for caller in self._callers.get(todo.pop(), ()):
                found.add(caller)
                if caller[:2] not in seen:
                    seen.add(caller[:2])
                    todo.append(caller[:2])
        return found | self._guards(found)

    def _called(self, lines: set[LineId], *, common: bool = False) -> set[LineId]:
        """Everything that ran in functions called from `lines`, at any depth.

        Without `common` not in those that are called from all over.
        """
        found: set[LineId] = set()
        todo = list(lines)
        seen: set[tuple[str, str]] = set()
        while todo:
            for function in self._callees.get(todo.pop(), ()):
                often = len(self._callers.get(function, ())) >= COMMON
                if function not in seen and (common or not often):
                    seen.add(function)
                    inner = self._ran.get(function, set())
                    found |= inner
                    todo += inner
        return found

    def _written(self, lines: set[LineId], seen: set[LineId]) -> set[LineId]:
        """Lines that write what `lines` read: locals of the function, fields, constants."""
        found: set[LineId] = set()
        for key in lines:
            line = self.outlines.function(key).lines[key[2]]
            for name in line.reads:
                found |= self._writers.get(name, set())
        return found - seen
