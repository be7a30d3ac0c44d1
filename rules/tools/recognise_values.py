"""Reading values of a constructor: the expressions that `sgcheck.world.transformers.steps` knows."""

import ast
from collections.abc import Container
from typing import Any

Value = list[Any]
Step = list[Any]

OPERATORS = {ast.FloorDiv: "//", ast.Mult: "*", ast.Add: "+", ast.Sub: "-", ast.Div: "/"}


class Unrecognised(Exception):
    """No known rule says what this does."""


def literal(node: ast.expr | str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, SyntaxError):
        text = node if isinstance(node, str) else ast.unparse(node)
        raise Unrecognised(f"no literal: {text[:100]}") from None


def is_self(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def none_test(test: ast.expr, operator: type[ast.cmpop] = ast.Is) -> ast.expr | None:
    """What `x is None` (or `is not`) checks."""
    if (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], operator)
        and ast.unparse(test.comparators[0]) == "None"
    ):
        return test.left
    return None


def is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_talk(node: ast.stmt) -> bool:
    """Whether a statement only writes into a log."""
    if isinstance(node, ast.Pass) or is_text(node):
        return True
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    called = ast.unparse(node.value.func)
    return called.startswith(("logger.", "warnings.warn"))


class ValueReader:
    """Reads values; knows the function's locals."""

    def __init__(
        self,
        definition: ast.FunctionDef,
        names: dict[str, Any],
        cls: Any,
        handed: Container[str] = (),
    ) -> None:
        self.handed = handed
        self.definition = definition
        self.names = names
        self.cls = cls
        arguments = definition.args
        self.locals = {a.arg for a in [*arguments.args, *arguments.kwonlyargs]} - {"self"}
        self.rest = arguments.kwarg.arg if arguments.kwarg else None
        self.inlined: dict[str, Value] = {}

    def target(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Name):
            return ["arg", node.id]
        if is_self(node):
            return ["own", node.attr]  # type: ignore[attr-defined]
        raise Unrecognised(f"target {ast.unparse(node)}")

    # -- values ---------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        try:
            found = literal(node)
        except Unrecognised:
            pass
        else:
            if not isinstance(found, tuple):
                return ["lit", found]
        if isinstance(node, ast.Name) and node.id in self.inlined:
            return self.inlined[node.id]
        if isinstance(node, ast.Name) and node.id in self.locals:
            return ["arg", node.id]
        if isinstance(node, ast.Attribute):
            if is_self(node):
                return ["own", node.attr]
            if is_self(node.value):
                return ["part", node.value.attr, node.attr]  # type: ignore[attr-defined]
        if isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
            keys = [literal(key) for key in node.keys if key is not None]
            return ["dict", [[k, self.value(v)] for k, v in zip(keys, node.values, strict=True)]]
        if isinstance(node, ast.List):
            return ["items", [self.value(item) for item in node.elts]]
        if isinstance(node, ast.BinOp):
            return self.operation(node)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
            return ["or", self.value(node.values[0]), self.value(node.values[1])]
        if isinstance(node, ast.IfExp):
            return self.choice(node)
        if isinstance(node, ast.Call):
            return self.called(node)
        if isinstance(node, ast.ListComp):
            return self.layout(node)
        raise Unrecognised(f"value {ast.unparse(node)[:120]}")

    def operation(self, node: ast.BinOp) -> Value:
        if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List):
            return ["*", self.value(node.left), self.value(node.right)]
        sign = OPERATORS.get(type(node.op))
        if sign is None:
            raise Unrecognised(f"value {ast.unparse(node)[:120]}")
        return [sign, self.value(node.left), self.value(node.right)]

    def choice(self, node: ast.IfExp) -> Value:
        checked = none_test(node.test)
        if checked is not None and ast.unparse(checked) == ast.unparse(node.orelse):
            return ["given", self.value(node.orelse), self.value(node.body)]
        checked = none_test(node.test, ast.IsNot)
        if checked is not None and ast.unparse(checked) == ast.unparse(node.body):
            return ["given", self.value(node.body), self.value(node.orelse)]
        text = ast.unparse(node.test)
        if text.endswith(f" in {self.rest}") and ast.unparse(node.body).startswith(
            f"{self.rest}.pop({text.split(' in ')[0]}"
        ):
            return ["take", literal(text.split(" in ")[0]), self.value(node.orelse)]
        if isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.Eq):
            left, right = node.test.left, node.test.comparators[0]
            test = ["equal", self.value(left), self.value(right)]
            return ["if", test, self.value(node.body), self.value(node.orelse)]
        if isinstance(node.test, ast.Name | ast.Attribute):
            return ["if", self.value(node.test), self.value(node.body), self.value(node.orelse)]
        raise Unrecognised(f"value {ast.unparse(node)[:120]}")

    def called(self, node: ast.Call) -> Value:
        text = ast.unparse(node.func)
        if text in ("min", "max") and len(node.args) == 2 and not node.keywords:
            return [text, self.value(node.args[0]), self.value(node.args[1])]
        if text == "math.ceil" and len(node.args) == 1:
            return ["ceil", self.value(node.args[0])]
        if text in ("len", "list", "int") and len(node.args) == 1 and not node.keywords:
            return [text, self.value(node.args[0])]
        if text == f"{self.rest}.pop":
            name, *default = node.args
            return ["take", literal(name), *(self.value(d) for d in default)]
        if text == f"{self.rest}.get":
            name, *default = node.args
            given = self.value(default[0]) if default else ["lit", None]
            return ["kw", literal(name), given]
        if text == "getattr" and len(node.args) == 3:
            holder, key, default_node = node.args
            label = literal(key)
            if ast.unparse(holder) == "self":
                return ["own_or", label, self.value(default_node)]
            if is_self(holder):
                return ["part", holder.attr, label, self.value(default_node)]  # type: ignore[attr-defined]
        if isinstance(node.func, ast.Name):
            found = self.names.get(node.func.id)
            if isinstance(found, type) and hasattr(found, "model_type") and not node.args:
                if not node.keywords:
                    return ["new", found.__name__]
                if len(node.keywords) == 1 and node.keywords[0].arg is None:
                    keywords = node.keywords[0].value
                    if ast.unparse(keywords) != self.rest:
                        return ["new_from", found.__name__, self.value(keywords)]
        raise Unrecognised(f"value {ast.unparse(node)[:120]}")

    def layout(self, node: ast.ListComp) -> Value:
        """The two common ways to lay out layer types."""
        loop = node.generators[0]
        element = node.elt
        if len(node.generators) != 1 or loop.ifs or not isinstance(element, ast.IfExp):
            raise Unrecognised(f"value {ast.unparse(node)[:120]}")
        counted = loop.iter
        if not (isinstance(counted, ast.Call) and ast.unparse(counted.func) == "range"):
            raise Unrecognised(f"value {ast.unparse(node)[:120]}")
        if len(counted.args) != 1:
            raise Unrecognised(f"value {ast.unparse(node)[:120]}")
        index = ast.unparse(loop.target)
        count = self.value(counted.args[0])
        names = [literal(element.body), literal(element.orelse)]
        test = element.test
        if isinstance(test, ast.Call) and ast.unparse(test.func) == "bool":
            test = test.args[0]
        cycle = self.cycle(test, index)
        if cycle is not None:
            return ["cycle", *names, *cycle, count]
        if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
            one_up = ast.unparse(test.left).strip("()") == f"{index} + 1"
            if one_up:
                return ["interval", *names, self.value(test.right), count]
        if (
            isinstance(test, ast.Compare)
            and isinstance(test.ops[0], ast.Lt)
            and ast.unparse(test.left) == index
        ):
            return ["split", *names, self.value(test.comparators[0]), count]
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and len(test.values) == 2:
            window = none_test(test.values[0], ast.IsNot)
            second = test.values[1]
            if (
                window is not None
                and names == ["sliding_attention", "full_attention"]
                and isinstance(second, ast.Compare)
                and isinstance(second.ops[0], ast.GtE)
                and ast.unparse(second.left) == index
            ):
                return ["windowed", self.value(window), self.value(second.comparators[0]), count]
        raise Unrecognised(f"value {ast.unparse(node)[:200]}")

    def cycle(self, test: ast.expr, index: str) -> Value | None:
        """`(i + shift) % every == rest`, or its opposite: shift, every, rest, whether equal."""
        equal = False
        rest: Any = 0
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            equal, test = True, test.operand
        elif isinstance(test, ast.Compare) and len(test.ops) == 1:
            if not isinstance(test.ops[0], ast.Eq | ast.NotEq):
                return None
            if not isinstance(test.comparators[0], ast.Constant):
                return None
            equal = isinstance(test.ops[0], ast.Eq)
            rest, test = test.comparators[0].value, test.left
        if not (isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod)):
            return None
        shifts = {index: 0, f"{index} + 1": 1}
        shift = shifts.get(ast.unparse(test.left).strip("()"))
        if shift is None:
            return None
        return [shift, self.value(test.right), rest, equal]
