"""Which locals of a function nobody reads outside one statement.

What such a name holds behind that statement is part of no answer, so ways that differ in nothing
else are the same.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

_LATER = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.GeneratorExp,
)
"""What may read a name after the statement in which it stands."""
_BY_NAME = frozenset({"locals", "vars", "dir", "eval", "exec"})
"""Builtins that may read any local."""


class Liveness:
    """The reads of names in one function, counted before anything in it is rewritten."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self._reads = Counter(_reads([function]))
        self._shared = {
            name
            for node in ast.walk(function)
            if isinstance(node, ast.Global | ast.Nonlocal)
            for name in node.names
        }

    def turn_names(self, loop: ast.For) -> list[str]:
        """Names that a loop binds at each turn, if nothing but the body of the loop reads them.

        Empty where the target is not made of plain names.
        """
        names = _plain_names(loop.target)
        if names is None or not self._reads.keys().isdisjoint(_BY_NAME):
            return []
        inside = Counter(_reads(loop.body))
        later = [n for s in loop.body for n in ast.walk(s) if isinstance(n, _LATER)]
        captured = {n.id for one in later for n in ast.walk(one) if isinstance(n, ast.Name)}
        return [
            name
            for name in names
            if self._reads[name] == inside[name]
            and name not in captured
            and name not in self._shared
        ]


def _plain_names(target: ast.expr) -> list[str] | None:
    if isinstance(target, ast.Name):
        return [target.id]
    if not isinstance(target, ast.Tuple | ast.List):
        return None
    names: list[str] = []
    for element in target.elts:
        inner = _plain_names(element)
        if inner is None:
            return None
        names.extend(inner)
    return names


def _reads(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for root in nodes:
        for node in ast.walk(root):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                yield node.target.id
