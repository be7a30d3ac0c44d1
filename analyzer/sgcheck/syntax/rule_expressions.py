"""One walk over an expression: what it reads, and the events in it, each with its own guards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import libcst as cst

from sgcheck.syntax.rule_model import Compare, Guard, GuardKind, Read, ValueCase
from sgcheck.syntax.rule_reads import Reader, compares_of, dotted, parts_of, string_of
from sgcheck.syntax.rule_spans import Offsets, Spans
from sgcheck.syntax.rule_text import SourceText

Guards = tuple[Guard, ...]
_LEAVES = frozenset({type(None), str, bool, cst.MaybeSentinel})
_NO_CODE = frozenset(
    {"lpar", "rpar", "comma", "equal", "dot", "lbracket", "rbracket", "lbrace"}
) | {
    "rbrace",
    "colon",
    "semicolon",
    "metadata",
    "asynchronous",
    "keyword",
    "operator",
}


@dataclass(slots=True)
class Event:
    """Something that an expression does: a call, a dict entry, a store (walrus or loop target).

    `context` names the dict or call in which a dict entry stands; `parts` are the arguments of
    a call with what each reads.
    """

    node: cst.Call | cst.DictElement | cst.NamedExpr | cst.CompFor
    guards: Guards
    context: str
    reads: tuple[Read, ...]
    parts: tuple[tuple[cst.Arg, tuple[Read, ...]], ...] = ()
    cases: tuple[ValueCase, ...] = ()


@cache
def _child_fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(
        f.name
        for f in fields(kind)
        if f.name not in _NO_CODE and not f.name.startswith(("whitespace", "leading", "trailing"))
    )


class Expressions:
    """Scans the expressions of one slice; `events` fills up until the owner takes them."""

    def __init__(self, source: SourceText, reader: Reader) -> None:
        self.source = source
        self.reader = reader
        self.spans: Spans = {}
        self.events: list[Event] = []
        self.context = ""
        self._compares: list[Compare] = []

    def reset(self) -> None:
        """Forgets a scan that was broken off."""
        self.events, self.context, self._compares = [], "", []

    def offsets(self, node: cst.CSTNode) -> Offsets:
        """Where a node stands; tuples and generators with their brackets, as they are written."""
        start, end = self.spans[id(node)]
        if isinstance(node, cst.Tuple | cst.GeneratorExp) and node.lpar:
            start, end = self.spans[id(node.lpar[0])][0], self.spans[id(node.rpar[-1])][1]
        return start, end

    def text(self, node: cst.CSTNode) -> str:
        return self.source.one_line(*self.offsets(node))

    def line(self, node: cst.CSTNode) -> int:
        return self.source.position(self.spans[id(node)][0])[0]

    def guard(
        self, node: cst.BaseExpression, polarity: bool, kind: GuardKind, guards: Guards
    ) -> Guard:
        """The guard that a condition makes; its calls become events under `guards`."""
        self._compares = []
        reads = self.scan(node, guards)
        compares, self._compares = tuple(self._compares), []
        span = self.source.span(*self.offsets(node))
        return Guard(self.text(node), polarity, kind, span, reads, compares)

    def scan(
        self, node: cst.CSTNode | None, guards: Guards, context: str | None = None
    ) -> tuple[Read, ...]:
        """What `node` reads, in order and without repeats."""
        outer = self.context
        if context is not None:
            self.context = context
        reads: list[Read] = []
        if node is not None:
            self._visit(node, guards, reads)
        self.context = outer
        return tuple(dict.fromkeys(reads))

    def cases(self, node: cst.CSTNode | None, guards: Guards = ()) -> tuple[ValueCase, ...]:
        """The values of a ternary, each with the conditions that choose it (no events)."""
        if not isinstance(node, cst.IfExp):
            return ()
        kept, self.events = self.events, []
        yes = self.guard(node.test, True, "ternary", ())
        no = Guard(yes.text, False, "ternary", yes.span, yes.reads, yes.compares)
        found: list[ValueCase] = []
        for value, guard in ((node.body, yes), (node.orelse, no)):
            chosen = (*guards, guard)
            if isinstance(value, cst.IfExp):
                found += self.cases(value, chosen)
            else:
                span = self.source.span(*self.offsets(value))
                found.append(ValueCase(self.text(value), chosen, span, self.scan(value, ())))
        self.events = kept
        return tuple(found)

    def _visit(self, node: cst.CSTNode, guards: Guards, reads: list[Read]) -> None:
        # By exact type: libcst's node classes are abstract base classes, slow in isinstance.
        special = _VISITS.get(type(node))
        if special is not None:
            special(self, node, guards, reads)
        else:
            self._inside(node, guards, reads)

    def _inside(self, node: cst.CSTNode, guards: Guards, reads: list[Read]) -> None:
        for name in _child_fields(type(node)):
            child = getattr(node, name)
            if type(child) in _LEAVES:
                continue
            if type(child) in (list, tuple):
                for item in child:
                    self._visit(item, guards, reads)
            else:
                self._visit(child, guards, reads)

    def _name(self, node: cst.Name, guards: Guards, reads: list[Read]) -> None:
        self._add(self.reader.name(node, self.line(node)), reads)

    def _attribute(self, node: cst.Attribute, guards: Guards, reads: list[Read]) -> None:
        self._add(self.reader.attribute(node, self.line(node)), reads)
        _, root = parts_of(node)
        if not isinstance(root, cst.Name):
            self._visit(root, guards, reads)

    def _boolean(self, node: cst.BooleanOperation, guards: Guards, reads: list[Read]) -> None:
        self._visit(node.left, guards, reads)
        first = len(self.events)
        self._visit(node.right, guards, reads)
        self._under(first, guards, node.left, isinstance(node.operator, cst.And), "boolean")

    def _ternary(self, node: cst.IfExp, guards: Guards, reads: list[Read]) -> None:
        self._visit(node.test, guards, reads)
        for branch, polarity in ((node.body, True), (node.orelse, False)):
            first = len(self.events)
            self._visit(branch, guards, reads)
            self._under(first, guards, node.test, polarity, "ternary")

    def _walrus(self, node: cst.NamedExpr, guards: Guards, reads: list[Read]) -> None:
        inner: list[Read] = []
        self._visit(node.value, guards, inner)
        self.events.append(Event(node, guards, self.context, tuple(dict.fromkeys(inner))))
        reads += inner

    def _comparison(self, node: cst.Comparison, guards: Guards, reads: list[Read]) -> None:
        self._compares += compares_of(node, self.line(node))
        self._inside(node, guards, reads)

    def _subscript(self, node: cst.Subscript, guards: Guards, reads: list[Read]) -> None:
        self._add(self.reader.subscript(node, self.line(node)), reads)
        self._inside(node, guards, reads)

    def _param(self, node: cst.Param, guards: Guards, reads: list[Read]) -> None:
        """A parameter's own name is no read; its default and annotation are."""
        for part in (node.annotation, node.default):
            if part is not None:
                self._visit(part, guards, reads)

    def _call(self, node: cst.Call, guards: Guards, reads: list[Read]) -> None:
        self._add(self.reader.call(node, self.line(node)), reads)
        if isinstance(node.func, cst.Attribute):
            self._receiver(node.func.value, guards, reads)
        elif not isinstance(node.func, cst.Name):
            self._visit(node.func, guards, reads)
        event = Event(node, guards, self.context, ())
        self.events.append(event)
        outer, self.context = self.context, dotted(node.func) or "call"
        parts = []
        for arg in node.args:
            inner: list[Read] = []
            self._visit(arg.value, guards, inner)
            parts.append((arg, tuple(dict.fromkeys(inner))))
            reads += inner
        self.context = outer
        event.parts = tuple(parts)
        event.reads = tuple(dict.fromkeys(read for _, part in parts for read in part))

    def _receiver(self, node: cst.BaseExpression, guards: Guards, reads: list[Read]) -> None:
        """The object of a method call: `self.x.get()` reads `x`, `envs.X.get()` no field."""
        parts, root = parts_of(node)
        if isinstance(root, cst.Name):
            if len(parts) > 1 and isinstance(node, cst.Attribute):
                read = self.reader.attribute(node, self.line(node))
                if read is not None and read.kind in ("field", "model"):
                    reads.append(read)
            return
        self._visit(node, guards, reads)

    def _dict(self, node: cst.Dict, guards: Guards, reads: list[Read]) -> None:
        for element in node.elements:
            inner: list[Read] = []
            if isinstance(element, cst.DictElement):
                key = string_of(element.key)
                self._visit(element.key, guards, reads)
                event = Event(element, guards, self.context, ())
                self.events.append(event)
                outer = self.context
                self.context = f"{outer}[{key!r}]" if key is not None else f"{outer}[]"
                self._visit(element.value, guards, inner)
                self.context = outer
                event.reads = tuple(dict.fromkeys(inner))
            else:
                self._visit(element.value, guards, inner)
            reads += inner

    def _comprehension(
        self,
        node: cst.ListComp | cst.SetComp | cst.GeneratorExp | cst.DictComp,
        guards: Guards,
        reads: list[Read],
    ) -> None:
        clause: cst.CompFor | None = node.for_in
        inside = guards
        while clause is not None:
            self._visit(clause.iter, inside, reads)
            self.events.append(Event(clause, inside, self.context, ()))
            loop = f"for {self.text(clause.target)} in {self.text(clause.iter)}"
            start, end = self.spans[id(clause.target)][0], self.spans[id(clause.iter)][1]
            inside = (*inside, Guard(loop, True, "comprehension", self.source.span(start, end)))
            for condition in clause.ifs:
                self._visit(condition.test, inside, reads)
                inside = (*inside, self._plain_guard(condition.test, True, "comprehension"))
            clause = clause.inner_for_in
        if isinstance(node, cst.DictComp):
            self._visit(node.key, inside, reads)
            self._visit(node.value, inside, reads)
        else:
            self._visit(node.elt, inside, reads)

    def _plain_guard(self, node: cst.BaseExpression, polarity: bool, kind: GuardKind) -> Guard:
        """A guard for a condition whose events are known already."""
        kept, self.events = self.events, []
        outer, found = self._compares, self.guard(node, polarity, kind, ())
        self.events, self._compares = kept, outer
        return found

    def _under(
        self, first: int, guards: Guards, test: cst.BaseExpression, polarity: bool, kind: GuardKind
    ) -> None:
        """Puts the events from `first` on under one more condition, right after `guards`."""
        if len(self.events) == first:
            return
        guard = self._plain_guard(test, polarity, kind)
        for event in self.events[first:]:
            event.guards = (*guards, guard, *event.guards[len(guards) :])

    @staticmethod
    def _add(read: Read | None, reads: list[Read]) -> None:
        if read is not None:
            reads.append(read)


_Visit = Callable[[Expressions, Any, Guards, list[Read]], None]
_VISITS: dict[type[cst.CSTNode], _Visit] = {
    cst.Name: Expressions._name,
    cst.Attribute: Expressions._attribute,
    cst.Call: Expressions._call,
    cst.BooleanOperation: Expressions._boolean,
    cst.IfExp: Expressions._ternary,
    cst.ListComp: Expressions._comprehension,
    cst.SetComp: Expressions._comprehension,
    cst.GeneratorExp: Expressions._comprehension,
    cst.DictComp: Expressions._comprehension,
    cst.Dict: Expressions._dict,
    cst.NamedExpr: Expressions._walrus,
    cst.Comparison: Expressions._comparison,
    cst.Subscript: Expressions._subscript,
    cst.Param: Expressions._param,
}
