"""`if` statements whose two ways can be joined again right after the statement.

In the branching translation such a statement becomes two local functions that assign the
enclosing function's locals, and a call of the guard `if`: where the test is not known, the guard
runs both ways and joins what they did, so that the rest of the function runs once.
"""

from __future__ import annotations

import ast

from sgcheck.syntax.names import PREFIX
from sgcheck.syntax.scopes import _Binder

_LEAVING = (
    ast.Return,
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
    ast.Global,
    ast.Nonlocal,
    ast.Delete,
)
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def can_join(node: ast.If) -> bool:
    """Whether control always reaches the end of the statement (or raises), and nothing needs its frame."""
    return not any(_leaves(statement, in_loop=False) for statement in [*node.body, *node.orelse])


def _leaves(node: ast.AST, in_loop: bool) -> bool:
    if isinstance(node, _LEAVING):
        return True
    if isinstance(node, ast.Break | ast.Continue) and not in_loop:
        return True
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("super", "locals", "vars", "dir")
        and not node.args
    ):
        return True
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        return True
    if isinstance(node, _NESTED):
        return isinstance(node, ast.ClassDef) or _uses_super(node)
    inside = in_loop or isinstance(node, ast.For | ast.While | ast.AsyncFor)
    return any(_leaves(child, inside) for child in ast.iter_child_nodes(node))


def _uses_super(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Name) and n.id == "super" for n in ast.walk(node))


def written_names(node: ast.If) -> set[str]:
    """Names that the statement's bodies bind."""
    binder = _Binder()
    for statement in [*node.body, *node.orelse]:
        binder.visit(statement)
    return binder.bound


def joined(node: ast.If, written: list[str], name: str, guard: ast.expr) -> list[ast.stmt]:
    """The statement as two local functions and a call of the guard."""
    then, other = f"{PREFIX}y{name[1:]}", f"{PREFIX}n{name[1:]}"
    out: list[ast.stmt] = [_function(then, node.body, written, node)]
    if node.orelse:
        out.append(_function(other, node.orelse, written, node))
    no: ast.expr = ast.Name(other, ast.Load()) if node.orelse else ast.Constant(None)
    call = ast.Call(guard, [node.test, ast.Name(then, ast.Load()), no], [])
    statement = ast.Expr(call)
    for made in (call, statement, no, call.args[1]):
        ast.copy_location(made, node)
    out.append(statement)
    return out


def _function(name: str, body: list[ast.stmt], written: list[str], at: ast.stmt) -> ast.FunctionDef:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    content: list[ast.stmt] = (
        [ast.copy_location(ast.Nonlocal(list(written)), at), *body] if written else body
    )
    return ast.copy_location(ast.FunctionDef(name, nothing, content, []), at)


def binding(names: list[str], at: ast.stmt) -> ast.stmt:
    """A statement that never runs and makes the names locals of the enclosing function."""
    targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in names]
    assign = ast.Assign(targets, ast.Constant(None))
    never = ast.If(ast.Constant(False), [assign], [])
    for node in ast.walk(never):
        if isinstance(node, ast.expr | ast.stmt):
            ast.copy_location(node, at)
    return never
