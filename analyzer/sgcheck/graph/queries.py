"""Questions to the rule graph. Each answer is plain data, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sgcheck.errors import UsageError, did_you_mean
from sgcheck.graph.build import guard_text, rules_of_graph
from sgcheck.graph.data import Data, RuleGraph
from sgcheck.graph.overwrites import writes_by_field

FLOW = frozenset({"reads", "guards", "writes", "sets", "calls", "holds"})
"""The edges along which influence flows."""

_ALL = "`sgcheck graph --format json` has all of them"
_DEFAULTS = frozenset({"None", '"auto"', "'auto'"})


@dataclass(frozen=True, slots=True)
class Step:
    """A rule in an answer. `conditions` are its guards as the source writes them."""

    node: str
    rule: str
    field: str | None
    value: str | None
    conditions: tuple[str, ...]
    function: str
    file: str
    line: int
    url: str | None


@dataclass(frozen=True, slots=True)
class Setter:
    """What can set a field. `depends` are the fields, probes, … that decide whether and to what."""

    step: Step
    depends: tuple[str, ...]
    overwrites: int


@dataclass(frozen=True, slots=True)
class Influence:
    """A field that something can change, at `distance` rules from it, through `through`."""

    field: str
    distance: int
    through: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class ArchitectureUse:
    """A rule that asks the hardware. `probes` are the questions."""

    step: Step
    probes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrderTrap:
    """`early` compares a field with a value before `late` turns another one into it.

    `condition` is the comparison, at `line` of the file of `early`.

    `missed` are the values that a user may have given (or None, the default) for which `early`
    does not hold yet, although `late` gives the field the value that `early` waits for.
    """

    kind: Literal["alias", "default"]
    field: str
    value: str
    missed: tuple[str, ...]
    condition: str
    line: int
    early: Step
    late: Step


@dataclass(frozen=True, slots=True)
class Forced:
    """A write that can replace what the user's flag says.

    `looks` is true where a condition reads the field itself: it then depends on the value given.
    """

    flags: tuple[str, ...]
    step: Step
    looks: bool


@dataclass(frozen=True, slots=True)
class Cycle:
    """Fields that decide each other: each step reads the field before it and writes the next."""

    fields: tuple[str, ...]
    steps: tuple[Step, ...]


def node_of(graph: RuleGraph, name: str) -> str:
    """The node that a user means: a field, flag, probe, variable or model fact.

    Raises UsageError with the nearest names for an unknown one.
    """
    if name in graph and graph.nodes[name]["kind"] not in ("rule", "function"):
        return name
    words = [name, name.replace("-", "_").strip("_")]
    for word in words:
        for kind in ("field", "flag", "env", "probe", "model"):
            if f"{kind}:{word}" in graph:
                return f"{kind}:{word}"
    names = sorted(
        data["label"]
        for _, data in graph.nodes(data=True)
        if data["kind"] not in ("rule", "function")
    )
    hint = did_you_mean(words[1], names, did_you_mean(name, names, _ALL)[2:])
    raise UsageError(f"SGLang {graph.graph['version']} has no field, flag or probe {name}{hint}")


def field_of(graph: RuleGraph, name: str) -> str:
    """The field that a user means, by its name or by its flag. Raises UsageError."""
    fields = [data["label"] for _, data in graph.nodes(data=True) if data["kind"] == "field"]
    word = name.lstrip("-").replace("-", "_")
    if name in fields:
        return name
    flag = graph.nodes.get(f"flag:{name}") if name.startswith("-") else None
    if flag is not None and flag["field"]:
        return str(flag["field"])
    if word in fields:
        return word
    hint = did_you_mean(word, fields, _ALL)
    raise UsageError(f"SGLang {graph.graph['version']} has no field {name}{hint}")


def step_of(node: str, data: Data) -> Step:
    """A rule node as a step."""
    return Step(
        node,
        data["rule"],
        data["field"],
        data["value"],
        tuple(guard_text(guard) for guard in data["guards"]),
        data["function"],
        data["file"],
        data["line"],
        data["url"],
    )


def what_sets(graph: RuleGraph, field: str) -> list[Setter]:
    """Every place that can give a field a value, in the order of the resolution."""
    found = []
    for node, data in writes_by_field(graph).get(field, ()):
        depends = {
            source
            for source, _, kind in graph.in_edges(node, keys=True)
            if kind in ("reads", "guards")
        }
        later = sum(1 for *_, kind in graph.out_edges(node, keys=True) if kind == "overwrites")
        found.append(Setter(step_of(node, data), tuple(sorted(depends)), later))
    return found


def influence(graph: RuleGraph, node: str) -> list[Influence]:
    """The fields that a flag, field, probe, variable or model fact can change, the nearest first.

    `through` is one shortest chain of rules.
    """
    before: dict[str, str | None] = {node: None}
    queue = [node]
    for current in queue:
        for _, target, kind in sorted(graph.out_edges(current, keys=True)):
            if kind in FLOW and target not in before:
                before[target] = current
                queue.append(target)
    found = []
    for target in queue[1:]:
        data = graph.nodes[target]
        if data["kind"] == "field":
            chain = _rules_on(graph, before, target)
            found.append(Influence(data["label"], len(chain), chain))
    return sorted(found, key=lambda item: (item.distance, item.field))


def _rules_on(graph: RuleGraph, before: dict[str, str | None], target: str) -> tuple[Step, ...]:
    chain: list[Step] = []
    current: str | None = target
    while current is not None:
        data = graph.nodes[current]
        if data["kind"] == "rule":
            chain.append(step_of(current, data))
        current = before[current]
    return tuple(reversed(chain))


def architecture(graph: RuleGraph, probe: str | None = None) -> list[ArchitectureUse]:
    """The rules that ask the hardware themselves, in order; with `probe`, those that ask that."""
    called = _probes_of_calls(graph)
    found = []
    for node, data in rules_of_graph(graph):
        probes = {
            graph.nodes[source]["label"]
            for source, _, kind in graph.in_edges(node, keys=True)
            if kind in ("reads", "guards") and graph.nodes[source]["kind"] == "probe"
        }
        probes |= called.get((data["file"], data["function"]), frozenset())
        if data["rule"] != "default" and probes and (probe is None or probe in probes):
            found.append(ArchitectureUse(step_of(node, data), tuple(sorted(probes))))
    return found


def _probes_of_calls(graph: RuleGraph) -> dict[tuple[str, str], frozenset[str]]:
    """What is asked before a function is called at all."""
    return {
        (data["file"], data["function"]): frozenset(
            graph.nodes[source]["label"]
            for source, _, kind in graph.in_edges(node, keys=True)
            if kind == "guards" and graph.nodes[source]["kind"] == "probe"
        )
        for node, data in graph.nodes(data=True)
        if data["kind"] == "function"
    }


def order_traps(graph: RuleGraph, fields: Iterable[str] | None = None) -> list[OrderTrap]:
    """Conditions that look at a field before it is normalised.

    A rule normalises a field when it writes a constant under a condition that compares the field
    with other constants (`NEXTN` becomes `EAGLE`), or when the field is unset. A condition that
    waits for that constant, and stands earlier in the resolution, does not see it.
    """
    only = set(fields) if fields is not None else None
    rewrites = [
        (field, value, missed, node, data)
        for field, rules in writes_by_field(graph).items()
        if only is None or field in only
        for node, data in rules
        if data["rule"] != "default" and (value := _constant(data["value"])) is not None
        if (missed := _replaced(data, field))
    ]
    by_field: dict[str, list[tuple[str, tuple[str, ...], str, Data]]] = {}
    for field, value, missed, node, data in rewrites:
        if value not in missed:
            by_field.setdefault(field, []).append((value, missed, node, data))
    found: dict[tuple[str, str, str, int], OrderTrap] = {}
    for node, data in rules_of_graph(graph):
        for field, waited, guard in _waits(data):
            for value, missed, late, late_data in by_field.get(field, ()):
                if data["order"] >= late_data["order"] or value not in waited:
                    continue
                unseen = tuple(v for v in missed if v not in waited)
                if not unseen:
                    continue
                kind: Literal["alias", "default"] = (
                    "default" if set(unseen) <= _DEFAULTS else "alias"
                )
                key = (field, value, data["file"], guard["line"])
                early, later = step_of(node, data), step_of(late, late_data)
                text = guard_text(guard)
                trap = OrderTrap(kind, field, value, unseen, text, guard["line"], early, later)
                found.setdefault(key, trap)
    return sorted(found.values(), key=lambda t: (t.kind, t.field, t.early.file, t.line))


def _constant(value: str | None) -> str | None:
    """The text of a literal other than None."""
    if value is None or value == "None":
        return None
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value.replace("'", '"') if quoted or value.isdigit() else None


def _replaced(data: Data, field: str) -> tuple[str, ...]:
    """The values of a field that its own conditions name where a rule replaces it."""
    values: set[str] = set()
    for guard in data["guards"]:
        for name, op, compared in _compares(guard):
            if name.rpartition(".")[2] == field and op in ("==", "in", "is"):
                values.update(compared)
    return tuple(sorted(values))


def _waits(data: Data) -> list[tuple[str, frozenset[str], Data]]:
    """(field, values, guard) for each condition of a rule that waits for constants."""
    found = []
    for guard in data["guards"]:
        for name, op, values in _compares(guard):
            if "." in name and op in ("==", "in"):
                found.append((name.rpartition(".")[2], frozenset(values), guard))
    return found


def _compares(guard: Data) -> list[tuple[str, str, tuple[str, ...]]]:
    """The comparisons of a guard that holds, constants with double quotes."""
    if not guard["holds"]:
        return []
    return [
        (c["name"], c["op"], tuple(value.replace("'", '"') for value in c["values"]))
        for c in guard.get("compares", ())
    ]


def overwritten_flags(graph: RuleGraph, fields: Iterable[str] | None = None) -> list[Forced]:
    """Writes that can replace what a user's flag says.

    Left out are writes under a condition that the field is unset (None, its default), and writes
    whose value is made from the field itself.
    """
    only = set(fields) if fields is not None else None
    flags: dict[str, list[str]] = {}
    defaults: dict[str, str | None] = {}
    for _, data in graph.nodes(data=True):
        if data["kind"] == "flag" and data["field"]:
            flags.setdefault(data["field"], []).append(data["label"])
        elif data["kind"] == "field":
            defaults[data["label"]] = data["default"]
    found = []
    for node, data in rules_of_graph(graph):
        field = data["field"]
        if field is None or field not in flags or data["rule"] == "default":
            continue
        if only is not None and field not in only:
            continue
        if data["form"] == "part" or _only_if_unset(data, field, defaults.get(field)):
            continue
        kinds = {kind for s, _, kind in graph.in_edges(node, keys=True) if s == f"field:{field}"}
        if "reads" in kinds:
            continue
        step = step_of(node, data)
        found.append(Forced(tuple(sorted(flags[field])), step, "guards" in kinds))
    return sorted(found, key=lambda item: item.looks)


def _only_if_unset(data: Data, field: str, default: str | None) -> bool:
    unset = _DEFAULTS | {default.replace("'", '"') if default is not None else "None"}
    for guard in data["guards"]:
        for compare in guard.get("compares", ()):
            if compare["name"].rpartition(".")[2] != field:
                continue
            values = {value.replace("'", '"') for value in compare["values"]}
            wanted = ("==", "is", "in") if guard["holds"] else ("!=", "is not", "not in")
            if compare["op"] in wanted and values <= unset:
                return True
        text = guard["text"].strip()
        if guard["holds"] and text.startswith("not ") and text.endswith(f".{field}"):
            return True
        if not guard["holds"] and text.endswith(f".{field}") and " " not in text:
            return True
    return False


def cycles(graph: RuleGraph, longest: int = 3) -> list[Cycle]:
    """Fields that decide each other, in cycles of 2 to `longest` fields, the shortest first."""
    import networkx as nx

    between: nx.DiGraph[str] = nx.DiGraph()
    best: dict[tuple[str, str], tuple[str, Data]] = {}
    for node, data in rules_of_graph(graph):
        target = data["field"]
        if target is None or data["rule"] == "default":
            continue
        for source, _, kind in sorted(graph.in_edges(node, keys=True)):
            name = graph.nodes[source]["label"]
            is_field = graph.nodes[source]["kind"] == "field"
            if not is_field or kind not in ("reads", "guards") or name == target:
                continue
            best.setdefault((name, target), (node, data))
            between.add_edge(name, target)
    found = []
    for loop in nx.simple_cycles(between, length_bound=longest):
        start = loop.index(min(loop))
        names: Sequence[str] = loop[start:] + loop[:start]
        pairs = zip(names, [*names[1:], names[0]], strict=True)
        found.append(Cycle(tuple(names), tuple(step_of(*best[pair]) for pair in pairs)))
    return sorted(found, key=lambda cycle: (len(cycle.fields), cycle.fields))
