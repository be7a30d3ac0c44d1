"""Guarded translation: a module of the tree becomes restricted Python that CPython runs.

Everything that can meet an unknown, reach something foreign or change an object goes through a
guard (see `interp/guards.py`); all the rest stays as it is written, with its own line numbers, so
that tracebacks, log calls and field writes report the tree's lines. Relative imports are made
absolute, and `from m import a` at module level binds a lazy name, so that an import that is never
used does not cost its module.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TypeVar

from sgcheck.syntax import branches, scopes
from sgcheck.syntax.names import (
    FORBIDDEN_ATTRIBUTES,
    GUARDED_ATTRIBUTES,
    PREFIX,
    guard,
)

VERSION = 6
"""Raised whenever translated code changes: part of the cache key."""

_BINARY_GUARDS = {
    ast.Add: "add",
    ast.Mult: "mul",
    ast.Pow: "pow",
    ast.LShift: "shl",
    ast.Mod: "mod",
}
_AUGMENTED = {
    ast.Add: "iadd",
    ast.Sub: "isub",
    ast.Mult: "imul",
    ast.Div: "itruediv",
    ast.FloorDiv: "ifloordiv",
    ast.Mod: "imod",
    ast.Pow: "ipow",
    ast.LShift: "ilshift",
    ast.RShift: "irshift",
    ast.BitOr: "ior",
    ast.BitAnd: "iand",
    ast.BitXor: "ixor",
    ast.MatMult: "imatmul",
}
_COMPARE_GUARDS: dict[type[ast.cmpop], str] = {
    ast.In: "in",
    ast.NotIn: "nin",
    ast.Is: "is",
    ast.IsNot: "isn",
}
# Calls that must stay plain calls: the interpreter looks at the calling frame.
_FRAME_CALLS = frozenset({"super", "locals", "globals", "vars", "dir"})
_T = TypeVar("_T", bound=ast.AST)
_ANY_ALL = frozenset({"any", "all"})


class TranslationRefused(Exception):
    """The source cannot be run under guard; `line` says where."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(slots=True)
class _Scope:
    kind: str  # "module" | "class" | "function" | "comprehension"
    bound: frozenset[str]
    globals: frozenset[str] = frozenset()
    nonlocals: frozenset[str] = frozenset()
    class_name: str | None = None
    joined: set[str] = field(default_factory=set)


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _assertion_place(test: ast.expr) -> ast.expr | None:
    """The comparison whose line CPython 3.11 gives to a failing `assert`, if there is one."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _assertion_place(test.operand)
    if isinstance(test, ast.BoolOp | ast.IfExp):
        parts = test.values if isinstance(test, ast.BoolOp) else [test.test, test.body, test.orelse]
        places = [place for part in parts if (place := _assertion_place(part)) is not None]
        return places[-1] if places else None
    return test if isinstance(test, ast.Compare) else None


class Translator(ast.NodeTransformer):
    """Rewrites one module. `name` is its dotted name; `package` the package that it belongs to."""

    def __init__(
        self, name: str, is_package: bool, *, eager: bool = False, branching: bool = False
    ) -> None:
        self.name = name
        self.package = name if is_package else name.rpartition(".")[0]
        self.eager = eager
        self.branching = branching
        self.plain_text = False
        """Whether the source is ASCII (set by who has it)."""
        self.scopes: list[_Scope] = []
        self.lazy: set[str] = set()
        self.quoted_annotations = False
        self._in_try = 0
        self._temporary = 0

    # -- helpers -------------------------------------------------------------------

    @property
    def scope(self) -> _Scope:
        return self.scopes[-1]

    def _function_depth(self) -> bool:
        return any(s.kind == "function" for s in self.scopes)

    def _load(self, name: str, at: ast.AST) -> ast.Name:
        return self._at(ast.Name(guard(name), ast.Load()), at)

    @staticmethod
    def _at(node: _T, at: ast.AST) -> _T:
        return ast.copy_location(node, at)

    def _guard(self, name: str, at: ast.AST, *args: ast.expr) -> ast.Call:
        return self._at(ast.Call(self._load(name, at), list(args), []), at)

    def _text(self, value: object, at: ast.AST) -> ast.Constant:
        return self._at(ast.Constant(value), at)  # type: ignore[arg-type]

    def _fresh(self) -> str:
        self._temporary += 1
        return f"{PREFIX}{self._temporary}"

    def _is_module_name(self, name: str) -> bool:
        """Whether `name`, read here, is the module's (or a builtin), not a local."""
        for scope in reversed(self.scopes):
            if scope.kind == "module":
                return True
            if name in scope.globals:
                return True
            if scope.kind == "class" and scope is not self.scopes[-1]:
                continue
            if name in scope.bound or name in scope.nonlocals:
                return False
        return True

    def _mangle(self, name: str) -> str:
        if name.startswith("__") and not name.endswith("__"):
            for scope in reversed(self.scopes):
                if scope.kind == "class" and scope.class_name:
                    stripped = scope.class_name.lstrip("_")
                    return f"_{stripped}{name}" if stripped else name
        return name

    def _check_name(self, name: str, node: ast.AST) -> None:
        if PREFIX in name:
            raise TranslationRefused(
                f"the identifier {name!r} uses a reserved letter", getattr(node, "lineno", None)
            )

    # -- module --------------------------------------------------------------------

    def module(self, tree: ast.Module) -> ast.Module:
        """Translate a whole module (in place)."""
        if not self.plain_text:
            self._check_names(tree)
        self.quoted_annotations = any(
            isinstance(s, ast.ImportFrom)
            and s.module == "__future__"
            and any(a.name == "annotations" for a in s.names)
            for s in tree.body
        )
        self.scopes.append(_Scope("module", frozenset()))
        if not self.eager:
            self._find_lazy(tree.body)
        tree.body = self._body(tree.body)
        self.scopes.pop()
        return tree

    def _check_names(self, tree: ast.AST) -> None:
        """Refuse identifiers that could shadow a guard (only text beyond ASCII can hold one)."""
        for node in ast.walk(tree):
            for attribute in ("id", "arg", "attr", "name", "asname", "rest"):
                value = getattr(node, attribute, None)
                if isinstance(value, str):
                    self._check_name(value, node)

    def expression(self, node: ast.expr) -> ast.expr:
        """Translate one expression of the module's namespace (a string annotation)."""
        for child in ast.walk(node):
            for attribute in ("id", "arg", "attr"):
                value = getattr(child, attribute, None)
                if isinstance(value, str):
                    self._check_name(value, child)
        self.scopes.append(_Scope("module", frozenset()))
        self.eager = True
        result: ast.expr = self.visit(node)
        self.scopes.pop()
        ast.fix_missing_locations(result)
        return result

    def _find_lazy(self, body: list[ast.stmt]) -> None:
        """Names that only lazy imports bind: a name bound in another way as well is not lazy."""
        from_imports: set[str] = set()
        other: set[str] = set()
        stack: list[ast.stmt] = list(body)
        binder = scopes._Binder()
        while stack:
            statement = stack.pop()
            if isinstance(statement, ast.ImportFrom):
                if self._may_be_lazy(statement):
                    from_imports.update(a.asname or a.name for a in statement.names)
                else:
                    other.update(a.asname or a.name for a in statement.names)
            elif isinstance(statement, ast.If):
                stack.extend(statement.body)
                stack.extend(statement.orelse)
                binder.visit(statement.test)
            else:
                binder.visit(statement)
        self.lazy = from_imports - other - binder.bound

    def _may_be_lazy(self, node: ast.ImportFrom) -> bool:
        if any(a.name == "*" for a in node.names):
            return False
        module = self._absolute(node)
        root = self.name.split(".")[0]
        if module == "__future__" or module.split(".")[0] != root:
            return False
        # A package that imports its own submodules does so to register what they define.
        return not (
            self.package == self.name
            and (module == self.name or module.startswith(self.name + "."))
        )

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        base = self.package.split(".")
        if node.level - 1 > len(base) - 1:
            return "." * node.level + (node.module or "")
        base = base[: len(base) - (node.level - 1)]
        return ".".join([*base, node.module] if node.module else base)

    def _body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in statements:
            result = self.visit(statement)
            if isinstance(result, list):
                out.extend(result)
            elif result is not None:
                out.append(result)
        return out

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
        func = node.func
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [self.visit(k) for k in node.keywords]
        if isinstance(func, ast.Name):
            if func.id in _FRAME_CALLS and not node.args and self._is_module_name(func.id):
                return node
            if (
                func.id in _ANY_ALL
                and len(node.args) == 1
                and isinstance(node.args[0], ast.GeneratorExp)
                and self._is_module_name(func.id)
                and self._may_be_delayed(node.args[0])
            ):
                return self._guard(func.id, node, self._thunk(node.args[0]))
        if isinstance(func, ast.Attribute):
            value = self.visit(func.value)
            call = ast.Call(
                self._load("m", node),
                [value, self._text(self._mangle(func.attr), func), *node.args],
                node.keywords,
            )
            self._at(call, node)
            # CPython gives a method call the line of the method's name.
            if func.end_lineno is not None and func.end_lineno != node.lineno:
                call.lineno = func.end_lineno
                call.col_offset = max((func.end_col_offset or 0) - len(func.attr), 0)
            return call
        return self._at(
            ast.Call(self._load("c", node), [self.visit(func), *node.args], node.keywords), node
        )

    def _thunk(self, body: ast.expr) -> ast.Lambda:
        # The parameter marks a lambda that the source does not have.
        marker = self._at(ast.arg(PREFIX), body)
        nothing = ast.arguments(
            posonlyargs=[],
            args=[marker],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[self._text(None, body)],
        )
        return self._at(ast.Lambda(nothing, body), body)

    def _may_be_delayed(self, node: ast.expr) -> bool:
        """Whether `lambda: node` means the same as `node` here."""
        if self.scope.kind == "class":
            return False
        return not any(
            isinstance(n, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await)
            for n in ast.walk(node)
        )

    # -- operators -----------------------------------------------------------------

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        node.left = self.visit(node.left)
        node.right = self.visit(node.right)
        name = _BINARY_GUARDS.get(type(node.op))
        return self._guard(name, node, node.left, node.right) if name else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        left = self.visit(node.left)
        comparators = [self.visit(c) for c in node.comparators]
        if not any(type(op) in _COMPARE_GUARDS for op in node.ops):
            node.left, node.comparators = left, comparators
            return node
        if len(node.ops) == 1:
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
        compound = isinstance(node, ast.BoolOp) and self._may_be_delayed(node)
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
        plain = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        test: ast.expr = self.visit(node)
        return self._guard("b", node, test) if plain and self._function_depth() else test

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        delayed = self.branching and self._function_depth() and self._may_be_delayed(node)
        node.values = [self.visit(v) for v in node.values]
        return self._guard("q", node, self._thunk(node)) if delayed else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return self._tested(node)
        node.operand = self.visit(node.operand)
        return node

    def visit_List(self, node: ast.List) -> ast.expr:
        node.elts = [self.visit(e) for e in node.elts]
        if isinstance(node.ctx, ast.Load) and self._function_depth():
            return self._guard("n", node, node)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        named = any(
            isinstance(k, ast.Constant) and isinstance(k.value, str) and k.value.isidentifier()
            for k in node.keys
        )
        node.keys = [self.visit(k) if k is not None else None for k in node.keys]
        node.values = [self.visit(v) for v in node.values]
        if (
            any(k is not None and not isinstance(k, ast.Constant) for k in node.keys)
            and None not in node.keys
        ):
            keys = self._at(ast.Tuple([k for k in node.keys if k is not None], ast.Load()), node)
            values = self._at(ast.Tuple(node.values, ast.Load()), node)
            return self._guard("dk", node, keys, values)
        if named and self._function_depth():
            return self._guard("n", node, self._guard("d", node, node))
        return self._guard("n", node, node) if self._function_depth() else node

    def visit_Set(self, node: ast.Set) -> ast.expr:
        elements = [self.visit(e) for e in node.elts]
        if all(isinstance(e, ast.Constant) for e in elements):
            return node
        return self._guard("set", node, self._at(ast.Tuple(elements, ast.Load()), node))

    # -- functions and classes -----------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt | list[ast.stmt]:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        self._signature(node.args)
        if node.returns is not None:
            node.returns = self._quoted(node.returns)
        bound, global_names, nonlocal_names = scopes.function_scope(node)
        declared_global = node.name in self.scope.globals
        self.scopes.append(_Scope("function", bound, global_names, nonlocal_names))
        outer_try, self._in_try = self._in_try, 0
        body = self._body(node.body)
        self._in_try = outer_try
        shared = sorted(self.scopes.pop().joined)
        setters = [self._setter(name, node) for name in sorted(nonlocal_names)]
        if setters:
            at = 1 if body and _is_docstring(body[0]) else 0
            while at < len(body) and isinstance(body[at], ast.Nonlocal | ast.Global):
                at += 1
            declarations = [s for s in body if isinstance(s, ast.Nonlocal)]
            body = [s for s in body if not isinstance(s, ast.Nonlocal)]
            body[0:0] = [*declarations, *setters]
        if shared:
            at = 1 if body and _is_docstring(body[0]) else 0
            body[at:at] = [branches.binding(shared, node)]
        node.body = body
        if declared_global:
            name = self._at(ast.Name(node.name, ast.Load()), node)
            return [
                node,
                self._at(
                    ast.Expr(self._guard("sg", node, name, self._text(node.name, node))), node
                ),
            ]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt | list[ast.stmt]:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt | list[ast.stmt]:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self._signature(node.args)
        bound, global_names, nonlocal_names = scopes.function_scope(node)
        self.scopes.append(_Scope("function", bound, global_names, nonlocal_names))
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

    def _setter(self, name: str, at: ast.AST) -> ast.FunctionDef:
        argument = self._at(ast.arg(f"{PREFIX}v"), at)
        args = ast.arguments(
            posonlyargs=[], args=[argument], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        assign = ast.Assign([ast.Name(name, ast.Store())], ast.Name(f"{PREFIX}v", ast.Load()))
        body: list[ast.stmt] = [ast.Nonlocal([name]), assign]
        for statement in body:
            for inner in ast.walk(statement):
                if isinstance(inner, ast.expr | ast.stmt):
                    self._at(inner, at)
        return self._at(ast.FunctionDef(f"{PREFIX}set_{name}", args, body, []), at)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.bases = [self.visit(b) for b in node.bases]
        node.keywords = [self.visit(k) for k in node.keywords]
        binder = scopes._Binder()
        for statement in node.body:
            binder.visit(statement)
        self.scopes.append(
            _Scope(
                "class",
                frozenset(binder.bound - binder.globals),
                frozenset(binder.globals),
                class_name=node.name,
            )
        )
        node.body = self._body(node.body)
        self.scopes.pop()
        return node

    def _comprehension(self, node: ast.expr) -> ast.expr:
        generators = node.generators  # type: ignore[attr-defined]
        inside = self._function_depth()
        generators[0].iter = self._iterated(generators[0].iter)
        self.scopes.append(_Scope("comprehension", scopes.comprehension_targets(node)))
        for index, generator in enumerate(generators):
            generator.target = self.visit(generator.target)
            if index:
                generator.iter = self._iterated(generator.iter)
            generator.ifs = [self._tested(test) for test in generator.ifs]
        for attribute in ("elt", "key", "value"):
            if hasattr(node, attribute):
                setattr(node, attribute, self.visit(getattr(node, attribute)))
        self.scopes.pop()
        if inside and not isinstance(node, ast.GeneratorExp):
            return self._guard("n", node, node)
        return node

    def _iterated(self, node: ast.expr) -> ast.expr:
        result: ast.expr = self.visit(node)
        return self._guard("it", node, result) if self._function_depth() else result

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # -- statements ----------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        node.value = self.visit(node.value)
        if len(node.targets) == 1:
            return self._store(node.targets[0], node.value, node)
        name = self._fresh()
        out: list[ast.stmt] = [
            self._at(ast.Assign([self._at(ast.Name(name, ast.Store()), node)], node.value), node)
        ]
        for target in node.targets:
            out.extend(self._store(target, self._at(ast.Name(name, ast.Load()), node), node))
        return out

    def _store(self, target: ast.expr, value: ast.expr, at: ast.stmt) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            return self._store_name(target.id, value, at)
        if isinstance(target, ast.Attribute):
            obj = self.visit(target.value)
            name = self._text(self._mangle(target.attr), at)
            return [self._at(ast.Expr(self._guard("sa", at, value, obj, name)), at)]
        if isinstance(target, ast.Subscript):
            obj, key = self.visit(target.value), self._slice(self.visit(target.slice))
            return [self._at(ast.Expr(self._guard("si", at, value, obj, key)), at)]
        target, after = self._plain_target(target, at)
        return [self._at(ast.Assign([target], value), at), *after]

    def _store_name(self, name: str, value: ast.expr, at: ast.stmt) -> list[ast.stmt]:
        if name in self.scope.globals:
            return [self._at(ast.Expr(self._guard("sg", at, value, self._text(name, at))), at)]
        assign = self._at(ast.Assign([self._at(ast.Name(name, ast.Store()), at)], value), at)
        return [*self._before_nonlocal({name}, at), assign]

    def _before_nonlocal(self, names: set[str], at: ast.stmt) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for name in sorted(names & self.scope.nonlocals):
            setter = self._at(ast.Name(f"{PREFIX}set_{name}", ast.Load()), at)
            current = self._thunk(self._at(ast.Name(name, ast.Load()), at))
            out.append(self._at(ast.Expr(self._guard("nl", at, setter, current)), at))
        return out

    def _plain_target(self, target: ast.expr, at: ast.stmt) -> tuple[ast.expr, list[ast.stmt]]:
        """A target made of names only, and the statements that store the rest."""
        if isinstance(target, ast.Name) and target.id not in self.scope.globals:
            return target, []
        if isinstance(target, ast.Starred):
            inner, after = self._plain_target(target.value, at)
            return self._at(ast.Starred(inner, ast.Store()), target), after
        if isinstance(target, ast.Tuple | ast.List):
            elements: list[ast.expr] = []
            after = []
            for element in target.elts:
                plain, more = self._plain_target(element, at)
                elements.append(plain)
                after.extend(more)
            target.elts = elements
            return target, after
        name = self._fresh()
        value = self._at(ast.Name(name, ast.Load()), target)
        return self._at(ast.Name(name, ast.Store()), target), self._store(target, value, at)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | list[ast.stmt]:
        if self.scope.kind == "function" or not isinstance(node.target, ast.Name):
            if node.value is None:
                return (
                    [self._at(ast.Pass(), node)]
                    if not isinstance(node.target, ast.Name)
                    else [self._bare(node)]
                )
            return self._store(node.target, self.visit(node.value), node)
        node.annotation = (
            self._quoted(node.annotation)
            if self.quoted_annotations
            else self.visit(node.annotation)
        )
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def _bare(self, node: ast.AnnAssign) -> ast.stmt:
        node.annotation = self._text("", node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        value = self.visit(node.value)
        op = _AUGMENTED[type(node.op)]
        target = node.target
        if isinstance(target, ast.Name):
            current = self.visit(self._at(ast.Name(target.id, ast.Load()), node))
            return self._store_name(target.id, self._guard(op, node, current, value), node)
        out: list[ast.stmt] = []

        def keep(expression: ast.expr) -> ast.Name:
            name = self._fresh()
            out.append(
                self._at(
                    ast.Assign([self._at(ast.Name(name, ast.Store()), node)], expression), node
                )
            )
            return self._at(ast.Name(name, ast.Load()), node)

        if isinstance(target, ast.Attribute):
            obj = keep(self.visit(target.value))
            attr = self._text(self._mangle(target.attr), node)
            current = self._guard("a", node, obj, attr)
            result = self._guard(op, node, current, value)
            out.append(self._at(ast.Expr(self._guard("sa", node, result, obj, attr)), node))
            return out
        assert isinstance(target, ast.Subscript)
        obj, key = keep(self.visit(target.value)), keep(self._slice(self.visit(target.slice)))
        result = self._guard(op, node, self._guard("i", node, obj, key), value)
        out.append(self._at(ast.Expr(self._guard("si", node, result, obj, key)), node))
        return out

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                call = self._guard(
                    "da",
                    node,
                    self.visit(target.value),
                    self._text(self._mangle(target.attr), node),
                )
                out.append(self._at(ast.Expr(call), node))
            elif isinstance(target, ast.Subscript):
                call = self._guard(
                    "di", node, self.visit(target.value), self._slice(self.visit(target.slice))
                )
                out.append(self._at(ast.Expr(call), node))
            else:
                out.append(self._at(ast.Delete([target]), node))
        return out

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        joins = self.branching and self._function_depth() and branches.can_join(node)
        written = branches.written_names(node) if joins else set()
        if joins and not self._are_local(written):
            joins = False
        node.test = self._test(node.test)
        node.body = self._body(node.body)
        node.orelse = self._body(node.orelse)
        if joins:
            self.scope.joined.update(written)
            return branches.joined(node, sorted(written), self._fresh(), self._load("if", node))
        if self.branching and self._function_depth():
            node.test = self._guard("o", node.test, node.test)
        return node

    def _are_local(self, names: set[str]) -> bool:
        """Whether all names are plain locals of the function that is being translated."""
        scope = self.scope
        return scope.kind == "function" and all(n in scope.bound for n in names)

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """`if not test: raise AssertionError(message)`, at the line that CPython 3.11 reports."""
        place = _assertion_place(node.test) or node
        test = self._test(node.test)
        message = [self.visit(node.msg)] if node.msg is not None else []
        error = self._at(ast.Call(self._load("AE", place), message, []), place)
        fail = self._at(ast.Raise(error, None), place)
        if self.branching and self._function_depth():
            refuse = self._guard("not", node.test, test)
            plain = ast.If(refuse, [fail], [])
            self._at(plain, node)
            return branches.joined(plain, [], self._fresh(), self._load("if", node))  # type: ignore[return-value]
        return self._at(ast.If(self._at(ast.UnaryOp(ast.Not(), test), node.test), [fail], []), node)

    def _tick(self, at: ast.stmt) -> ast.stmt:
        return self._at(ast.Expr(self._guard("t", at)), at)

    def visit_While(self, node: ast.While) -> ast.stmt:
        tick = self._tick(node)
        node.test = self._test(node.test)
        node.body = [tick, *self._body(node.body)]
        node.orelse = self._body(node.orelse)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        tick = self._tick(node)
        node.iter = self._iterated(node.iter)
        target, after = self._plain_target(node.target, node)
        node.target = target
        node.body = [tick, *after, *self._body(node.body)]
        node.orelse = self._body(node.orelse)
        return node

    def visit_With(self, node: ast.With) -> ast.stmt:
        self._in_try += 1
        after: list[ast.stmt] = []
        for item in node.items:
            item.context_expr = self._guard("w", node, self.visit(item.context_expr))
            if item.optional_vars is not None:
                item.optional_vars, more = self._plain_target(item.optional_vars, node)
                after.extend(more)
        node.body = [*after, *self._body(node.body)]
        self._in_try -= 1
        return node

    def _try(self, node: ast.Try) -> ast.stmt:
        self._in_try += 1
        enter, leave = self._guard("try", node), self._guard("endtry", node)
        body = self._body(node.body)
        self._in_try -= 1
        if node.handlers:
            # What the engine itself raises passes through every handler of the tree.
            passing = self._at(
                ast.ExceptHandler(self._load("X", node), None, [self._at(ast.Raise(), node)]), node
            )
            handlers = []
            for handler in node.handlers:
                if handler.type is not None:
                    handler.type = self.visit(handler.type)
                handler.body = self._body(handler.body)
                handlers.append(handler)
            node.handlers = [passing, *handlers]
            inner = ast.Try(
                [self._at(ast.Expr(enter), node), *body], [], [], [self._at(ast.Expr(leave), node)]
            )
            node.body = [self._at(inner, node)]
        else:
            node.body = body
        node.orelse = self._body(node.orelse)
        node.finalbody = self._body(node.finalbody)
        return node

    def visit_Try(self, node: ast.Try) -> ast.stmt:
        return self._try(node)

    def visit_Match(self, node: ast.Match) -> ast.stmt:
        node.subject = self._guard("match", node, self.visit(node.subject))
        for case in node.cases:
            case.pattern = self.visit(case.pattern)
            if case.guard is not None:
                case.guard = self.visit(case.guard)
            case.body = self._body(case.body)
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.pattern:
        return node

    # -- imports -------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for alias in node.names:
            bound = alias.asname or alias.name.split(".")[0]
            whole = self._text(alias.asname is not None, node)
            value = self._guard("imp", node, self._text(alias.name, node), whole)
            out.extend(self._store_name(bound, value, node))
        return out

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | list[ast.stmt]:
        module = self._absolute(node)
        if module == "__future__":
            return []
        if node.names[0].name == "*":
            return self._at(ast.Expr(self._guard("star", node, self._text(module, node))), node)
        at_module = all(s.kind == "module" for s in self.scopes) and not self._in_try
        lazy = at_module and not self.eager and self._may_be_lazy(node)
        out: list[ast.stmt] = []
        plain: list[ast.alias] = []
        for alias in node.names:
            bound = alias.asname or alias.name
            if lazy and bound in self.lazy:
                value = self._guard(
                    "lz",
                    node,
                    self._text(module, node),
                    self._text(alias.name, node),
                    self._text(bound, node),
                )
                out.extend(self._store_name(bound, value, node))
            else:
                plain.append(alias)
        if plain:
            names = self._text(tuple(a.name for a in plain), node)
            value = self._guard("from", node, self._text(module, node), names)
            targets: ast.expr = self._at(
                ast.Tuple(
                    [self._at(ast.Name(a.asname or a.name, ast.Store()), node) for a in plain],
                    ast.Store(),
                ),
                node,
            )
            out.extend(self._store(targets, value, node))
        return out

    def visit_TypeAlias(self, node: ast.stmt) -> ast.stmt:
        return node


def translate(
    source: bytes | str, name: str, path: str, *, is_package: bool, eager: bool = False
) -> ast.Module:
    """Parse and translate one module. Raises SyntaxError, ValueError or TranslationRefused."""
    tree = ast.parse(source, filename=path)
    return Translator(name, is_package, eager=eager).module(tree)
