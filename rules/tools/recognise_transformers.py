"""Recognise the known rules of attribute derivation in a configuration class's constructor.

Each statement must be one of the rules that `sgcheck.world.transformers.steps` can run;
anything else raises `Unrecognised`, and the class then needs a rule of its own.
"""

import ast
import inspect
import textwrap
from collections.abc import Container
from typing import Any

Value = list[Any]
Step = list[Any]

_OPERATORS = {ast.FloorDiv: "//", ast.Mult: "*", ast.Add: "+", ast.Sub: "-", ast.Div: "/"}


class Unrecognised(Exception):
    """No known rule says what this does."""


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
    return _Reader(parse(function), function.__globals__, cls, handed).steps()


def recognise_property(function: Any) -> Value:
    """The value that a property returns."""
    definition = parse(function)
    body = [s for s in definition.body if not _is_text(s)]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        raise Unrecognised("property")
    return _Reader(definition, function.__globals__, None).value(body[0].value)


def recognise_check(function: Any) -> list[Step]:
    """The steps of a method that only refuses values."""
    reader = _Reader(parse(function), function.__globals__, None)
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
        if _is_stored(inner):
            return inner.id  # type: ignore[attr-defined]
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute):
            return inner.attr
        if isinstance(inner, ast.Name) and inner.id not in ("isinstance", "any", "all", "len"):
            return inner.id
    return "check"


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_talk(node: ast.stmt) -> bool:
    """Whether a statement only writes into a log."""
    if isinstance(node, ast.Pass) or _is_text(node):
        return True
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    called = ast.unparse(node.value.func)
    return called.startswith(("logger.", "warnings.warn"))


class _Reader:
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

    def steps(self) -> list[Step]:
        steps: list[Step] = []
        seen: list[str] = []
        for node in self.definition.body:
            if _is_talk(node):
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
                self.locals |= {n.id for n in ast.walk(node) if _is_stored(n)}
        return _merge(steps)

    # -- statements -----------------------------------------------------------------------------

    def statement(self, node: ast.stmt) -> list[Step]:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return self.assign(node.target, node.value)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self.assign(node.targets[0], node.value)
        if isinstance(node, ast.If):
            if not node.orelse and all(_is_talk(inner) for inner in node.body):
                return []
            return self.condition(node)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
            return self.call(node.value)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return self.call(node.value)
        raise Unrecognised(ast.unparse(node)[:160])

    def assign(self, target: ast.expr, value: ast.expr) -> list[Step]:
        if isinstance(target, ast.Subscript) and ast.unparse(target.value) == self.rest:
            return [["keyword_set", _literal(target.slice), self.value(value)]]
        where = self.target(target)
        step = ["assign", where, self.value(value)]
        if where[0] == "arg":
            self.locals.add(where[1])
        return [step]

    def target(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Name):
            return ["arg", node.id]
        if _is_self(node):
            return ["own", node.attr]  # type: ignore[attr-defined]
        raise Unrecognised(f"target {ast.unparse(node)}")

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
                ignored = sorted(_literal(keyword.value))
            return [["rope_check", ignored]]
        if called == "layer_type_validation" and ast.unparse(node).endswith("attention=False)"):
            return [["mlp_layer_check", *(self.value(argument) for argument in node.args)]]
        if called == "layer_type_validation" and not node.keywords:
            return [["layer_check", *(self.value(argument) for argument in node.args)]]
        if called == f"{self.rest}.setdefault":
            return [["keyword_default", _literal(node.args[0]), self.value(node.args[1])]]
        if called == f"{self.rest}.pop" and len(node.args) == 2:
            return [["keyword_drop", _literal(node.args[0])]]
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
        checked = _none_test(node.test)
        body = [s for s in node.body if not _is_talk(s)]
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
        checked = _none_test(node.test)
        if checked is not None:
            first, second = second, first
        else:
            checked = _none_test(node.test, ast.IsNot)
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
        if isinstance(test.ops[0], ast.NotEq) and ast.unparse(right) == "0":
            if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
                return [["divides", self.value(left.left), self.value(left.right)]]
        if isinstance(test.ops[0], ast.NotIn) and isinstance(right, ast.List | ast.Tuple):
            return [["one_of", self.value(left), list(_literal(right))]]
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
        return [["rope_floats", _literal(loop.iter)]]

    def cycle(self, test: ast.expr, index: str) -> Value | None:
        """`(i + shift) % every == rest`, or its opposite: shift, every, rest, whether equal."""
        equal, rest = False, 0
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

    # -- nested configurations ------------------------------------------------------------------

    def nested(self, node: ast.If) -> list[Step] | None:
        branches: list[tuple[ast.expr | None, list[ast.stmt]]] = []
        current: ast.If | None = node
        while current is not None:
            branches.append((current.test, current.body))
            rest = current.orelse
            current = None
            if len(rest) == 1 and isinstance(rest[0], ast.If):
                current = rest[0]
            elif rest:
                branches.append((None, rest))
        source: ast.expr | None = None
        how: dict[str, Any] = {"none": "skip"}
        target: Value | None = None
        for test, body in branches:
            kind, checked = self.branch_kind(test)
            if kind == "made" and test is not None:
                how["made"] = ast.unparse(test.args[1])  # type: ignore[attr-defined]
            if (
                kind is None
                or (source is not None and checked is not None)
                and (ast.unparse(source) != ast.unparse(checked))
            ):
                return None
            source = checked if checked is not None else source
            where = self.branch(kind, body, source, how)
            if where is None:
                continue
            if target is not None and target != where:
                return None
            target = where
        if source is None or target is None or not how.keys() & {"class", "mapped", "typed"}:
            return None
        origin = self.target(source)
        passes = how.pop("passes", None)
        if origin == target or passes != "made":
            how.pop("made", None)
        if origin != target and passes is None:
            how["only"] = True
        return [["nested", origin, target, how]]

    def branch_kind(self, test: ast.expr | None) -> tuple[str | None, ast.expr | None]:
        if test is None:
            return "else", None
        checked = _none_test(test)
        if checked is not None:
            return "none", checked
        if (
            isinstance(test, ast.Call)
            and ast.unparse(test.func) == "isinstance"
            and len(test.args) == 2
        ):
            kind = ast.unparse(test.args[1])
            return ("dict" if kind == "dict" else "made"), test.args[0]
        return None, None

    def branch(
        self, kind: str, body: list[ast.stmt], source: ast.expr | None, how: dict[str, Any]
    ) -> Value | None:
        statements = [s for s in body if not _is_talk(s)]
        if source is None:
            raise Unrecognised("nested without source")
        name = ast.unparse(source)
        if kind in ("made", "else"):
            if len(statements) == 1 and isinstance(statements[0], ast.Assign):
                if ast.unparse(statements[0].value) == name:
                    how["passes"] = kind
                    return self.target(statements[0].targets[0])
            if not statements:
                return None
            raise Unrecognised("nested: " + ast.unparse(statements[0])[:100])
        if kind == "none":
            return self.none_branch(statements, how)
        return self.dict_branch(statements, name, how)

    def none_branch(self, statements: list[ast.stmt], how: dict[str, Any]) -> Value | None:
        if not statements:
            return None
        if len(statements) != 1 or not isinstance(statements[0], ast.Assign):
            raise Unrecognised("nested: " + ast.unparse(statements[0])[:100])
        where = self.target(statements[0].targets[0])
        value = statements[0].value
        if ast.unparse(value) == "None":
            how["none"] = "keep"
            return where
        if not isinstance(value, ast.Call) or value.args:
            raise Unrecognised("nested: " + ast.unparse(value)[:100])
        made = self.made_class(value.func, None)
        how["none"] = "new"
        for keyword in value.keywords:
            text = ast.unparse(keyword.value)
            if keyword.arg is None and text.startswith("self._default_"):
                how["defaults_of"] = text.removeprefix("self.")
            elif keyword.arg is None and ast.unparse(keyword.value) == self.rest:
                how["none"] = "kwargs"
            elif keyword.arg is not None:
                how.setdefault("defaults", {})[keyword.arg] = self.value(keyword.value)
            else:
                raise Unrecognised("nested: " + ast.unparse(value)[:100])
        how.update({f"{key}_none": value for key, value in made.items()})
        return where

    def dict_branch(
        self, statements: list[ast.stmt], name: str, how: dict[str, Any]
    ) -> Value | None:
        typed = None
        for statement in statements[:-1]:
            if isinstance(statement, ast.If) and not statement.orelse:
                self.rename(statement, name, how)
                continue
            text = ast.unparse(statement)
            for way in ("get", "pop"):
                # A local with the model type; the dictionary is not given one.
                label, _, rest = text.partition(f" = {name}.{way}('model_type', ")
                if label.isidentifier() and rest.endswith(")"):
                    typed = label
                    how["typed"] = [way, _literal(rest[:-1])]
            if typed is not None:
                continue
            start = f"{name}['model_type'] = {name}.get('model_type', "
            other = f"{name}['model_type'] = {name}['model_type'] if 'model_type' in {name} else "
            if text.startswith(start) and text.endswith(")"):
                how["mapped"] = _literal(text[len(start) : -1])
            elif text.startswith(other):
                how["mapped"] = _literal(text[len(other) :])
            else:
                raise Unrecognised("nested: " + text[:140])
        last = statements[-1]
        if not isinstance(last, ast.Assign) or not isinstance(last.value, ast.Call):
            raise Unrecognised("nested: " + ast.unparse(last)[:100])
        call = last.value
        over = f"{{**self._default_{name.removeprefix('self.')}_kwargs, **{name}}}"
        if not call.args and [ast.unparse(k.value) for k in call.keywords] == [over]:
            how["under"] = f"_default_{name.removeprefix('self.')}_kwargs"
            call.keywords[0].value = ast.parse(name, mode="eval").body
        if call.args or [(k.arg, ast.unparse(k.value)) for k in call.keywords] != [(None, name)]:
            raise Unrecognised("nested: " + ast.unparse(call)[:100])
        if typed is not None:
            if ast.unparse(call.func) != f"CONFIG_MAPPING[{typed}]":
                raise Unrecognised("nested: " + ast.unparse(call)[:100])
            return self.target(last.targets[0])
        made = self.made_class(call.func, name)
        if "mapped" in how and made != {"mapped": None}:
            # The default model type is written into the dictionary, the class is fixed.
            how["writes"] = how.pop("mapped")
        if made != {"mapped": None}:
            how.update(made)
        elif "mapped" not in how:
            raise Unrecognised("nested: no default model type")
        return self.target(last.targets[0])

    def rename(self, statement: ast.If, name: str, how: dict[str, Any]) -> None:
        start = f"{name}.get('model_type') == "
        test = ast.unparse(statement.test)
        texts = [ast.unparse(inner) for inner in statement.body]
        begin = f"{name}['model_type'] = "
        if not (test.startswith(start) and len(texts) == 1 and texts[0].startswith(begin)):
            raise Unrecognised("nested: " + test[:100])
        old, new = test[len(start) :], texts[0][len(begin) :]
        how.setdefault("rename", {})[_literal(old)] = _literal(new)

    def made_class(self, node: ast.expr, source: str | None) -> dict[str, Any]:
        """What a call makes: a class by name, by part name, or by model type."""
        text = ast.unparse(node)
        if isinstance(node, ast.Name):
            found = self.names.get(node.id)
            if isinstance(found, type) and hasattr(found, "model_type"):
                return {"class": found.__name__}
        if isinstance(node, ast.Subscript):
            holder = ast.unparse(node.value)
            if holder == "self.sub_configs":
                return {"class": [_literal(node.slice)]}
            if holder == "CONFIG_MAPPING":
                if ast.unparse(node.slice) == f"{source}['model_type']":
                    return {"mapped": None}
                if isinstance(node.slice, ast.Constant):
                    return {"mapped": node.slice.value}
        raise Unrecognised(f"nested: {text[:100]}")

    # -- values ---------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        try:
            found = _literal(node)
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
            if _is_self(node):
                return ["own", node.attr]
            if _is_self(node.value):
                return ["part", node.value.attr, node.attr]  # type: ignore[attr-defined]
        if isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
            keys = [_literal(key) for key in node.keys if key is not None]
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
        sign = _OPERATORS.get(type(node.op))
        if sign is None:
            raise Unrecognised(f"value {ast.unparse(node)[:120]}")
        return [sign, self.value(node.left), self.value(node.right)]

    def choice(self, node: ast.IfExp) -> Value:
        checked = _none_test(node.test)
        if checked is not None and ast.unparse(checked) == ast.unparse(node.orelse):
            return ["given", self.value(node.orelse), self.value(node.body)]
        checked = _none_test(node.test, ast.IsNot)
        if checked is not None and ast.unparse(checked) == ast.unparse(node.body):
            return ["given", self.value(node.body), self.value(node.orelse)]
        text = ast.unparse(node.test)
        if text.endswith(f" in {self.rest}") and ast.unparse(node.body).startswith(
            f"{self.rest}.pop({text.split(' in ')[0]}"
        ):
            return ["take", _literal(text.split(" in ")[0]), self.value(node.orelse)]
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
            return ["take", _literal(name), *(self.value(d) for d in default)]
        if text == f"{self.rest}.get":
            name, *default = node.args
            given = self.value(default[0]) if default else ["lit", None]
            return ["kw", _literal(name), given]
        if text == "getattr" and len(node.args) == 3:
            holder, name, default_node = node.args
            label = _literal(name)
            if ast.unparse(holder) == "self":
                return ["own_or", label, self.value(default_node)]
            if _is_self(holder):
                return ["part", holder.attr, label, self.value(default_node)]  # type: ignore[attr-defined]
        if isinstance(node.func, ast.Name):
            found = self.names.get(node.func.id)
            if isinstance(found, type) and hasattr(found, "model_type") and not node.args:
                if not node.keywords:
                    return ["new", found.__name__]
                if len(node.keywords) == 1 and node.keywords[0].arg is None:
                    given = node.keywords[0].value
                    if ast.unparse(given) != self.rest:
                        return ["new_from", found.__name__, self.value(given)]
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
        names = [_literal(element.body), _literal(element.orelse)]
        test = element.test
        if isinstance(test, ast.Call) and ast.unparse(test.func) == "bool":
            test = test.args[0]
        cycle = self.cycle(test, index)
        if cycle is not None:
            return ["cycle", *names, *cycle, count]
        if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
            if ast.unparse(test.left) in (f"({index} + 1)", f"{index} + 1"):
                return ["interval", *names, self.value(test.right), count]
        if (
            isinstance(test, ast.Compare)
            and isinstance(test.ops[0], ast.Lt)
            and ast.unparse(test.left) == index
        ):
            return ["split", *names, self.value(test.comparators[0]), count]
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and len(test.values) == 2:
            window = _none_test(test.values[0], ast.IsNot)
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


def _literal(node: ast.expr | str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, SyntaxError):
        text = node if isinstance(node, str) else ast.unparse(node)
        raise Unrecognised(f"no literal: {text[:100]}") from None


def _is_self(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _none_test(test: ast.expr, operator: type[ast.cmpop] = ast.Is) -> ast.expr | None:
    """What `x is None` (or `is not`) checks."""
    if (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], operator)
        and ast.unparse(test.comparators[0]) == "None"
    ):
        return test.left
    return None


def _merge(steps: list[Step]) -> list[Step]:
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
