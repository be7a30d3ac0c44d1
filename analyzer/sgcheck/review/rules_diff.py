"""The rules of two trees against each other, without a launch.

Rules are matched by what they write or raise, by their value, by their conditions and by what they
read; never by lines, files or names of functions alone. What has no match is listed as added or
removed.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sgcheck.report.document import Document
from sgcheck.review.counterparts import atoms_of, canonical
from sgcheck.review.document import site_document
from sgcheck.review.model import Site

if TYPE_CHECKING:
    from sgcheck.graph.data import RuleGraph

SCHEMA = "sgcheck.diff-rules/1"
How: TypeAlias = Literal["removed", "added", "value", "guard", "order"]
HOWS: tuple[How, ...] = ("removed", "added", "value", "guard", "order")

LEAST = 0.45
"""The likeness from which on two rules of one field count as the same one."""


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule. `subject` is the field, `raise TYPE`, or `env NAME`; `order` its place in the run."""

    subject: str
    value: str
    atoms: tuple[tuple[str, str], ...]
    reads: frozenset[str]
    order: int
    site: Site

    @property
    def keys(self) -> frozenset[str]:
        """The conditions in canonical form."""
        return frozenset(key for key, _ in self.atoms)


@dataclass(frozen=True, slots=True)
class RuleChange:
    """One difference; `added` and `removed` are conditions that the new rule has more and less."""

    how: How
    subject: str
    old: RuleRow | None
    new: RuleRow | None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RulesDiff:
    """All differences, and how many rules each tree has and how many were matched."""

    changes: tuple[RuleChange, ...]
    old_rules: int
    new_rules: int
    matched: int

    def of(self, how: How) -> list[RuleChange]:
        """The differences of one kind."""
        return [change for change in self.changes if change.how == how]


def rows(graph: RuleGraph, fields: frozenset[str] | None = None) -> list[RuleRow]:
    """The rules of a graph that decide something: writes, declarations, defaults, raises, env."""
    found = []
    for node, data in graph.nodes(data=True):
        if data["kind"] != "rule" or data["rule"] == "log":
            continue
        subject = _subject(data)
        if fields is not None and data["field"] not in fields:
            continue
        reads = frozenset(
            graph.nodes[source]["label"]
            for source, _, kind in graph.in_edges(node, keys=True)
            if kind in ("reads", "guards")
        )
        guards = [g["text"] if g["holds"] else f"not ({g['text']})" for g in data["guards"]]
        site = Site(
            data["rule"],
            data["file"],
            data["line"],
            data["function"] or None,
            tuple(guards),
            data["url"],
            data["value"],
        )
        atoms = tuple(sorted(atoms_of(guards).items()))
        found.append(
            RuleRow(subject, plain_value(data["value"]), atoms, reads, data["order"], site)
        )
    return sorted(found, key=lambda row: (row.order, str(row.site.place), row.subject))


def _subject(data: dict[str, Any]) -> str:
    if data["field"] is not None:
        return str(data["field"])
    return f"{data['rule']} {data['target'] or '?'}"


def plain_value(text: str | None) -> str:
    """A value without layout, quotes and the name of the record."""
    if text is None:
        return ""
    try:
        return canonical(ast.unparse(ast.parse(text.strip(), mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return canonical(" ".join(text.split()))


def rules_diff(old: Sequence[RuleRow], new: Sequence[RuleRow]) -> RulesDiff:
    """Match the rules of two trees and tell the rest."""
    pairs: list[tuple[RuleRow, RuleRow]] = []
    changes: list[RuleChange] = []
    before, after = _grouped(old), _grouped(new)
    for subject in sorted(before.keys() | after.keys()):
        matched, gone, come = match(before.get(subject, []), after.get(subject, []))
        pairs += matched
        changes += [RuleChange("removed", subject, row, None) for row in gone]
        changes += [RuleChange("added", subject, None, row) for row in come]
        changes += _changed(matched)
        changes += _reordered(matched)
    changes.sort(key=lambda c: (HOWS.index(c.how), c.subject, _place(c)))
    return RulesDiff(tuple(changes), len(old), len(new), len(pairs))


def _place(change: RuleChange) -> str:
    row = change.old or change.new
    return str(row.site.place) if row is not None else ""


def _grouped(found: Iterable[RuleRow]) -> dict[str, list[RuleRow]]:
    groups: dict[str, list[RuleRow]] = defaultdict(list)
    for row in found:
        groups[row.subject].append(row)
    return dict(groups)


def match(
    old: Sequence[RuleRow], new: Sequence[RuleRow]
) -> tuple[list[tuple[RuleRow, RuleRow]], list[RuleRow], list[RuleRow]]:
    """Pairs, the likest first, each rule in at most one; then what is left of either side."""
    scored = [
        (likeness(left, right), -abs(i / max(len(old), 1) - j / max(len(new), 1)), i, j)
        for i, left in enumerate(old)
        for j, right in enumerate(new)
    ]
    taken_old: dict[int, int] = {}
    taken_new: set[int] = set()
    for score, _, i, j in sorted(scored, key=lambda s: (-s[0], -s[1], s[2], s[3])):
        if score >= LEAST and i not in taken_old and j not in taken_new:
            taken_old[i] = j
            taken_new.add(j)
    pairs = [(old[i], new[j]) for i, j in sorted(taken_old.items())]
    gone = [row for i, row in enumerate(old) if i not in taken_old]
    come = [row for j, row in enumerate(new) if j not in taken_new]
    return pairs, gone, come


def likeness(left: RuleRow, right: RuleRow) -> float:
    """From 0 to 1: how much two rules of one field are the same rule."""
    if (left.site.kind == "default") != (right.site.kind == "default"):
        return 0.0
    if left.site.kind == "default":
        return 1.0
    value = 1.0 if left.value == right.value else 0.0
    guards = _share(left.keys, right.keys)
    reads = _share(left.reads, right.reads)
    return 0.45 * value + 0.35 * guards + 0.2 * reads


def _share(left: frozenset[str], right: frozenset[str]) -> float:
    union = left | right
    return len(left & right) / len(union) if union else 1.0


def _changed(pairs: Iterable[tuple[RuleRow, RuleRow]]) -> list[RuleChange]:
    out = []
    for left, right in pairs:
        before, after = dict(left.atoms), dict(right.atoms)
        added = tuple(text for key, text in after.items() if key not in before)
        removed = tuple(text for key, text in before.items() if key not in after)
        if left.value != right.value:
            out.append(RuleChange("value", left.subject, left, right, added, removed))
        elif added or removed:
            out.append(RuleChange("guard", left.subject, left, right, added, removed))
    return out


def _reordered(pairs: Sequence[tuple[RuleRow, RuleRow]]) -> list[RuleChange]:
    """Rules of one field that the new tree applies in another order: as few as explain it."""
    ordered = sorted(pairs, key=lambda pair: pair[0].order)
    chains: list[list[int]] = []
    kept: list[int] = []
    for index, (_, right) in enumerate(ordered):
        longest: list[int] = []
        for chain in chains:
            if ordered[chain[-1]][1].order <= right.order and len(chain) > len(longest):
                longest = chain
        chains.append([*longest, index])
        if len(chains[-1]) > len(kept):
            kept = chains[-1]
    return [
        RuleChange("order", left.subject, left, right)
        for index, (left, right) in enumerate(ordered)
        if index not in kept
    ]


def rules_document(found: RulesDiff) -> Document:
    """The JSON form (`docs/diff.md`)."""
    return {
        "schema": SCHEMA,
        "old_rules": found.old_rules,
        "new_rules": found.new_rules,
        "matched": found.matched,
        "changes": [
            {
                "how": change.how,
                "subject": change.subject,
                "old": site_document(change.old.site) if change.old is not None else None,
                "new": site_document(change.new.site) if change.new is not None else None,
                "added": list(change.added),
                "removed": list(change.removed),
            }
            for change in found.changes
        ],
    }
