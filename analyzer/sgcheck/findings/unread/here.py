"""The answers of `reach`, kept by a tree's digest with the values that each rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sgcheck.source.cache import KeptFacts
from sgcheck.source.tree import Tree

_MOST_KEPT = 3_000
_NO_VALUE = ["open"]


@dataclass(frozen=True, slots=True)
class FalseTest:
    """What would have to hold for a reader of a field to run, and does not: its place, its words."""

    file: str
    line: int
    text: str


class UnreadHere:
    """Which fields nothing reads in a launch, for one tree. `fields` are all that it has."""

    def __init__(self, tree: Tree, fields: frozenset[str], folder: Path | None) -> None:
        self._tree = tree
        self._fields = fields
        self._facts = KeptFacts(folder, tree.digest)
        self._answers: dict[str, list[Any]] = dict(self._facts.load())
        self._changed = False

    def why_unread(self, name: str, values: Mapping[str, Any]) -> tuple[FalseTest, ...] | None:
        """The tests that are false for a launch where nothing reads a field, None where it may be read.

        `values` are the decided fields of the launch. Empty where nothing reads it in any launch.
        """
        for consulted, found in self._answers.get(name, ()):
            if all(values.get(n, _NO_VALUE) == value for n, value in consulted.items()):
                return _tests(found)
        consulted, found = self._look(name, values)
        if sum(map(len, self._answers.values())) < _MOST_KEPT:
            self._answers.setdefault(name, []).append([consulted, found])
            self._changed = True
        return _tests(found)

    def store(self) -> None:
        """Keep what was found out since the last time, beside what other processes found out."""
        if self._changed:
            for name, rows in self._facts.load().items():
                own = self._answers.setdefault(name, [])
                own += [row for row in rows if row not in own]
            self._facts.store(self._answers)
            self._changed = False

    def _look(self, name: str, values: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        from sgcheck.findings.unread.code import code_of
        from sgcheck.findings.unread.reach import Reach
        from sgcheck.findings.unread.truth import Truth

        code = code_of(self._tree)
        code.tidy()
        wary = Reach(code, Truth(code, {}, self._fields), wary=True)
        if wary.may_be_read(name):
            return {}, None
        others = {n: value for n, value in values.items() if n != name}
        truth = Truth(code, others, self._fields - {name})
        reach = Reach(code, truth)
        found = None
        if not reach.may_be_read(name):
            found = [[file, line, text] for (file, line), text in sorted(reach.false_tests.items())]
        consulted = {n: others.get(n, _NO_VALUE) for n in sorted(truth.used)}
        return consulted, found


def _tests(found: Any) -> tuple[FalseTest, ...] | None:
    return None if found is None else tuple(FalseTest(*each) for each in found)


@lru_cache(maxsize=8)
def _kept(digest: str, tree: Tree, fields: frozenset[str], folder: Path | None) -> UnreadHere:
    return UnreadHere(tree, fields, folder)


def unread_here(tree: Tree, fields: frozenset[str], folder: Path | None = None) -> UnreadHere:
    """The answers for a tree; kept in `folder`."""
    return _kept(tree.digest, tree, fields, folder)
