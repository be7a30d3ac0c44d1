"""Where two launches of one tree part, as far as one field is concerned.

The steps that give the field its values are compared in order. At the first that differs, either
the command line differs, or a line gives two values, or a branch goes two ways; then the fields
that the line or the branch looks at are followed in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, TypeAlias

from sgcheck.report.document import same_value
from sgcheck.resolve.because_tree import behind_locals, rule_at
from sgcheck.resolve.footprint import Call, Footprint, Place, Step, footprint
from sgcheck.resolve.resolution import JsonValue, Resolution

if TYPE_CHECKING:
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.performing import Performs
    from sgcheck.syntax.rule_model import Guard, ModuleRules, Read

PartKind: TypeAlias = Literal["input", "value", "branch", "call"]
MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Side:
    """What one launch does there: the value it gives and the line; both None where it gives none."""

    value: JsonValue = None
    file: str | None = None
    line: int | None = None
    function: str | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """A field that the line or branch looks at, with its value in each launch."""

    field: str
    left: JsonValue
    right: JsonValue


@dataclass(frozen=True, slots=True)
class Part:
    """The first place where two launches part over a field.

    - `input`: the command line gives two values;
    - `value`: one line gives two values;
    - `branch`: `text` is a condition that holds in one launch only (`holds` says which: True for
      the left one), at `file:line`;
    - `call`: at `file:line` one launch calls a function that the other does not.

    `looked` are the fields looked at there that differ, `asks` what else is looked at (probes,
    variables, model facts), and `parts` where those fields parted.
    """

    field: str
    kind: PartKind
    left: Side
    right: Side
    text: str = ""
    holds: bool | None = None
    file: str | None = None
    line: int | None = None
    function: str | None = None
    looked: tuple[Looked, ...] = ()
    asks: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    url: str | None = None


@dataclass(frozen=True, slots=True)
class VersusReport:
    """Both predictions, what differs in the launches themselves, and where they part.

    `part` is None where the field gets the same values from the same lines.
    """

    field: str
    left: Resolution
    right: Resolution
    inputs: tuple[Looked, ...]
    part: Part | None


def versus(predictor: Performs, left: Launch, right: Launch, name: str) -> VersusReport:
    """Compare two launches of one tree over one field. Both models must be known."""
    results = predictor.check(left), predictor.check(right)
    found = footprint(predictor, left), footprint(predictor, right)
    part = None
    if found[0] is not None and found[1] is not None:
        part = _Comparison(predictor, (left, right), (found[0], found[1])).part(name, 0)
    return VersusReport(name, *results, _inputs(left, right), part)


def _inputs(left: Launch, right: Launch) -> tuple[Looked, ...]:
    """What differs in the launches themselves: machine, model, environment, flags."""
    a, b = left.target.to_target(), right.target.to_target()
    pairs: list[tuple[str, JsonValue, JsonValue]] = [
        ("arch", a.arch, b.arch),
        ("gpu", a.gpu.name, b.gpu.name),
        ("gpu memory (MiB)", a.gpu.memory_mib, b.gpu.memory_mib),
        ("gpu count", a.gpu.count, b.gpu.count),
        ("cuda", a.cuda, b.cuda),
        ("model", left.model.path, right.model.path),
        *((n, left.env.get(n), right.env.get(n)) for n in sorted({*left.env, *right.env})),
        ("flags", list(left.argv), list(right.argv)),
    ]
    return tuple(Looked(name, x, y) for name, x, y in pairs if not same_value(x, y))


@dataclass(frozen=True, slots=True)
class _Way:
    """Launch `index` (0: left) got past `guard` at `call` and the other did not; None: no guard."""

    index: int
    call: Call
    guard: Guard | None


class _Comparison:
    """Two runs side by side."""

    def __init__(
        self,
        predictor: Performs,
        launches: tuple[Launch, Launch],
        found: tuple[Footprint, Footprint],
    ) -> None:
        self._predictor = predictor
        self._launches = launches
        self._found = found
        self._seen: set[str] = set()
        self._modules: dict[tuple[str, str], ModuleRules] = {}

    def part(self, name: str, depth: int) -> Part | None:
        """Where the launches part over a field; None where they do not, or it has been told."""
        if name in self._seen or depth > MAX_DEPTH:
            return None
        self._seen.add(name)
        a, b = self._found
        first = a.first_values.get(name), b.first_values.get(name)
        if not same_value(*first):
            return Part(name, "input", Side(first[0]), Side(first[1]))
        for x, y in zip_longest(a.of(name), b.of(name)):
            if x is not None and y is not None and x.place == y.place:
                if not same_value(x.value, y.value):
                    return self._two_values(name, x, y, depth)
                continue
            return self._two_ways(name, x, y, depth)
        return None

    def _two_values(self, name: str, x: Step, y: Step, depth: int) -> Part:

        reads: list[Read] = []
        text = ""
        rule = rule_at(self._rules(x.file, x.function), name, x.line)
        if rule is not None:
            text = rule.value or ""
            reads += rule.reads
            reads += [r for case in rule.cases for r in case.reads]
            reads += [r for case in rule.cases for g in case.guards for r in g.reads]
        reads = self._behind(Call(x.file, x.function, x.line), reads)
        looked, asks, parts = self._look(x.place, reads, depth)
        return Part(
            name,
            "value",
            _side(x),
            _side(y),
            text,
            None,
            x.file,
            x.line,
            x.function,
            looked,
            asks,
            parts,
            self._predictor.tree.permalink(x.file, x.line),
        )

    def _two_ways(self, name: str, x: Step | None, y: Step | None, depth: int) -> Part:
        """One launch runs a line that the other does not."""
        step = x or y
        assert step is not None
        ways = [
            self._apart(one, index)
            for index, one in enumerate((x, y))
            if one is not None and one.place not in self._found[1 - index].lines
        ]
        if ways:
            # The one that both launches came to first.
            way = min(ways, key=self._order)
            if way.guard is None:
                return self._plain("call", name, x, y, way.call)
            return self._branch(name, x, y, way, depth)
        # Both ran these lines: what they wrote there came later by another way.
        return self._plain("call", name, x, y, Call(step.file, step.function, step.line))

    def _order(self, way: _Way) -> int:
        line = way.call.line if way.guard is None else way.guard.line
        return self._found[way.index].lines.get((way.call.file, line), 0)

    def _apart(self, step: Step, index: int) -> _Way:
        """`step` was taken by launch `index` (0: left) and its line is not run by the other."""
        other = self._found[1 - index]
        run = footprint(self._predictor, self._launches[index], stacks={step.place})
        calls = run.stacks.get(step.place, ()) if run is not None else ()
        before: Call | None = None
        for call in calls or (Call(step.file, step.function, step.line),):
            if (call.file, call.line) in other.lines:
                before = call
                continue
            if (call.file, call.function) not in other.functions and before is not None:
                break
            guard = self._guard(call, other)
            if guard is not None:
                return _Way(index, call, guard)
            break
        return _Way(index, before or Call(step.file, step.function, step.line), None)

    def _guard(self, call: Call, other: Footprint) -> Guard | None:
        """The innermost condition around a line that the other launch looked at."""
        from sgcheck.syntax.rules import guards_at

        found = None
        for guard in guards_at(self._rules(call.file, call.function), call.line):
            lines = range(guard.span.line, guard.span.end_line + 1)
            if any((call.file, line) in other.lines for line in lines):
                found = guard
        return found

    def _branch(self, name: str, x: Step | None, y: Step | None, way: _Way, depth: int) -> Part:
        call, guard = way.call, way.guard
        assert guard is not None
        reads = self._behind(call, guard.reads)
        looked, asks, parts = self._look((call.file, guard.line), reads, depth)
        # The left launch satisfies the text if it is the one that got there and no negation is.
        holds = (way.index == 0) is guard.polarity
        return Part(
            name,
            "branch",
            _side(x),
            _side(y),
            guard.text,
            holds,
            call.file,
            guard.line,
            call.function,
            looked,
            asks,
            parts,
            self._predictor.tree.permalink(call.file, guard.line),
        )

    def _plain(
        self, kind: PartKind, name: str, x: Step | None, y: Step | None, where: Call
    ) -> Part:
        url = self._predictor.tree.permalink(where.file, where.line)
        place = (where.file, where.line, where.function)
        return Part(name, kind, _side(x), _side(y), "", None, *place, url=url)

    def _look(
        self, place: Place, reads: Sequence[Read], depth: int
    ) -> tuple[tuple[Looked, ...], tuple[str, ...], tuple[Part, ...]]:
        """The fields read at a line whose values differ there, and where those parted."""
        known = self._found[0].first_values
        fields = list(dict.fromkeys(r.name for r in reads if r.kind == "field" and r.name in known))
        asks = dict.fromkeys(r.name for r in reads if r.kind in ("probe", "env", "model"))
        seen: list[dict[str, JsonValue]] = []
        for launch in self._launches:
            run = footprint(self._predictor, launch, values={place: fields}) if fields else None
            seen.append(run.values.get(place, {}) if run is not None else {})
        looked = tuple(
            Looked(n, seen[0][n], seen[1][n])
            for n in fields
            if n in seen[0] and n in seen[1] and not same_value(seen[0][n], seen[1][n])
        )
        parts = [self.part(each.field, depth + 1) for each in looked]
        return looked, tuple(asks), tuple(part for part in parts if part is not None)

    def _behind(self, call: Call, reads: Sequence[Read]) -> list[Read]:
        return behind_locals(self._rules(call.file, call.function), call.function, reads)

    def _rules(self, file: str, function: str) -> ModuleRules:
        from sgcheck.syntax.rules import read_rules

        key = (file, function)
        if key not in self._modules:
            source = self._predictor.tree.read(file)
            self._modules[key] = read_rules(source, file, functions={function})
        return self._modules[key]


def _side(step: Step | None) -> Side:
    return Side() if step is None else Side(step.value, step.file, step.line, step.function)
