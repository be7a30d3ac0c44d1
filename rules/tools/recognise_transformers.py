"""Recognise the known rules of attribute derivation in a configuration class's constructor.

Each statement must be one of the rules that `sgcheck.world.transformers.steps` can run;
anything else raises `Unrecognised`, and the class then needs a rule of its own.
"""

import ast
import inspect
import textwrap
from collections.abc import Container
from typing import Any

from recognise_nested import NestedReader
from recognise_values import (
    Step,
    Unrecognised,
    Value,
    is_stored,
    is_talk,
    is_text,
    literal,
    none_test,
)

__all__ = ["Unrecognised", "recognise_check", "recognise_init", "recognise_property"]


def parse(function: Any) -> ast.FunctionDef:
    """The definition of a function as a tree."""
    function = inspect.unwrap(function)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    found = tree.body[0]
    assert isinstance(found, ast.FunctionDef)
    return found


def recognise_init(function: Any, cls: type, handed: Container[str]) -> list[Step]:
    """The steps of `__init__` or `__post_init__`.

    :param handed: the names of rules written by hand. A statement of class `C` that is no known
        rule is taken to be rule `C:x`, where `x` is the first name that it sets or, if it sets
        none, that it checks.
    """
    return StatementReader(parse(function), function.__globals__, cls, handed).steps()


def recognise_property(function: Any) -> Value:
    """The value that a property returns."""
    definition = parse(function)
    body = [s for s in definition.body if not is_text(s)]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        raise Unrecognised("property")
    return StatementReader(definition, function.__globals__, None).value(body[0].value)


def recognise_check(function: Any) -> list[Step]:
    """The steps of a method that only refuses values."""
    reader = StatementReader(parse(function), function.__globals__, None)
    steps = reader.steps()
    if any(step[0] not in ("divides", "one_of") for step in steps):
        raise Unrecognised("check")
    return steps


def label_of(node: ast.stmt) -> str:
    """The first name that a statement sets or, if it sets none, checks."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute | ast.Subscript) and isinstance(inner.ctx, ast.Store):
            if isinstance(inner, ast.Attribute):
                return inner.attr
            if isinstance(inner.slice, ast.Constant):
                return str(inner.slice.value)
        if isinstance(inner, ast.Name) and is_stored(inner):
            return inner.id
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute):
            return inner.attr
        if isinstance(inner, ast.Name) and inner.id not in ("isinstance", "any", "all", "len"):
            return inner.id
    return "check"


class StatementReader(NestedReader):
    """Reads the statements of a constructor."""

    def steps(self) -> list[Step]:
        steps: list[Step] = []
        seen: list[str] = []
        for node in self.definition.body:
            if is_talk(node):
                continue
            try:
                steps.extend(self.statement(node))
            except Unrecognised:
                label = label_of(node)
                seen.append(label)
                name = f"{self.cls.__name__}:{label}" if self.cls else ""
                if seen.count(label) > 1:
                    name += f":{seen.count(label)}"
                if name not in self.handed:
                    raise
                steps.append(["hand", name])
                self.locals |= {
                    n.id for n in ast.walk(node) if isinstance(n, ast.Name) and is_stored(n)
                }
        return merge(steps)

    # -- statements -----------------------------------------------------------------------------

    def statement(self, node: ast.stmt) -> list[Step]:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return self.assign(node.target, node.value)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self.assign(node.targets[0], node.value)
        if isinstance(node, ast.If):
            if not node.orelse and all(is_talk(inner) for inner in node.body):
                return []
            return self.condition(node)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
            return self.call(node.value)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return self.call(node.value)
        raise Unrecognised(ast.unparse(node)[:160])

    def assign(self, target: ast.expr, value: ast.expr) -> list[Step]:
        if isinstance(target, ast.Subscript) and ast.unparse(target.value) == self.rest:
            return [["keyword_set", literal(target.slice), self.value(value)]]
        where = self.target(target)
        step = ["assign", where, self.value(value)]
        if where[0] == "arg":
            self.locals.add(where[1])
        return [step]

    def call(self, node: ast.Call) -> list[Step]:
        called = ast.unparse(node.func)
        if called in ("super().__init__", "super().__post_init__"):
            given, spread = {}, False
            for keyword in node.keywords:
                if keyword.arg is None:
                    if ast.unparse(keyword.value) != self.rest:
                        raise Unrecognised(ast.unparse(node))
                    spread = True
                else:
                    given[keyword.arg] = self.value(keyword.value)
            if node.args:
                raise Unrecognised(ast.unparse(node))
            return [["base", given, spread]]
        if called == "rope_config_validation":
            ignored: list[str] = []
            for keyword in node.keywords:
                ignored = sorted(literal(keyword.value))
            return [["rope_check", ignored]]
        if called == "layer_type_validation" and ast.unparse(node).endswith("attention=False)"):
            return [["mlp_layer_check", *(self.value(argument) for argument in node.args)]]
        if called == "layer_type_validation" and not node.keywords:
            return [["layer_check", *(self.value(argument) for argument in node.args)]]
        if called == f"{self.rest}.setdefault":
            return [["keyword_default", literal(node.args[0]), self.value(node.args[1])]]
        if called == f"{self.rest}.pop" and len(node.args) == 2:
            return [["keyword_drop", literal(node.args[0])]]
        raise Unrecognised(ast.unparse(node)[:160])

    def condition(self, node: ast.If) -> list[Step]:
        for attempt in (
            self.default,
            self.given,
            self.refusal,
            self.tie,
            self.old_rope_type,
            self.rope_floats,
            self.nested,
        ):
            found = attempt(node)
            if found is not None:
                return found
        raise Unrecognised(ast.unparse(node)[:300])

    def default(self, node: ast.If) -> list[Step] | None:
        checked = none_test(node.test)
        body = [s for s in node.body if not is_talk(s)]
        if checked is None or node.orelse:
            return None
        if not body:
            return []
        if len(body) == 2 and self.inline(body[0]):
            del body[0]
        if len(body) > 1:
            return None
        if not isinstance(body[0], ast.Assign) or len(body[0].targets) != 1:
            return None
        if ast.unparse(body[0].targets[0]) != ast.unparse(checked):
            return None
        return [["default", self.target(checked), self.value(body[0].value)]]

    def given(self, node: ast.If) -> list[Step] | None:
        """One target, set to a value that is given or else to another."""
        if len(node.body) != 1 or len(node.orelse) != 1:
            return None
        first, second = node.body[0], node.orelse[0]
        if not isinstance(first, ast.Assign) or not isinstance(second, ast.Assign):
            return None
        if ast.unparse(first.targets[0]) != ast.unparse(second.targets[0]):
            return None
        checked = none_test(node.test)
        if checked is not None:
            first, second = second, first
        else:
            checked = none_test(node.test, ast.IsNot)
        if checked is None or ast.unparse(checked) != ast.unparse(first.value):
            return None
        value = ["given", self.value(first.value), self.value(second.value)]
        return [["assign", self.target(first.targets[0]), value]]

    def inline(self, node: ast.stmt) -> bool:
        """Remember a local that a keyword gives, to be written where it is used."""
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            return False
        if not isinstance(node.value, ast.Call | ast.Constant):
            return False
        self.inlined[node.targets[0].id] = self.value(node.value)
        return True

    def tie(self, node: ast.If) -> list[Step] | None:
        """Word embeddings are tied if the nested text configuration ties them."""
        tied = "self.tie_word_embeddings"
        if node.orelse or len(node.body) != 1:
            return None
        test, body = ast.unparse(node.test), ast.unparse(node.body[0])
        for part in ("text_config", "llm_config", "decoder_config"):
            plain = f"self.{part}.tie_word_embeddings"
            careful = f"getattr(self.{part}, 'tie_word_embeddings', False)"
            if test == f"not {tied} and {plain}" and body in (
                f"{tied} = {plain}",
                f"{tied} = True",
            ):
                return [["tie", part, True]]
            if test == f"not tie_word_embeddings and {plain}" and body == f"{tied} = {plain}":
                return [["tie", part, True, ["arg", "tie_word_embeddings"]]]
            if test == f"not {tied} and {careful}" and body in (
                f"{tied} = True",
                f"{tied} = {plain}",
            ):
                return [["tie", part, False]]
        return None

    def refusal(self, node: ast.If) -> list[Step] | None:
        if len(node.body) != 1 or not isinstance(node.body[0], ast.Raise) or node.orelse:
            return None
        if not ast.unparse(node.body[0].exc or node).startswith("ValueError("):
            return None
        test = node.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return None
        left, right = test.left, test.comparators[0]
        remainder = isinstance(test.ops[0], ast.NotEq) and ast.unparse(right) == "0"
        if remainder and isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
            return [["divides", self.value(left.left), self.value(left.right)]]
        if isinstance(test.ops[0], ast.NotIn) and isinstance(right, ast.List | ast.Tuple):
            return [["one_of", self.value(left), list(literal(right))]]
        return None

    def old_rope_type(self, node: ast.If) -> list[Step] | None:
        scaling = "self.rope_scaling"
        if ast.unparse(node.test) != f"{scaling} is not None and 'type' in {scaling}":
            return None
        rename = f"{scaling}['rope_type'] = {scaling}['type']"
        texts = [ast.unparse(statement) for statement in node.body]
        if texts == [rename]:
            return [["old_rope_type", False]]
        mrope = f"if {scaling}['type'] == 'mrope':\n    {scaling}['type'] = 'default'"
        if texts == [mrope, rename]:
            return [["old_rope_type", True]]
        return None

    def rope_floats(self, node: ast.If) -> list[Step] | None:
        if ast.unparse(node.test) != "self.rope_scaling is not None" or len(node.body) != 1:
            return None
        loop = node.body[0]
        if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.List):
            return None
        expected = (
            "if key in self.rope_scaling:\n"
            "    self.rope_scaling[key] = float(self.rope_scaling[key])"
        )
        if [ast.unparse(statement) for statement in loop.body] != [expected]:
            return None
        return [["rope_floats", literal(loop.iter)]]


def merge(steps: list[Step]) -> list[Step]:
    """Write neighbouring assignments of equal names as one step."""
    merged: list[Step] = []
    for step in steps:
        same = step[0] == "assign" and step[1][0] == "own" and step[2] == ["arg", step[1][1]]
        if same and merged and merged[-1][0] == "own_all":
            merged[-1][1].append(step[1][1])
        elif same:
            merged.append(["own_all", [step[1][1]]])
        else:
            merged.append(step)
    return merged
