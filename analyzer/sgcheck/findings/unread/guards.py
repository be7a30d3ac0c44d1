"""The conditions under which a piece of code runs, as far as its own function shows them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

from sgcheck.findings.unread.code import Module

Guard: TypeAlias = tuple[ast.expr, bool]
"""A test, and the truth that it must have."""

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def guards(module: Module, node: ast.AST) -> Iterator[Guard]:
    """What must hold for `node` to run once the function around it runs, the innermost first."""
    for parent, child in module.chain(node):
        if isinstance(parent, ast.If):
            if child in parent.body:
                yield parent.test, True
                yield from _before(parent.body, child)
            elif child in parent.orelse:
                yield parent.test, False
                yield from _before(parent.orelse, child)
        elif isinstance(parent, ast.IfExp):
            if child is not parent.test:
                yield parent.test, child is parent.body
        elif isinstance(parent, ast.BoolOp) and child in parent.values:
            truth = isinstance(parent.op, ast.And)
            for earlier in parent.values[: parent.values.index(child)]:
                yield earlier, truth
        elif isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if child in parent.body:
                yield from _before(parent.body, child)
                return
        elif isinstance(parent, ast.Lambda):
            continue
        else:
            for name in ("body", "orelse", "finalbody"):
                block = getattr(parent, name, None)
                if isinstance(block, list) and child in block:
                    yield from _before(block, child)


def _before(block: list[ast.stmt], child: ast.AST) -> Iterator[Guard]:
    """What earlier statements of a block leave by: `if test: return`."""
    for statement in block:
        if statement is child:
            return
        if (
            isinstance(statement, ast.If)
            and isinstance(statement.body[-1], _LEAVES)
            and not statement.orelse
        ):
            yield statement.test, False
