"""Turns the events of an expression into rules: calls, logs, environment writes, declarations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import libcst as cst

from sgcheck.syntax.rule_expressions import Event, Expressions
from sgcheck.syntax.rule_model import Rule, RuleKind
from sgcheck.syntax.rule_reads import ENVIRON, argument, dotted, parts_of, string_of

_LEVELS = frozenset(
    {"debug", "info", "warning", "warn", "error", "critical", "exception", "fatal", "log"}
)
_LOGGER = re.compile(r"(^|_)(log|logger|logging|warnings)$", re.IGNORECASE)
_LOG_FUNCTION = re.compile(
    r"^(?:log|print|rank0_log|logger)_?(debug|info|warning|warn|error)?(_|$)"
)
_VARIABLE = re.compile(r"^[A-Z][A-Z0-9_]{2,}$")
_ENV_OBJECT_WRITES = frozenset({"set", "clear", "override", "unset"})
_ENVIRON_WRITES = frozenset({"setdefault", "pop", "update", "clear"})
_OS_WRITES = frozenset({"os.putenv", "os.unsetenv", "putenv", "unsetenv"})
_REPLACERS = frozenset({"replace", "dict", "update"})

# Makes a rule of (kind, node, target, form, receiver, value node, event).
Emit = Callable[..., Rule]


def log_level(parts: list[str]) -> str | None:
    """The level of a log call `parts(...)`, else None."""
    if not parts:
        return None
    last = parts[-1].removesuffix("_once")
    if len(parts) > 1 and last in _LEVELS and _LOGGER.search(parts[-2]):
        return last
    match = _LOG_FUNCTION.match(parts[-1]) if len(parts) == 1 and "_" in parts[-1] else None
    return (match.group(1) or "info") if match else None


class Calls:
    """Rules of the calls and dict entries in one slice."""

    def __init__(self, expressions: Expressions, emit: Emit) -> None:
        self._expressions = expressions
        self._emit = emit

    def rules(
        self, event: Event, loops: dict[str, tuple[str, ...]], statement: cst.CSTNode | None
    ) -> Iterator[Rule]:
        """The rules of one event.

        `loops` gives the literal values of the loop variables around it, `statement` the call
        that is a statement by itself.
        """
        node = event.node
        if isinstance(node, cst.DictElement):
            key = string_of(node.key)
            if key is not None and key.isidentifier():
                yield self._emit(
                    "declare",
                    node,
                    key,
                    form="key",
                    receiver=event.context,
                    value=node.value,
                    guards=event.guards,
                    reads=event.reads,
                )
        elif isinstance(node, cst.Call):
            yield from self._call(node, event, loops, node is statement)

    def _call(
        self, node: cst.Call, event: Event, loops: dict[str, tuple[str, ...]], statement: bool
    ) -> Iterator[Rule]:
        parts, root = parts_of(node.func)
        if not isinstance(root, cst.Name):
            parts = parts[-1:] if parts else []
        chain = dotted(node.func)
        level = log_level(parts)
        if level is not None:
            receiver = chain or parts[-1]
            yield self._make("log", node, level, form=parts[-1], receiver=receiver, event=event)
            return
        writes = list(self._environment(node, parts, event)) or list(
            self._setattr(node, parts, event, loops)
        )
        if writes:
            yield from writes
            return
        callee = chain or (f"….{parts[-1]}" if parts else None)
        yield self._make("call", node, callee, form="call", receiver="", event=event)
        yield from self._keywords(node, parts, callee or "", event, statement)

    def _make(
        self,
        kind: RuleKind,
        node: cst.Call,
        target: str | None,
        *,
        form: str,
        receiver: str,
        event: Event,
        value: cst.BaseExpression | None = None,
    ) -> Rule:
        shown: cst.BaseExpression | list[cst.Arg] | None = (
            list(node.args) if value is None else value
        )
        return self._emit(
            kind,
            node,
            target,
            form=form,
            receiver=receiver,
            value=shown,
            guards=event.guards,
            reads=event.reads,
        )

    def _environment(self, node: cst.Call, parts: list[str], event: Event) -> Iterator[Rule]:
        text = ".".join(parts)
        key = string_of(argument(node, 0))
        owner = ".".join(parts[:-1])
        if owner in ENVIRON and parts[-1] in _ENVIRON_WRITES:
            if parts[-1] == "update":
                yield from self._environ_update(node, event)
            else:
                value = argument(node, 1)
                yield self._make(
                    "env", node, key, form=parts[-1], receiver=owner, event=event, value=value
                )
        elif text in _OS_WRITES:
            yield self._make(
                "env",
                node,
                key,
                form=parts[-1],
                receiver=owner,
                event=event,
                value=argument(node, 1),
            )
        elif len(parts) >= 3 and parts[-1] in _ENV_OBJECT_WRITES and _VARIABLE.match(parts[-2]):
            value = argument(node, 0)
            yield self._make(
                "env", node, parts[-2], form=parts[-1], receiver=owner, event=event, value=value
            )

    def _environ_update(self, node: cst.Call, event: Event) -> Iterator[Rule]:
        """`os.environ.update({"A": x}, B=y)`: one rule a name, one without for the rest."""
        for arg, reads in event.parts:
            if arg.keyword is not None:
                yield self._emit(
                    "env",
                    arg,
                    arg.keyword.value,
                    form="update",
                    receiver="os.environ",
                    value=arg.value,
                    guards=event.guards,
                    reads=reads,
                )
                continue
            elements = (
                arg.value.elements if isinstance(arg.value, cst.Dict) and not arg.star else ()
            )
            named = [(e, string_of(e.key)) for e in elements if isinstance(e, cst.DictElement)]
            for element, key in named:
                yield self._emit(
                    "env",
                    element,
                    key,
                    form="update",
                    receiver="os.environ",
                    value=element.value,
                    guards=event.guards,
                    reads=reads,
                )
            if not named:
                yield self._emit(
                    "env",
                    arg,
                    None,
                    form="update",
                    receiver="os.environ",
                    value=arg.value,
                    guards=event.guards,
                    reads=reads,
                )

    def _setattr(
        self, node: cst.Call, parts: list[str], event: Event, loops: dict[str, tuple[str, ...]]
    ) -> Iterator[Rule]:
        last = parts[-1] if parts else ""
        if last not in ("setattr", "__setattr__", "delattr", "__delattr__", "force_setattr"):
            return
        positional = [a.value for a in node.args if not a.star and a.keyword is None]
        deletes = "del" in last
        bound = len(positional) == (1 if deletes else 2)  # `super().__setattr__("x", 1)`
        wanted = 2 if deletes else 3
        if len(positional) != wanted and not bound:
            return
        receiver = "self" if bound else self._expressions.text(positional[0])
        name = positional[0 if bound else 1]
        value = None if deletes else positional[-1]
        key = string_of(name)
        targets: tuple[str | None, ...] = (key,)
        if key is None and isinstance(name, cst.Name):
            targets = loops.get(name.value, (None,))
        for target in targets:
            yield self._emit(
                "write",
                node,
                target,
                form="delattr" if deletes else "setattr",
                receiver=receiver,
                value=value,
                guards=event.guards,
                reads=event.reads,
            )

    def _keywords(
        self, node: cst.Call, parts: list[str], callee: str, event: Event, statement: bool
    ) -> Iterator[Rule]:
        """Keyword arguments that may name fields: of statements, and of dict-like calls."""
        last = parts[-1] if parts else ""
        if last == "setdefault" and (key := string_of(argument(node, 0))):
            owner = callee.rpartition(".")[0]
            value = argument(node, 1)
            yield self._make(
                "declare", node, key, form="setdefault", receiver=owner, event=event, value=value
            )
        if not statement and last not in _REPLACERS:
            return
        for arg, reads in event.parts:
            if arg.keyword is not None:
                yield self._emit(
                    "declare",
                    arg,
                    arg.keyword.value,
                    form="keyword",
                    receiver=callee,
                    value=arg.value,
                    guards=event.guards,
                    reads=reads,
                )
            elif arg.star == "**":
                yield self._emit(
                    "declare",
                    arg,
                    None,
                    form="spread",
                    receiver=callee,
                    value=arg.value,
                    guards=event.guards,
                    reads=reads,
                )
