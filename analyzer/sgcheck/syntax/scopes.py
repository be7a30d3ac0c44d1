"""Which names a function binds: what the translator must know to tell a local from a module name."""

from __future__ import annotations

import ast
from collections.abc import Iterable

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Binder(ast.NodeVisitor):
    """Collects the names bound in one scope, without entering nested scopes."""

    def __init__(self) -> None:
        self.bound: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)

    def visit_Global(self, node: ast.Global) -> None:
        self.globals.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.nonlocals.update(node.names)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.bound.add(alias.asname or alias.name.split(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.bound.add(alias.asname or alias.name)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self.bound.add(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.bound.add(node.rest)
        self.generic_visit(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.bound.add(node.name)
        for expression in _outer_expressions(node):
            self.visit(expression)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._definition(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._definition(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)

    def _comprehension(self, node: ast.AST) -> None:
        # Only an assignment expression inside binds in the enclosing scope.
        for child in ast.walk(node):
            if isinstance(child, ast.NamedExpr) and isinstance(child.target, ast.Name):
                self.bound.add(child.target.id)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def _outer_expressions(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
) -> Iterable[ast.expr]:
    yield from node.decorator_list
    if isinstance(node, ast.ClassDef):
        yield from node.bases
        yield from (keyword.value for keyword in node.keywords)
    else:
        yield from node.args.defaults
        yield from (default for default in node.args.kw_defaults if default is not None)


def parameters(args: ast.arguments) -> set[str]:
    """Names of all parameters."""
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    names = {a.arg for a in every}
    if args.vararg:
        names.add(args.vararg.arg)
    if args.kwarg:
        names.add(args.kwarg.arg)
    return names


def function_scope(node: FunctionNode) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """(bound, global, nonlocal) names of a function; bound excludes the other two."""
    binder = _Binder()
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    for statement in body:
        binder.visit(statement)
    bound = (binder.bound | parameters(node.args)) - binder.globals - binder.nonlocals
    return frozenset(bound), frozenset(binder.globals), frozenset(binder.nonlocals)


def comprehension_targets(node: ast.AST) -> frozenset[str]:
    """Names that the `for` clauses of one comprehension bind."""
    binder = _Binder()
    for generator in getattr(node, "generators", ()):
        binder.visit(generator.target)
    return frozenset(binder.bound)
