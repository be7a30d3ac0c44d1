"""Collects the rules of a slice: scopes, assignment targets, and the making of rules."""

from __future__ import annotations

import libcst as cst

from sgcheck.syntax.rule_calls import Calls
from sgcheck.syntax.rule_expressions import Expressions, Guards
from sgcheck.syntax.rule_model import (
    ClassInfo,
    FunctionInfo,
    Guard,
    GuardKind,
    Read,
    Rule,
    RuleKind,
    Span,
    Statement,
)
from sgcheck.syntax.rule_reads import ENVIRON, Reader, parts_of, string_of, subscript_key
from sgcheck.syntax.rule_text import SourceText

_Value = cst.CSTNode | list[cst.Arg] | None


class Collector:
    """What has been found so far, where the walk stands, and how a finding becomes a rule."""

    def __init__(self, source: SourceText, file: str, imports: dict[str, str]) -> None:
        self.rules: list[Rule] = []
        self.functions: list[FunctionInfo] = []
        self.classes: list[ClassInfo] = []
        self.statements: list[Statement] = []
        self._source = source
        self._file = file
        self._in = Expressions(source, Reader(imports))
        self._calls = Calls(self._in, self._rule)
        self._function = ""
        self._class = ""
        self._scope: tuple[str, ...] = ()
        self._loops: dict[str, tuple[str, ...]] = {}

    def _store(
        self,
        target: cst.CSTNode,
        value: cst.CSTNode | None,
        *,
        form: str,
        guards: Guards,
        reads: tuple[Read, ...],
        whole: cst.CSTNode | None = None,
    ) -> None:
        """Rules for one assignment target; `whole` is its statement when it is the only one."""
        if isinstance(target, cst.Tuple | cst.List):
            values: list[cst.CSTNode | None] = [value] * len(target.elements)
            inner = form if form in ("for", "with") else "unpack"
            if isinstance(value, cst.Tuple | cst.List) and _pairs(target, value):
                values, inner = [e.value for e in value.elements], form
            for element, part in zip(target.elements, values, strict=True):
                own = reads if part is value else self._in.scan(part, guards)
                if part is not value:
                    self._in.events.clear()
                self._store(element.value, part, form=inner, guards=guards, reads=own)
            return
        node = whole or target
        if isinstance(target, cst.Attribute):
            receiver = self._in.text(target.value)
            self._scan(target.value, guards)
            self.rules.append(
                self._rule(
                    "write",
                    node,
                    target.attr.value,
                    form=form,
                    receiver=receiver,
                    value=value,
                    guards=guards,
                    reads=reads,
                )
            )
        elif isinstance(target, cst.Subscript):
            self._item(target, node, value, form=form, guards=guards, reads=reads)
        elif isinstance(target, cst.Name) and form != "delete":
            kind: RuleKind = "default" if self._class and not self._function else "local"
            receiver = self._class if kind == "default" else ""
            self.rules.append(
                self._rule(
                    kind,
                    node,
                    target.value,
                    form=form,
                    receiver=receiver,
                    value=value,
                    guards=guards,
                    reads=reads,
                )
            )

    def _item(
        self,
        target: cst.Subscript,
        node: cst.CSTNode,
        value: cst.CSTNode | None,
        *,
        form: str,
        guards: Guards,
        reads: tuple[Read, ...],
    ) -> None:
        """`container["key"] = value`: an environment write, a field write or a declaration."""
        self._scan(target.value, guards)
        key_node = subscript_key(target)
        for element in target.slice:
            self._scan(element, guards)
        key = string_of(key_node)
        targets: tuple[str | None, ...] = (key,)
        if key is None and isinstance(key_node, cst.Name):
            targets = self._loops.get(key_node.value, (None,))
        container = self._in.text(target.value)
        parts, _ = parts_of(target.value)
        for name in targets:
            kind: RuleKind = "declare"
            shown = "item" if form in ("=", ":") else form
            if container in ENVIRON:
                kind, shown = "env", form
            elif parts[-1:] == ["__dict__"] or container.startswith("vars("):
                kind = "write"
            elif name is None:
                continue
            self.rules.append(
                self._rule(
                    kind,
                    node,
                    name,
                    form=shown,
                    receiver=container,
                    value=value,
                    guards=guards,
                    reads=reads,
                )
            )

    # Expressions and rules.

    def _guard(
        self, node: cst.BaseExpression, polarity: bool, kind: GuardKind, guards: Guards
    ) -> Guard:
        guard = self._in.guard(node, polarity, kind, guards)
        self._take(None)
        return guard

    def _scan(
        self,
        node: cst.CSTNode | None,
        guards: Guards,
        context: str | None = None,
        statement: cst.CSTNode | None = None,
    ) -> tuple[Read, ...]:
        reads = self._in.scan(node, guards, context if context is not None else "")
        self._take(statement)
        return reads

    def _take(self, statement: cst.CSTNode | None) -> None:
        """Makes rules of the events that a scan found."""
        events, self._in.events = self._in.events, []
        for event in events:
            if isinstance(event.node, cst.NamedExpr):
                self._store(
                    event.node.target,
                    event.node.value,
                    form=":=",
                    guards=event.guards,
                    reads=event.reads,
                )
            elif isinstance(event.node, cst.CompFor):
                if isinstance(event.node.target, cst.Attribute):
                    self._store(event.node.target, None, form="for", guards=event.guards, reads=())
            else:
                self.rules += self._calls.rules(event, self._loops, statement)

    def _span(self, node: cst.CSTNode) -> Span:
        return self._source.span(*self._in.offsets(node))

    def _rule(
        self,
        kind: RuleKind,
        node: cst.CSTNode,
        target: str | None,
        *,
        form: str,
        receiver: str,
        value: _Value,
        guards: Guards,
        reads: tuple[Read, ...],
    ) -> Rule:
        text: str | None = ""
        if not isinstance(value, list):
            text = None if value is None else self._in.text(value)
        elif value:
            text = self._source.one_line(
                self._in.spans[id(value[0])][0], self._in.spans[id(value[-1])][1]
            )
        return Rule(
            kind,
            self._file,
            self._function,
            self._class,
            self._span(node),
            target,
            form,
            receiver,
            text,
            guards,
            () if isinstance(value, list) else self._in.cases(value),
            reads,
        )


def _pairs(target: cst.Tuple | cst.List, value: cst.Tuple | cst.List) -> bool:
    plain = (*target.elements, *value.elements)
    return len(target.elements) == len(value.elements) and not any(
        isinstance(e, cst.StarredElement) for e in plain
    )
