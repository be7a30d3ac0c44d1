"""Build the rule graph of a tree: the whole resolution, not only what one launch reaches.

Edges point the way influence flows. Node ids are `kind:name`; rules and functions are named by
file and place. See `docs/graph.md` for the attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sgcheck.graph.code import Code, Place
from sgcheck.graph.data import RuleGraph
from sgcheck.graph.order import Order, order_of
from sgcheck.graph.reach import Reach
from sgcheck.graph.record import literal, parse_call, read_flags, read_record
from sgcheck.graph.sources import Source, Sources
from sgcheck.graph.writes import Write, Writes
from sgcheck.source.tree import Tree, link
from sgcheck.syntax.rules import Guard, Rule

SCHEMA = "sgcheck.graph/1"
NODE_KINDS = ("field", "flag", "probe", "env", "model", "rule", "function")
EDGE_KINDS = ("reads", "guards", "writes", "sets", "overwrites", "calls", "holds")
RULE_KINDS = ("default", "write", "declare", "raise", "log", "env")


def build_graph(tree: Tree, *, jobs: int | None = None, cache: Path | bool = True) -> RuleGraph:
    """The graph of everything that the resolution of `tree` can do.

    `jobs` and `cache` are those of `sgcheck.syntax.rules.rules_of`. Raises NothingToAnalyse for a
    tree without a `ServerArgs`.
    """
    code = Code(tree, jobs=jobs, cache=cache)
    record = read_record(code)
    reach = Reach(code, record).run()
    return _Builder(tree, reach).graph()


class _Builder:
    def __init__(self, tree: Tree, reach: Reach) -> None:
        import networkx as nx

        self.tree = tree
        self.reach = reach
        self.code = reach.code
        self.sources = Sources(reach)
        self.order: Order = order_of(reach)
        self.links: dict[str, bool] = {}
        self.result: RuleGraph = nx.MultiDiGraph(
            schema=SCHEMA, version=tree.version, origin=tree.origin, tree=tree.digest, ref=tree.ref
        )
        self.dynamic: list[str] = []

    def graph(self) -> RuleGraph:
        self._fields()
        for place in self.order.places:
            self._function(place)
        self._constants()
        self._flags()
        self._overwrites()
        problems = [text for module in self.code.loaded.values() for text in module.problems]
        self.result.graph["problems"] = sorted(problems)
        self.result.graph["dynamic"] = sorted(self.dynamic)
        return self.result

    # -- nodes ---------------------------------------------------------------------

    def _fields(self) -> None:
        for name, rule in self.reach.record.fields.items():
            self.result.add_node(
                f"field:{name}",
                kind="field",
                label=name,
                default=rule.value,
                file=rule.file,
                line=rule.line,
                url=self._url(rule.file, rule.line),
            )
            self._rule(Write(rule, name, "attribute"), (rule.file, ""), position=-1)

    def _function(self, place: Place) -> None:
        reached = self.reach.functions[place]
        info = reached.info
        self.result.add_node(
            function_id(place),
            kind="function",
            label=info.qualname.rpartition(".")[2],
            function=info.qualname,
            file=place[0],
            line=info.span.line,
            end_line=info.span.end_line,
            url=self._url(place[0], info.span.line),
            order=self.order.entered[place],
            record_names=sorted(reached.record),
            registered_for=registered_for(info.decorators),
        )
        writes: dict[int, list[Write]] = {}
        for write in Writes(self.reach).of(reached):
            writes.setdefault(id(write.rule), []).append(write)
        for rule in self.code.rules_in(place):
            for write in writes.get(id(rule), ()):
                self._rule(write, place)
            if rule.kind in ("raise", "log", "env"):
                self._rule(Write(rule, None, "attribute"), place)
        for site in self.reach.sites(place):
            if site.callee in self.order.entered:
                self._call(place, site.callee, site.rule, site.kind)

    def _rule(self, write: Write, place: Place, position: int | None = None) -> None:
        rule = write.rule
        node = rule_id(rule, write.field)
        kind = rule.kind if rule.kind in RULE_KINDS else _kind_of(write)
        if kind in ("write", "declare") and write.field is None:
            self.dynamic.append(f"{rule.file}:{rule.line}")
        guards = [guard_data(guard) for guard in rule.guards]
        self.result.add_node(
            node,
            kind="rule",
            rule=kind,
            label=_label(rule, write.field, kind),
            field=write.field,
            target=rule.target,
            form=write.form if kind in ("write", "declare", "default") else None,
            value=rule.value,
            cases=[
                {"value": case.value, "guards": [str(g) for g in case.guards]}
                for case in rule.cases
            ],
            guards=guards,
            function=rule.function,
            file=rule.file,
            line=rule.line,
            end_line=rule.span.end_line,
            column=rule.column,
            statement_line=self.code.module(rule.file).statement_of(rule),
            url=self._url(rule.file, rule.line),
            order=position if position is not None else self.order.of(rule, place),
        )
        if place[1]:
            self.result.add_edge(function_id(place), node, key="holds", kind="holds")
        if write.field is not None:
            self._edge(node, f"field:{write.field}", "writes")
        if kind == "env" and rule.target:
            variable = Source("env", rule.target)
            self._edge(node, self._source(variable), "writes")
        for source in sorted(self.sources.of_rule(rule, place)):
            self._edge(self._source(source), node, "reads", source.via)
        for guard in rule.guards:
            for source in sorted(self.sources.of_guard(guard, place)):
                self._edge(self._source(source), node, "guards", source.via, guard)

    def _source(self, source: Source) -> str:
        node = f"{source.kind}:{source.name}"
        if node not in self.result:
            self.result.add_node(node, kind=source.kind, label=source.name)
        return node

    def _constants(self) -> None:
        from sgcheck.graph.registration import variables_of

        used = {
            variable
            for place, reached in self.reach.functions.items()
            if reached.record
            for variable in variables_of(self.code, place)
        }
        for write in Writes(self.reach).constants(used):
            users = [
                self.order.entered[place]
                for place, reached in self.reach.functions.items()
                if reached.record
                and (write.rule.file, write.rule.receiver.partition("[")[0])
                in variables_of(self.code, place)
                and place in self.order.entered
            ]
            self._rule(write, (write.rule.file, ""), position=min(users, default=-1))

    def _flags(self) -> None:
        rules = [
            rule
            for place in self.order.places
            if place[0] == self.reach.record.file
            for rule in self.code.rules_in(place)
        ]
        for flag in read_flags(self.code, self.reach.record, rules):
            node = f"flag:{flag.name}"
            self.result.add_node(
                node,
                kind="flag",
                label=flag.name,
                field=flag.field,
                file=flag.file,
                line=flag.line,
                url=self._url(flag.file, flag.line),
            )
            if flag.field is not None:
                self._edge(node, f"field:{flag.field}", "sets")

    # -- edges ---------------------------------------------------------------------

    def _edge(
        self,
        source: str,
        target: str,
        kind: str,
        via: Iterable[str] = (),
        guard: Guard | None = None,
    ) -> None:
        """One edge of a kind between two nodes; the first guard that causes it is kept."""
        if self.result.has_edge(source, target, key=kind):
            return
        data: dict[str, Any] = {"kind": kind}
        if via:
            data["via"] = list(via)
        if guard is not None:
            data["condition"], data["line"] = str(guard), guard.line
        self.result.add_edge(source, target, key=kind, **data)

    def _call(self, caller: Place, callee: Place, rule: Rule | None, how: str) -> None:
        target = function_id(callee)
        if self.result.has_edge(function_id(caller), target, key="calls"):
            return
        guards = rule.guards if rule is not None else ()
        self.result.add_edge(
            function_id(caller),
            target,
            key="calls",
            kind="calls",
            how=how,
            line=rule.line if rule is not None else None,
            guards=[guard_data(guard) for guard in guards],
        )
        for guard in guards:
            for source in sorted(self.sources.of_guard(guard, caller)):
                self._edge(self._source(source), target, "guards", source.via, guard)

    def _overwrites(self) -> None:
        from sgcheck.graph.overwrites import overwrite_edges

        for later, earlier in overwrite_edges(self.result):
            self._edge(later, earlier, "overwrites")

    def _url(self, file: str, line: int) -> str | None:
        if file not in self.links:
            self.links[file] = self.tree.permalink(file, line) is not None
        ref = self.tree.ref
        return link(ref, file, line) if ref is not None and self.links[file] else None


def function_id(place: Place) -> str:
    """The id of a function's node."""
    return f"function:{place[0]}:{place[1]}"


def rule_id(rule: Rule, field: str | None) -> str:
    """The id of a rule's node: its place, and the field where one place writes several."""
    what = field or rule.target or ""
    return f"rule:{rule.file}:{rule.line}:{rule.column}:{rule.kind}:{what}"


def registered_for(decorators: Iterable[str]) -> list[str]:
    """The words that registering decorators name, such as architectures."""
    found: list[str] = []
    for text in decorators:
        call = parse_call(text.partition("(")[2].removesuffix(")"))
        words = [literal(value) for value in call.args] if call is not None else []
        found += [word for word in words if isinstance(word, str)]
    return found


def guard_data(guard: Guard) -> dict[str, Any]:
    """A guard as plain data."""
    data: dict[str, Any] = {"text": guard.text, "holds": guard.polarity, "line": guard.line}
    if guard.compares:
        data["compares"] = [
            {"name": c.name, "op": c.op, "values": list(c.values)} for c in guard.compares
        ]
    return data


def guard_text(guard: dict[str, Any]) -> str:
    """A guard as one reads it."""
    return str(guard["text"]) if guard["holds"] else f"not ({guard['text']})"


def rules_of_graph(graph: RuleGraph) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rule nodes in order."""
    rules = [(node, data) for node, data in graph.nodes(data=True) if data["kind"] == "rule"]
    yield from sorted(rules, key=lambda item: (item[1]["order"], item[0]))


def _kind_of(write: Write) -> str:
    return "declare" if write.form in ("declaration", "table") else "write"


def _label(rule: Rule, field: str | None, kind: str) -> str:
    place = f"{rule.file.rpartition('/')[2]}:{rule.line}"
    if field is not None:
        return f"{field} = {_short(rule.value)}" if rule.kind != "call" else f"{rule.target}(…)"
    if kind in ("raise", "log"):
        return f"{kind} {rule.target or ''} {place}".replace("  ", " ")
    return f"{rule.target or 'a field'} = {_short(rule.value)}"


def _short(text: str | None, limit: int = 40) -> str:
    if text is None:
        return "…"
    return text if len(text) <= limit else text[: limit - 1] + "…"
