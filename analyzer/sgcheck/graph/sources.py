"""What an expression of the resolution depends on: fields, probes, environment, model facts.

A local variable stands for what its assignments read, a parameter for what its callers hand over,
a helper function for what its `return` depends on. The names on the way are kept in `via`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sgcheck.graph.code import Place
from sgcheck.graph.reach import CallSite, Reach, Reached
from sgcheck.syntax.rules import Guard, Read, Rule

SourceKind: TypeAlias = Literal["field", "probe", "env", "model"]

_NO_CUT = 1 << 60
_MAX_VIA = 4
_MODEL_CALL = re.compile(r"(^|[._])(model|hf|text)(_\w+)?_config(_of)?$")


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Something that the resolution reads. `via` are the locals and helpers on the way."""

    kind: SourceKind
    name: str
    via: tuple[str, ...] = ()


class Sources:
    """Answers for one reach."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.code = reach.code
        self.record = reach.record
        self._callers: dict[Place, list[CallSite]] = {}
        for place in reach.functions:
            for site in reach.sites(place):
                self._callers.setdefault(site.callee, []).append(site)
        self._locals: dict[Place, dict[str, list[Rule]]] = {}
        self._known: dict[tuple[Place, str, bool], frozenset[Source]] = {}
        self._open: dict[tuple[Place, str, bool], int] = {}
        self._cut = _NO_CUT

    def of_rule(self, rule: Rule, place: Place) -> frozenset[Source]:
        """What the value of a rule depends on, its conditional parts included."""
        found = set(self._of_reads(rule.reads, rule.value or "", place))
        for case in rule.cases:
            found |= self._of_reads(case.reads, case.value, place)
            for guard in case.guards:
                found |= self.of_guard(guard, place)
        return shortest(found)

    def of_guard(self, guard: Guard, place: Place) -> frozenset[Source]:
        """What a guard depends on."""
        return shortest(self._of_reads(guard.reads, guard.text, place))

    # -- following -----------------------------------------------------------------

    def _of_reads(
        self,
        reads: Iterable[Read],
        text: str,
        place: Place,
        bare: bool = False,
    ) -> set[Source]:
        """`bare` leaves out what callers hand over."""
        found: set[Source] = set()
        reached = self.reach.functions.get(place)
        reads = list(reads)
        has_fact = any(read.kind == "model" for read in reads)
        for read in reads:
            match read.kind:
                case "field":
                    found |= self._of_field(read.name, text, reached)
                case "probe" | "model":
                    found.add(Source(read.kind, read.name))
                case "env":
                    if not self._is_table(place, read.name):
                        found.add(Source("env", read.name))
                case "call" if _MODEL_CALL.search(read.name):
                    # The facts that are read of it say more than all that goes into it.
                    if not has_fact:
                        found.add(Source("model", "model_config"))
                case "call":
                    found |= self._of_call(read.name, place, bare)
                case "name":
                    found |= self._of_name(read.name, place, bare)
        return found

    def _of_field(self, name: str, text: str, reached: Reached | None) -> set[Source]:
        if reached is None or name not in self.reach.record_attributes(text, reached):
            return set()
        if name in self.record.fields:
            return {Source("field", name)}
        method = self.record.properties.get(name)
        return self._through(name, self._of_return(method)) if method else set()

    def _is_table(self, place: Place, name: str) -> bool:
        """`TABLE.get(x)` looks like a variable of the environment, but is one of a module."""
        path, function = place
        module = self.code.loaded.get(path)
        if module is None:
            return False
        if name in module.variables:
            return True
        found = self.code.lookup(path, function, name)
        if found is not None and found.kind == "variable":
            return True
        return any(
            name in self.code.loaded[other].variables
            for origin in module.imports.values()
            if (other := self.code.path_of(origin)) is not None and other in self.code.loaded
        )

    def _of_name(self, name: str, place: Place, bare: bool = False) -> set[Source]:
        name = name.partition(".")[0]
        reached = self.reach.functions.get(place)
        if reached is None or name in reached.record:
            return set()
        found = self._once((place, name, bare), lambda: self._assigned(name, place, reached, bare))
        return self._through(name, found)

    def _assigned(self, name: str, place: Place, reached: Reached, bare: bool) -> set[Source]:
        found: set[Source] = set()
        for rule in self._assignments(place).get(name, ()):
            found |= self._of_reads(rule.reads, rule.value or "", place, bare)
            for guard in rule.guards:
                found |= self._of_reads(guard.reads, guard.text, place, bare)
        if not bare and any(parameter.lstrip("*") == name for parameter in reached.info.parameters):
            found |= self._of_parameter(name, place)
        return found

    def _once(
        self, key: tuple[Place, str, bool], compute: Callable[[], set[Source]]
    ) -> frozenset[Source]:
        """Compute once. What is asked for while it is computed (recursion) adds nothing then.

        An answer that was cut short by a recursion further out is not kept.
        """
        known = self._known.get(key)
        if known is not None:
            return known
        if key in self._open:
            self._cut = min(self._cut, self._open[key])
            return frozenset()
        level = self._open[key] = len(self._open)
        outer, self._cut = self._cut, level
        found = shortest(compute())
        del self._open[key]
        if self._cut >= level:
            self._known[key] = found
        self._cut = min(outer, self._cut)
        return found

    def _of_parameter(self, name: str, place: Place) -> set[Source]:
        found: set[Source] = set()
        for site in self._callers.get(place, ()):
            value = dict(site.arguments).get(name)
            if value is None or site.rule is None:
                continue
            text = ast.unparse(value)
            reads = [read for read in site.rule.reads if mentions(read.name, text)]
            found |= self._of_reads(reads, text, site.caller)
        return found

    def _of_call(self, name: str, place: Place, bare: bool) -> set[Source]:
        target = self.code.lookup(*place, name)
        if target is None or target.kind != "function":
            head = name.partition(".")[0]
            return self._of_name(head, place, bare) if "." in name else set()
        return self._through(name.rpartition(".")[2], self._of_return(target.place))

    def _of_return(self, place: Place) -> frozenset[Source]:
        """What the value of a function depends on, its parameters apart."""
        return self._once((place, "return", True), lambda: self._returned(place))

    def _returned(self, place: Place) -> set[Source]:
        found: set[Source] = set()
        for rule in self.code.rules_in(place):
            if rule.kind == "return":
                found |= self._of_reads(rule.reads, rule.value or "", place, bare=True)
                for guard in rule.guards:
                    found |= self._of_reads(guard.reads, guard.text, place, bare=True)
        return found

    def _assignments(self, place: Place) -> dict[str, list[Rule]]:
        if place not in self._locals:
            table: dict[str, list[Rule]] = {}
            for rule in self.code.rules_in(place):
                if rule.kind == "local" and rule.target:
                    table.setdefault(rule.target, []).append(rule)
                elif (
                    rule.kind == "declare" and rule.form == "item" and rule.receiver.isidentifier()
                ):
                    table.setdefault(rule.receiver, []).append(rule)
            self._locals[place] = table
        return self._locals[place]

    def _through(self, name: str, sources: Iterable[Source]) -> set[Source]:
        return {Source(s.kind, s.name, (name, *s.via)[:_MAX_VIA]) for s in sources}


def shortest(sources: Iterable[Source]) -> frozenset[Source]:
    """Each source once, with the shortest way to it."""
    best: dict[tuple[str, str], Source] = {}
    for source in sorted(sources, key=lambda s: (s.kind, s.name, len(s.via), s.via)):
        best.setdefault((source.kind, source.name), source)
    return frozenset(best.values())


def mentions(name: str, text: str) -> bool:
    """Whether a word of a read stands in a text."""
    last = name.rpartition(".")[2].removesuffix("()")
    return re.search(rf"(?<!\w){re.escape(last)}(?!\w)", text) is not None
