"""Tests of SGLang's code, answered by the values that a launch ends with; most are open."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from sgcheck.findings.unread.code import Code, Module
from sgcheck.syntax.comparing import compared

OPEN: Final = object()
"""The value of what the launch's fields do not decide."""

_RECORD_NAMES = frozenset(
    {"server_args", "global_server_args", "server_args_", "_global_server_args"}
)
_RECORD_CALL = re.compile(r"get_(?:global_)?server_args|_get_server_args|get_server_args_\w*")
RESOLUTION = ("sglang/srt/server_args.py", "sglang/srt/arg_groups/")
"""Where the code lies that gives the fields their values."""
_ALGORITHM = "speculative_algorithm"
_ALGORITHM_NAMES = frozenset({"spec_algorithm", "speculative_algorithm"})


class Truth:
    """Answers tests. `values` are the decided fields of the launch, `fields` all of the release."""

    def __init__(self, code: Code, values: Mapping[str, Any], fields: frozenset[str]) -> None:
        self.code = code
        self.values = values
        self.fields = fields
        self.used: set[str] = set()

    def of(self, test: ast.expr, module: Module) -> bool | None:
        """The truth of a test, None where it is open."""
        match test:
            case ast.UnaryOp(op=ast.Not()):
                inner = self.of(test.operand, module)
                return None if inner is None else not inner
            case ast.BoolOp():
                stop = isinstance(test.op, ast.Or)
                found = [self.of(value, module) for value in test.values]
                if stop in found:
                    return stop
                return None if None in found else not stop
            case ast.Call(func=ast.Attribute(attr=method, value=owner), args=[], keywords=[]):
                return self._asked(method, owner)
        value = self.value(test, module)
        if value is not OPEN:
            return bool(value)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left = self.value(test.left, module)
            right = self.value(test.comparators[0], module)
            if left is not OPEN and right is not OPEN:
                return _compared(test.ops[0], left, right)
        return None

    def value(self, node: ast.expr, module: Module) -> Any:
        """The value of an expression, or OPEN."""
        match node:
            case ast.Constant():
                return node.value
            case ast.Tuple() | ast.List() | ast.Set():
                items = [self.value(each, module) for each in node.elts]
                return OPEN if OPEN in items else items
            case ast.Attribute(attr=name) if name in self.fields:
                of_record = self._is_record(node.value, module)
                kept = self._is_kept(name) if of_record else self._is_copied(node, module)
                return self._field(name) if kept else OPEN
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                return self._member(owner, name)
            case ast.Name(id=name) if name in self.fields:
                copied = self._is_kept(name) and self._is_local_copy(node, module)
                return self._field(name) if copied else OPEN
            case ast.Call(
                func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]
            ):
                if name in self.fields and self._is_record(owner, module) and self._is_kept(name):
                    return self._field(name)
        return OPEN

    def _field(self, name: str) -> Any:
        self.used.add(name)
        return self.values.get(name, OPEN)

    def _is_record(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression is the launch's record."""
        match node:
            case ast.Name(id="self"):
                around = module.definition(node)
                while around is not None and not isinstance(around, ast.ClassDef):
                    around = module.definition(around)
                return isinstance(around, ast.ClassDef) and around.name == "ServerArgs"
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return name in _RECORD_NAMES
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return _RECORD_CALL.fullmatch(name) is not None
        return False

    def _is_kept(self, name: str) -> bool:
        """Whether nothing but resolution sets a field on a record."""
        kept = self.code.kept
        if name not in kept:
            kept[name] = all(
                self._sets_copy(node, name, module) or not _called_arguments(node.value)
                for module, node in self._stores(name)
            )
        return kept[name]

    def _is_copied(self, node: ast.Attribute, module: Module) -> bool:
        """Whether an attribute of another object than the record keeps the field's value."""
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            here = [s for m, s in self._stores(node.attr) if m is module]
            if here and self._is_kept(node.attr):
                return all(self._sets_copy(store, node.attr, module) for store in here)
        return self._is_copy(node.attr)

    def _is_copy(self, name: str) -> bool:
        """Whether every attribute of a field's name, on whatever object, keeps the field's value."""
        copied = self.code.copied
        if name not in copied:
            copied[name] = self._is_kept(name) and all(
                self._sets_copy(node, name, module) for module, node in self._stores(name)
            )
            copied[name] = copied[name] and not self._is_declared(name)
        return copied[name]

    def _stores(self, name: str) -> Iterator[tuple[Module, ast.Attribute]]:
        """The places outside of resolution that set an attribute."""
        raw = name.encode()
        stored = re.compile(
            rb"\.%s\b\s*(?::[^=\n]+)?[-+|*/]?=(?!=)|\bdel [^\n]*\.%s\b|\.%s\b\s*,[^\n]*="
            % (raw, raw, raw)
        )
        for path in self.code.files_with(name):
            if path.startswith(RESOLUTION) or not self.code.has(path, stored):
                continue
            module = self.code.module(path)
            for node in module.named.get(name, ()) if module is not None else ():
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
                    yield module, node  # type: ignore[misc]

    def _is_declared(self, name: str) -> bool:
        """Whether a class outside of resolution may have an attribute or a property of its own."""
        begins = re.compile(rb"^    (?:    )?(?:def )?%s\s*[:=(]" % name.encode(), re.MULTILINE)
        return any(
            self.code.has(path, begins)
            for path in self.code.files_with(name)
            if not path.startswith(RESOLUTION)
        )

    def _sets_copy(self, target: ast.Attribute, name: str, module: Module) -> bool:
        statement = module.parents.get(target)
        source = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if isinstance(source, ast.Call) and len(source.args) == 1 and not source.keywords:
            source = source.args[0]  # `DisaggregationMode(server_args.disaggregation_mode)`
        return (
            isinstance(source, ast.Attribute)
            and source.attr == name
            and self._is_record(source.value, module)
        )

    def _is_local_copy(self, node: ast.Name, module: Module) -> bool:
        """Whether a name is set once in its function, from the field of that name."""
        around = module.definition(node)
        if not isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        stores = [
            each
            for each in module.named.get(node.id, ())
            if module.definition(each) is around
            if (
                isinstance(each, ast.Name)
                and each.id == node.id
                and isinstance(each.ctx, ast.Store)
            )
            or (isinstance(each, ast.arg) and each.arg == node.id)
        ]
        if len(stores) != 1:
            return False
        statement = module.parents.get(stores[0])
        return (
            isinstance(statement, ast.Assign)
            and isinstance(statement.value, ast.Attribute)
            and statement.value.attr == node.id
            and self._is_record(statement.value.value, module)
        )

    def _asked(self, method: str, owner: ast.expr) -> bool | None:
        """`spec_algorithm.is_eagle()` of a launch without speculation."""
        name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
        if name not in _ALGORITHM_NAMES or _ALGORITHM not in self.fields:
            return None
        if self._field(_ALGORITHM) is not None:
            return None
        return self._algorithms.get(method)

    @cached_property
    def _algorithms(self) -> dict[str, bool]:
        """What the questions of the class of algorithms answer for none, from their code."""
        found: dict[str, bool] = {}
        for node in self.code.classes("SpeculativeAlgorithm"):
            found.update(_answers(node))
        return found

    def _member(self, owner: str, name: str) -> Any:
        """The value of an enumeration's member, where one class of that name has it as a constant."""
        if not owner[:1].isupper() or not name.isupper():
            return OPEN
        for node in self.code.classes(owner):
            if not any("Enum" in ast.unparse(base) for base in node.bases):
                continue
            for each in node.body:
                if (
                    isinstance(each, ast.Assign)
                    and isinstance(each.targets[0], ast.Name)
                    and each.targets[0].id == name
                    and isinstance(each.value, ast.Constant)
                ):
                    return each.value.value
        return OPEN


def _called_arguments(node: ast.expr) -> bool:
    """Whether an object's name says that it may be a record."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return "args" in name or isinstance(node, ast.Call)


def _answers(node: ast.ClassDef) -> dict[str, bool]:
    """Questions whose one line compares with members: what they answer for the member NONE."""
    found: dict[str, bool] = {}
    for each in node.body:
        if not isinstance(each, ast.FunctionDef) or not isinstance(each.body[-1], ast.Return):
            continue
        returned = each.body[-1].value
        plain = [s for s in each.body if not isinstance(s, ast.Expr)]
        if returned is None or len(plain) != 1:
            continue
        members = {n.attr for n in ast.walk(returned) if isinstance(n, ast.Attribute)}
        compares = [n for n in ast.walk(returned) if isinstance(n, ast.Compare)]
        signs = {type(sign) for n in compares for sign in n.ops}
        calls = any(isinstance(n, ast.Call | ast.UnaryOp) for n in ast.walk(returned))
        if not compares or calls or not signs <= {ast.Eq, ast.Is, ast.In}:
            continue
        found[each.name] = members == {"NONE"}
        if "NONE" in members and members != {"NONE"}:
            del found[each.name]
    return found


def _compared(sign: ast.cmpop, left: Any, right: Any) -> bool | None:
    try:
        match sign:
            case ast.Is():
                return left is right if right in (None, True, False) else None
            case ast.IsNot():
                return left is not right if right in (None, True, False) else None
            case ast.In():
                return left in right
            case ast.NotIn():
                return left not in right
    except TypeError:
        return None
    return compared(sign, left, right)
