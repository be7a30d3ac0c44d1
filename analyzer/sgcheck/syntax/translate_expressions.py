"""Expressions: reads, calls, operators, displays and comprehensions."""

from __future__ import annotations

import ast

from sgcheck.syntax import scopes
from sgcheck.syntax.names import FORBIDDEN_ATTRIBUTES, GUARDED_ATTRIBUTES, UNKNOWN_SLOTS, guard
from sgcheck.syntax.translate_base import FRAME_CALLS, Base, Scope

_BINARY_GUARDS = {
    ast.Add: "add",
    ast.Mult: "mul",
    ast.Pow: "pow",
    ast.LShift: "shl",
    ast.Mod: "mod",
}
_COMPARE_GUARDS: dict[type[ast.cmpop], str] = {
    ast.In: "in",
    ast.NotIn: "nin",
    ast.Is: "is",
    ast.IsNot: "isn",
}
_QUIET = (ast.Name, ast.Constant, ast.Lambda)
"""Arguments whose evaluation neither fails nor does anything."""
_ANY_ALL = frozenset({"any", "all"})
_PYTHON_BUILTINS = frozenset({"getattr", "hasattr", "isinstance", "issubclass", "len", "setattr"})
"""Builtins that are functions written in Python here (`interp/builtins.py`)."""
_METHOD_GUARDS = ("m0", "m1", "m2")
_SPECIAL_NAMES = GUARDED_ATTRIBUTES | FORBIDDEN_ATTRIBUTES


class Expressions(Base):
    """The translation of expressions."""

    # -- names and attributes ------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if (
            isinstance(node.ctx, ast.Load)
            and node.id in self.lazy
            and self._is_module_name(node.id)
        ):
            return self._lazy_load(node)
        return node

    def _lazy_load(self, node: ast.Name) -> ast.expr:
        probe = self._at(ast.Attribute(node, "__class__", ast.Load()), node)
        test = self._at(ast.Compare(probe, [ast.Is()], [self._load("L", node)]), node)
        again = self._at(ast.Name(node.id, ast.Load()), node)
        forced = self._guard("F", node, self._at(ast.Name(node.id, ast.Load()), node))
        return self._at(ast.IfExp(test, forced, again), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        node.value = self.visit(node.value)
        name = node.attr
        if isinstance(node.ctx, ast.Load) and (
            name in GUARDED_ATTRIBUTES
            or name in FORBIDDEN_ATTRIBUTES
            or name in UNKNOWN_SLOTS
            or (name.startswith("__") and name.endswith("__"))
        ):
            return self._guard("a", node, node.value, self._text(name, node))
        if self.branching and isinstance(node.ctx, ast.Load) and self._function_depth():
            return self._guard("g", node, node.value, self._text(self._mangle(name), node))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.value = self.visit(node.value)
        node.slice = self.visit(node.slice)
        if isinstance(node.ctx, ast.Load):
            return self._guard("i", node, node.value, self._slice(node.slice))
        return node

    def _slice(self, node: ast.expr) -> ast.expr:
        """A subscript's index as an expression that may be passed to a function."""
        if isinstance(node, ast.Slice):
            parts = [
                p if p is not None else self._text(None, node)
                for p in (node.lower, node.upper, node.step)
            ]
            return self._guard("slice", node, *parts)
        if isinstance(node, ast.Tuple) and any(isinstance(e, ast.Slice) for e in node.elts):
            node.elts = [self._slice(e) for e in node.elts]
        return node

    # -- calls ---------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if self.branching and self._function_depth():
            for one in (*node.args, *(k.value for k in node.keywords)):
                if isinstance(one, ast.GeneratorExp) and self._may_be_delayed(one):
                    # Nothing changes between its making and the call: it can be made again.
                    one.made_again = True  # type: ignore[attr-defined]
        func = node.func
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [self.visit(k) for k in node.keywords]
        if isinstance(func, ast.Name):
            if func.id in FRAME_CALLS and not node.args and self._is_module_name(func.id):
                return node
            if (
                self.branching
                and func.id in _ANY_ALL
                and len(node.args) == 1
                and self._is_module_name(func.id)
                and (make := self._again(node.args[0])) is not None
            ):
                return self._guard(func.id, node, make)
        if isinstance(func, ast.Attribute):
            value = self.visit(func.value)
            given = (*node.args, *(k.value for k in node.keywords))
            if not all(isinstance(a, _QUIET) for a in given):
                # Python looks the method up before it works out the arguments.
                value = self._guard("h", func, value, self._text(self._mangle(func.attr), func))
            if (own := self._own_guard(func, node)) is not None:
                return self._guard(own, node, value, *node.args)
            call = ast.Call(
                self._load(self._method_guard(func.attr, node), node),
                [value, self._text(self._mangle(func.attr), func), *node.args],
                node.keywords,
            )
            self._at(call, node)
            # CPython gives a method call the line of the method's name.
            if func.end_lineno is not None and func.end_lineno != node.lineno:
                call.lineno = func.end_lineno
                call.col_offset = max((func.end_col_offset or 0) - len(func.attr), 0)
            return call
        if isinstance(func, ast.Name) and self._is_plain(node) and self._calls_python(func.id):
            return self._plain_call(func, node)
        # A loop takes all elements of what it runs over, and nobody else has it.
        walked = self.branching and getattr(node, "walked", False) and self._is_plain(node)
        guard = self._load("cw" if walked else "c", node)
        return self._at(ast.Call(guard, [self.visit(func), *node.args], node.keywords), node)

    @staticmethod
    def _again(node: ast.expr) -> ast.expr | None:
        """What makes an argument, where it is a generator expression that can be made again."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.args[0] if node.func.id == guard("again") else None
        return None

    def _settled(self, node: ast.expr) -> ast.expr:
        """Where paths are explored: a dictionary in which each key is there or is not."""
        return self._guard("it", node, node) if self.branching and self._function_depth() else node

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        node.value = self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            node.value = self._settled(node.value)
        return node

    @staticmethod
    def _is_plain(node: ast.Call) -> bool:
        """Whether a call has positional arguments only, each written out."""
        return not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)

    def _method_guard(self, name: str, node: ast.Call) -> str:
        if (
            self.branching
            or len(node.args) >= len(_METHOD_GUARDS)
            or not self._is_plain(node)
            or name in _SPECIAL_NAMES
            or name.startswith("__")
        ):
            return "m"
        return _METHOD_GUARDS[len(node.args)]

    def _own_guard(self, func: ast.Attribute, node: ast.Call) -> str | None:
        """The guard of `object.__getattribute__(x, "name")` and `object.__setattr__(x, name, value)`."""
        if self.branching or not isinstance(func.value, ast.Name) or func.value.id != "object":
            return None
        if not self._is_plain(node):
            return None
        if func.attr == "__setattr__" and len(node.args) == 3:
            return "os"
        if func.attr == "__getattribute__" and len(node.args) == 2:
            name = node.args[1]
            text = name.value if isinstance(name, ast.Constant) else None
            if isinstance(text, str) and not text.startswith("__") and text not in _SPECIAL_NAMES:
                return "og"
        return None

    def _calls_python(self, name: str) -> bool:
        """Whether a name most likely stands for a function that is written in Python."""
        if self.branching or not self._function_depth():
            return False
        return name in self.functions or name in _PYTHON_BUILTINS

    def _plain_call(self, func: ast.Name, node: ast.Call) -> ast.expr:
        """`(f if f is a function else guarded(f))(arguments)`: Python calls Python at once.

        The function in which the call stands counts it as a step.
        """
        for scope in reversed(self.scopes):
            if scope.kind == "function":
                scope.calls = True
                break

        def load() -> ast.expr:
            return self._at(ast.Name(func.id, ast.Load()), func)

        kind = self._at(ast.Attribute(load(), "__class__", ast.Load()), func)
        test = self._at(ast.Compare(kind, [ast.Is()], [self._load("FT", func)]), func)
        callee = self._at(ast.IfExp(test, load(), self._guard("W", func, load())), func)
        return self._at(ast.Call(callee, node.args, []), node)

    # -- operators -----------------------------------------------------------------

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        node.left = self.visit(node.left)
        node.right = self.visit(node.right)
        name = _BINARY_GUARDS.get(type(node.op))
        if isinstance(node.op, ast.BitOr) and self.branching and self._function_depth():
            name = "or"
        return self._guard(name, node, node.left, node.right) if name else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        left = self.visit(node.left)
        comparators = [self.visit(c) for c in node.comparators]
        if any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops) and not any(
            isinstance(side, ast.Constant) for side in (left, *comparators)
        ):
            left, *comparators = (self._settled(side) for side in (left, *comparators))
        if not any(type(op) in _COMPARE_GUARDS for op in node.ops):
            node.left, node.comparators = left, comparators
            return node
        if len(node.ops) == 1:
            if isinstance(comparators[0], ast.Constant) and comparators[0].value is None:
                if isinstance(node.ops[0], ast.Is):
                    return self._guard("none", node, left)
                if isinstance(node.ops[0], ast.IsNot):
                    return self._guard("some", node, left)
            if isinstance(node.ops[0], ast.In) and self._may_repeat(left, comparators[0]):
                return self._membership(node, left, comparators[0])
            return self._guard(_COMPARE_GUARDS[type(node.ops[0])], node, left, comparators[0])
        parts: list[ast.expr] = []
        for index, op in enumerate(node.ops):
            right = comparators[index]
            if index < len(node.ops) - 1:
                name = self._fresh()
                right = self._at(
                    ast.NamedExpr(self._at(ast.Name(name, ast.Store()), node), right), node
                )
                following: ast.expr = self._at(ast.Name(name, ast.Load()), node)
            else:
                following = right
            kind = _COMPARE_GUARDS.get(type(op))
            parts.append(
                self._guard(kind, node, left, right)
                if kind
                else self._at(ast.Compare(left, [op], [right]), node)
            )
            left = following
        return self._at(ast.BoolOp(ast.And(), parts), node)

    def _may_repeat(self, left: ast.expr, right: ast.expr) -> bool:
        """Whether both sides of `in` can be written out twice, and may be a text and a dictionary."""
        return (
            not self.branching
            and isinstance(right, ast.Name)
            and isinstance(left, ast.Name | ast.Constant)
            and (isinstance(left, ast.Name) or isinstance(left.value, str))
        )

    def _membership(self, node: ast.expr, left: ast.expr, right: ast.expr) -> ast.expr:
        """`left in right if they are a text and a dictionary else guarded(left, right)`."""

        def again(part: ast.expr) -> ast.expr:
            if isinstance(part, ast.Name):
                return self._at(ast.Name(part.id, ast.Load()), part)
            assert isinstance(part, ast.Constant)
            return self._text(part.value, part)

        def is_a(part: ast.expr, kind: str) -> ast.expr:
            found = self._at(ast.Attribute(again(part), "__class__", ast.Load()), node)
            return self._at(ast.Compare(found, [ast.Is()], [self._load(kind, node)]), node)

        plain = self._at(ast.Compare(again(left), [ast.In()], [again(right)]), node)
        test = is_a(right, "D")
        if isinstance(left, ast.Name):
            test = self._at(ast.BoolOp(ast.And(), [is_a(left, "S"), test]), node)
        return self._at(ast.IfExp(test, plain, self._guard("in", node, left, right)), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        parts: list[ast.expr] = []
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                spec: ast.expr = (
                    self._text("", node)
                    if value.format_spec is None
                    else self.visit(value.format_spec)
                )
                conversion = self._text(value.conversion, node)
                item: ast.expr = self._at(
                    ast.Tuple([self.visit(value.value), conversion, spec], ast.Load()), value
                )
                parts.append(item)
            else:
                parts.append(value)
        return self._guard("f", node, *parts)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        delayed = self.branching and self._function_depth() and self._may_be_delayed(node)
        node.test = self._test(node.test)
        node.body = self.visit(node.body)
        node.orelse = self.visit(node.orelse)
        return self._guard("q", node, self._thunk(node)) if delayed else node

    def _test(self, node: ast.expr) -> ast.expr:
        """A condition. One that is made of several parts is decided as a whole (see `guards.q`)."""
        compound = self.branching and isinstance(node, ast.BoolOp) and self._may_be_delayed(node)
        test = self._tested(node)
        if compound and self._function_depth():
            return self._guard("q", node, self._thunk(test))
        return test

    def _tested(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.BoolOp):
            node.values = [self._tested(v) for v in node.values]
            return node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._tested(node.operand)
            if self.branching and self._function_depth():
                return self._guard("not", node, node.operand)
            return node
        plain = self.branching and isinstance(
            node, ast.Name | ast.Attribute | ast.Call | ast.Subscript
        )
        test: ast.expr = self.visit(node)
        return self._guard("b", node, test) if plain and self._function_depth() else test

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        delayed = self.branching and self._function_depth() and self._may_be_delayed(node)
        node.values = [self.visit(v) for v in node.values]
        if self.branching and self._function_depth():
            node.values[:-1] = [self._guard("e", node, v) for v in node.values[:-1]]
        return self._guard("q", node, self._thunk(node)) if delayed else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return self._tested(node)
        node.operand = self.visit(node.operand)
        return node

    def visit_List(self, node: ast.List) -> ast.expr:
        node.elts = [self.visit(e) for e in node.elts]
        if isinstance(node.ctx, ast.Load):
            return self._made(node)
        return node

    def _made(self, node: ast.expr) -> ast.expr:
        """A container that is made here."""
        return self._guard("n", node, node) if self.branching and self._function_depth() else node

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        named = any(
            isinstance(k, ast.Constant) and isinstance(k.value, str) and k.value.isidentifier()
            for k in node.keys
        )
        node.keys = [self.visit(k) if k is not None else None for k in node.keys]
        node.values = [self.visit(v) for v in node.values]
        if None in node.keys and self.branching and self._function_depth():
            return self._made(self._guard("du", node, *self._display_parts(node)))
        if (
            any(k is not None and not isinstance(k, ast.Constant) for k in node.keys)
            and None not in node.keys
        ):
            keys = self._at(ast.Tuple([k for k in node.keys if k is not None], ast.Load()), node)
            values = self._at(ast.Tuple(node.values, ast.Load()), node)
            return self._guard("dk", node, keys, values)
        if named and self._function_depth():
            return self._made(self._guard("d", node, node))
        return self._made(node)

    def _display_parts(self, node: ast.Dict) -> list[ast.expr]:
        """A display with `**`, as the dictionaries that follow each other."""
        parts: list[ast.expr] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                parts.append(value)
                continue
            if not parts or not isinstance(parts[-1], ast.Dict):
                parts.append(self._at(ast.Dict([], []), value))
            own = parts[-1]
            assert isinstance(own, ast.Dict)
            own.keys.append(key)
            own.values.append(value)
        return parts

    def visit_Set(self, node: ast.Set) -> ast.expr:
        elements = [self.visit(e) for e in node.elts]
        if all(isinstance(e, ast.Constant) for e in elements):
            return node
        return self._guard("set", node, self._at(ast.Tuple(elements, ast.Load()), node))

    def _comprehension(self, node: ast.expr) -> ast.expr:
        generators = node.generators  # type: ignore[attr-defined]
        inside = self._function_depth()
        generators[0].iter = self._iterated(generators[0].iter, "each")
        self.scopes.append(Scope("comprehension", scopes.comprehension_targets(node)))
        for index, generator in enumerate(generators):
            generator.target = self.visit(generator.target)
            if index:
                generator.iter = self._iterated(generator.iter, "each")
            generator.ifs = [self._filter(test) for test in generator.ifs]
        for attribute in ("elt", "key", "value"):
            if hasattr(node, attribute):
                setattr(node, attribute, self.visit(getattr(node, attribute)))
        self.scopes.pop()
        if inside and not isinstance(node, ast.GeneratorExp):
            if self.branching and self._may_be_delayed(node):
                kind = {ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict"}[type(node)]
                return self._guard("comp", node, self._thunk(node), self._text(kind, node))
            return self._made(node)
        if isinstance(node, ast.GeneratorExp) and self.branching and inside:
            again = getattr(node, "made_again", False)
            return (
                self._guard("again", node, self._thunk(node))
                if again
                else self._guard("gen", node, node)
            )
        return node

    def _filter(self, node: ast.expr) -> ast.expr:
        """The test of a comprehension: what it calls decides for this element, not for those after it."""
        calls = any(isinstance(n, ast.Call | ast.BinOp) for n in ast.walk(node))
        delayed = calls and self.branching and self._function_depth() and self._may_be_delayed(node)
        test = self._tested(node)
        return self._guard("q", node, self._thunk(test)) if delayed else test

    def _iterated(self, node: ast.expr, name: str = "it") -> ast.expr:
        result: ast.expr = self.visit(node)
        return self._guard(name, node, result)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # -- signatures ----------------------------------------------------------------

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self._signature(node.args)
        bound, global_names, nonlocal_names = scopes.function_scope(node)
        self.scopes.append(Scope("function", bound, global_names, nonlocal_names))
        node.body = self.visit(node.body)
        self.scopes.pop()
        return node

    def _signature(self, args: ast.arguments) -> None:
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [self.visit(d) if d is not None else None for d in args.kw_defaults]
        for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
            if arg is not None and arg.annotation is not None:
                arg.annotation = self._quoted(arg.annotation)

    def _quoted(self, annotation: ast.expr) -> ast.expr:
        """Annotations of functions stay text, as under `from __future__ import annotations`."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            return annotation
        return self._text(ast.unparse(annotation), annotation)
