"""Which rules of a function give a field of the record a value.

Forms: an attribute of the record is set; a part of a field is set or changed in place
(`record.field.part = …`, `record.field.append(…)`); a call that takes `**fields` names it beside
the record; a table whose keys name fields is built where the record is known, or is a constant
that such a function looks into. Tables are taken to be applied: that is the one over-estimate.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sgcheck.graph.code import Place
from sgcheck.graph.reach import Reach, Reached, expression
from sgcheck.graph.record import parse_call
from sgcheck.syntax.rules import Rule

WriteForm: TypeAlias = Literal["attribute", "part", "declaration", "table"]

_CHANGING = frozenset(
    [
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "clear",
        "add",
        "discard",
        "update",
        "setdefault",
        "sort",
        "reverse",
    ]
)
_TABLE_CALLS = ("dict", "update")


@dataclass(frozen=True, slots=True)
class Write:
    """`rule` gives `field` a value; `field` is None where the name is known only at run time."""

    rule: Rule
    field: str | None
    form: WriteForm


class Writes:
    """Finds the writes of a reach."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.code = reach.code
        self.fields = reach.record.fields

    def of(self, reached: Reached) -> Iterator[Write]:
        """The writes of one function, in evaluation order."""
        calls = [r for r in self.code.rules_in(reached.place) if r.kind == "call"]
        for rule in self.code.rules_in(reached.place):
            match rule.kind:
                case "write":
                    yield from self._attribute(rule, reached)
                case "call":
                    yield from self._changed(rule, reached)
                    if (rule.target or "").endswith(".update"):
                        yield from self._computed_keys(rule, reached)
                case "declare":
                    yield from self._declared(rule, reached, calls)
                    yield from self._computed_keys(rule, reached)
                case "local" | "return":
                    yield from self._computed_keys(rule, reached)

    def constants(self, variables: set[Place]) -> Iterator[Write]:
        """Keys in module-level tables that functions of the resolution look into."""
        for path, name in sorted(variables):
            for rule in self.code.module(path).rules.get("", ()):
                if rule.kind == "declare" and rule.target in self.fields:
                    owner = rule.receiver.partition("[")[0].partition(".")[0]
                    if owner == name:
                        yield Write(rule, rule.target, "table")

    def _attribute(self, rule: Rule, reached: Reached) -> Iterator[Write]:
        head, _, rest = rule.receiver.partition(".")
        if head not in reached.record:
            return
        part = rest.partition(".")[0].partition("[")[0]
        if rest:
            if part in self.fields:
                yield Write(rule, part, "part")
        elif rule.target is None:
            yield Write(rule, None, "attribute")
        elif rule.target in self.fields:
            yield Write(rule, rule.target, "attribute")

    def _changed(self, rule: Rule, reached: Reached) -> Iterator[Write]:
        parts = (rule.target or "").split(".")
        if len(parts) > 2 and parts[0] in reached.record and parts[-1] in _CHANGING:
            field = parts[1].partition("[")[0]
            if field in self.fields:
                yield Write(rule, field, "part")

    def _declared(self, rule: Rule, reached: Reached, calls: list[Rule]) -> Iterator[Write]:
        if rule.form == "keyword" and rule.target in self.fields:
            form = self._keyword_form(rule, reached, calls)
            if form is not None:
                yield Write(rule, rule.target, form)
        elif rule.form in ("key", "item") and rule.target in self.fields and reached.record:
            yield Write(rule, rule.target, "table")

    def _keyword_form(self, rule: Rule, reached: Reached, calls: list[Rule]) -> WriteForm | None:
        around = [
            call
            for call in calls
            if call.target == rule.receiver
            and (call.span.line, call.span.column) <= (rule.line, rule.column)
            and (rule.span.end_line, rule.span.end_column)
            <= (call.span.end_line, call.span.end_column)
        ]
        if not around:
            return None
        call = parse_call(around[0].value or "")
        values = [*call.args, *(word.value for word in call.keywords)] if call else []
        with_record = any(self.reach.is_record(value, reached) for value in values)
        target = self.code.lookup(*reached.place, rule.receiver)
        if target is None:
            if with_record:
                return "declaration"
            is_table = rule.receiver.rpartition(".")[2] in _TABLE_CALLS
            return "table" if is_table and reached.record else None
        if target.kind != "function" or not with_record:
            return None
        parameters = self.code.module(target.path).functions[target.name].parameters
        takes_any = any(parameter.startswith("**") for parameter in parameters)
        return "declaration" if takes_any and rule.target not in parameters else None

    def _computed_keys(self, rule: Rule, reached: Reached) -> Iterator[Write]:
        """`{name: … for name in ("a", "b")}`."""
        if not reached.record or " for " not in (rule.value or ""):
            return
        value = expression(rule.value)
        for node in ast.walk(value) if value is not None else ():
            if isinstance(node, ast.DictComp) and isinstance(node.key, ast.Name):
                for name in _names_of(node):
                    if name in self.fields:
                        yield Write(rule, name, "table")


def _names_of(node: ast.DictComp) -> Iterator[str]:
    for generator in node.generators:
        if isinstance(generator.target, ast.Name) and isinstance(node.key, ast.Name):
            if generator.target.id != node.key.id:
                continue
            if isinstance(generator.iter, ast.Tuple | ast.List | ast.Set):
                for item in generator.iter.elts:
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        yield item.value
