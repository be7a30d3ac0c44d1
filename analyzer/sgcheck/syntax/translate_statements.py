"""Statements: assignments, conditions, loops, `with`, `try`, definitions of functions and classes."""

from __future__ import annotations

import ast
import copy

from sgcheck.syntax import branches, exits, scopes
from sgcheck.syntax.names import PREFIX, guard
from sgcheck.syntax.translate_base import Scope, TranslationRefused
from sgcheck.syntax.translate_patterns import Patterns

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


class Statements(Patterns):
    """The translation of statements, but for imports."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        node.value = self.visit(node.value)
        made = node.value
        if (
            self.branching
            and isinstance(made, ast.Call)
            and isinstance(made.func, ast.Name)
            and made.func.id == guard("c")
        ):
            made.func.id = guard("cd")
        return node

    # -- assignments ---------------------------------------------------------------

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
        return [self._at(ast.Assign([target], self._settled(value)), at), *after]

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
        if isinstance(target, ast.Name) and not (
            target.id in self.scope.globals or target.id in self.scope.nonlocals
        ):
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
        if getattr(node, "translated", False):
            return node
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
        # Where no paths are explored the turns are counted when the loop begins, or by its source.
        tick = [self._tick(node)] if self.branching else []
        node.iter.walked = True  # type: ignore[attr-defined]
        node.iter = self._iterated(node.iter, "it" if self.branching else "each")
        target, after = self._plain_target(node.target, node)
        node.target = target
        node.body = [*tick, *after, *self._body(node.body)]
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
            catching = [h for h in handlers if not _passes_on(h)]
            node.handlers = [passing, *handlers]
            node.body = self._watched(body, catching, node) if catching else body
        else:
            node.body = body
        node.orelse = self._body(node.orelse)
        if node.finalbody:
            # What the engine raises leaves at once: no cleaning up of the tree may swallow it.
            check = self._at(ast.Expr(self._guard("fin", node.finalbody[0])), node.finalbody[0])
            node.finalbody = [check, *self._body(node.finalbody)]
        return node

    def _watched(
        self, body: list[ast.stmt], catching: list[ast.ExceptHandler], node: ast.Try
    ) -> list[ast.stmt]:
        """The body of a `try`, which says while it runs what its handlers would catch."""
        types: ast.expr | None = None
        if all(h.type is not None for h in catching):
            kinds = [copy.deepcopy(h.type) for h in catching if h.type is not None]
            types = self._at(ast.Tuple(kinds, ast.Load()), node)
        told = self._thunk(types) if types is not None and self._may_be_delayed(types) else None
        enter = self._guard("try", node, told if told is not None else self._text(None, node))
        leave = self._guard("endtry", node)
        inner = ast.Try(
            [self._at(ast.Expr(enter), node), *body], [], [], [self._at(ast.Expr(leave), node)]
        )
        return [self._at(inner, node)]

    def visit_Try(self, node: ast.Try) -> ast.stmt:
        return self._try(node)

    def visit_TryStar(self, node: ast.stmt) -> ast.stmt:
        raise TranslationRefused("except* is not modelled", node.lineno)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.stmt:
        tick = self._tick(node)
        node.iter = self.visit(node.iter)
        target, after = self._plain_target(node.target, node)
        node.target = target
        node.body = [tick, *after, *self._body(node.body)]
        node.orelse = self._body(node.orelse)
        return node

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        node.subject = self._guard("match", node, self.visit(node.subject))
        before: list[ast.stmt] = []
        for case in node.cases:
            before.extend(self._pattern(case.pattern))
            if case.guard is not None:
                case.guard = self._tested(case.guard)
            case.body = self._body(case.body)
        return [*before, node]

    # -- functions and classes -----------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt | list[ast.stmt]:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        self._signature(node.args)
        if node.returns is not None:
            node.returns = self._quoted(node.returns)
        if self.branching and isinstance(node, ast.FunctionDef):
            node.body = exits.single_exit(node, self._fresh)
        bound, global_names, nonlocal_names = scopes.function_scope(node)
        declared_global = node.name in self.scope.globals
        self.scopes.append(Scope("function", bound, global_names, nonlocal_names))
        outer_try, self._in_try = self._in_try, 0
        body = self._body(node.body)
        self._in_try = outer_try
        scope = self.scopes.pop()
        shared = sorted(scope.joined)
        if scope.calls:
            at = 1 if len(body) > 1 and _is_docstring(body[0]) else 0
            body.insert(at, self._tick(body[at]))
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
            Scope(
                "class",
                frozenset(binder.bound - binder.globals),
                frozenset(binder.globals),
                class_name=node.name,
            )
        )
        node.body = self._body(node.body)
        self.scopes.pop()
        return node


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler always raises again what it caught (after noting it somewhere)."""
    last = handler.body[-1]
    again = isinstance(last, ast.Raise) and last.exc is None
    return again and not any(
        isinstance(n, ast.Return | ast.Continue | ast.Break | ast.Yield)
        for statement in handler.body
        for n in ast.walk(statement)
    )
