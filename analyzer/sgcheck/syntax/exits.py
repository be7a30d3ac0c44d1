"""Functions that leave in the middle, rewritten so that they leave at their end only.

Behind `if test: return x` the rest of a function runs on some answers only. In the branching
translation the rest moves into an `else`, or under a flag that says whether the function (or the
turn of a loop, or the loop) has been left, so that both ways of each such `if` are joined in
`branches` and nothing before it runs twice. The meaning for known values is unchanged.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from sgcheck.syntax.liveness import Liveness
from sgcheck.syntax.names import guard

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_MAX_DEPTH = 40
"""How deep an `else` may be nested; behind that, flags are asked one after another."""

Block = tuple[list[ast.stmt], frozenset[str], bool]
"""Statements, the flags that they may set, and whether control never reaches their end."""


def single_exit(node: ast.FunctionDef, fresh: Callable[[], str]) -> list[ast.stmt]:
    """The body of a function with one `return` at its end, or the body as it is.

    `fresh` gives names that no source has.
    """
    body = node.body
    if not _needed(body) or _own(body, ast.Yield, ast.YieldFrom, ast.Await):
        return body
    start = 1 if body and _is_text(body[0]) else 0
    return [*body[:start], *_Rewriter(fresh, Liveness(node)).function(body[start:])]


def _needed(body: list[ast.stmt]) -> bool:
    """Whether the function leaves anything before its end."""
    *before, last = body
    if _own(before, ast.Return) or (not isinstance(last, ast.Return) and _own([last], ast.Return)):
        return True
    return any(
        isinstance(node, ast.For) and _own(node.body, ast.Break, ast.Continue)
        for node in _inside(body)
    )


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _inside(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Every node of statements; nested functions are passed as a whole."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPES):
            stack.extend(ast.iter_child_nodes(node))


def _own(body: Sequence[ast.AST], *kinds: type[ast.AST]) -> bool:
    """Whether statements hold a node of a kind, outside nested functions."""
    return any(isinstance(node, kinds) for node in _inside(body))


class _Rewriter:
    """Rewrites one function. `result` holds what it returns, `done` whether it has returned."""

    def __init__(self, fresh: Callable[[], str], liveness: Liveness) -> None:
        self.fresh = fresh
        self.liveness = liveness
        self.result, self.done = fresh(), fresh()
        self.stop: str | None = None
        self.skip: str | None = None
        self.asked: set[str] = set()
        self.depth = 0

    def function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The whole function."""
        out, _, _ = self.block(body)
        first, last = body[0], body[-1]
        before = [_assign(self.result, None, first)]
        if self.done in self.asked:
            before.append(_assign(self.done, False, first))
        end = ast.copy_location(ast.Return(_load(self.result, last)), last)
        return self._unasked([*before, *out, end])

    def _unasked(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Without the flags that nobody asks for."""
        remover = _Remover(self.asked | {self.result})
        return [s for s in (remover.visit(s) for s in body) if s is not None]

    # -- blocks ----------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> Block:
        """A sequence of statements; what stands behind a possible exit runs where it was not taken."""
        out: list[ast.stmt] = []
        flags: frozenset[str] = frozenset()
        self.depth += 1
        try:
            for index, statement in enumerate(body):
                rest = body[index + 1 :]
                if isinstance(statement, ast.If) and rest and self.depth <= _MAX_DEPTH:
                    nested = self._nested(statement, rest)
                    if nested is not None:
                        made, more, always = nested
                        return [*out, made], flags | more, always
                new, more, always = self.statement(statement)
                out.extend(new)
                flags |= more
                if always:
                    return out, flags, True
                if more and rest:
                    following, later, always = self.block(rest)
                    out.append(self._unless(more, following, rest[0]))
                    return out, flags | later, False
            return out, flags, False
        finally:
            self.depth -= 1

    def _nested(
        self, node: ast.If, rest: list[ast.stmt]
    ) -> tuple[ast.stmt, frozenset[str], bool] | None:
        """An `if` one way of which always leaves: the rest belongs to the other way."""
        leaves, leaves_else = _always(node.body), _always(node.orelse)
        if leaves and not leaves_else and _exits(node.body) and not _exits(node.orelse):
            body, set_there, leaves = self.block(node.body)
            other, set_else, leaves_else = self.block([*node.orelse, *rest])
        elif leaves_else and not leaves and _exits(node.orelse) and not _exits(node.body):
            body, set_there, leaves = self.block([*node.body, *rest])
            other, set_else, leaves_else = self.block(node.orelse)
        else:
            return None
        made = ast.copy_location(ast.If(node.test, body, other), node)
        return made, set_there | set_else, leaves and leaves_else

    def _unless(self, flags: frozenset[str], body: list[ast.stmt], at: ast.stmt) -> ast.stmt:
        """`if not (flag or …): body`."""
        self.asked |= flags
        names: list[ast.expr] = [_load(name, at) for name in sorted(flags)]
        asked = names[0] if len(names) == 1 else ast.copy_location(ast.BoolOp(ast.Or(), names), at)
        test = ast.copy_location(ast.UnaryOp(ast.Not(), asked), at)
        return ast.copy_location(ast.If(test, body, []), at)

    # -- statements ------------------------------------------------------------------

    def statement(self, node: ast.stmt) -> Block:
        """One statement."""
        nothing: frozenset[str] = frozenset()
        if isinstance(node, ast.Return):
            value = (
                node.value
                if node.value is not None
                else ast.copy_location(ast.Constant(None), node)
            )
            keep = ast.Assign([ast.copy_location(ast.Name(self.result, ast.Store()), node)], value)
            return (
                [ast.copy_location(keep, node), _assign(self.done, True, node)],
                frozenset({self.done}),
                True,
            )
        if isinstance(node, ast.Break) and self.stop is not None:
            return [_assign(self.stop, True, node)], frozenset({self.stop}), True
        if isinstance(node, ast.Continue) and self.skip is not None:
            return [_assign(self.skip, True, node)], frozenset({self.skip}), True
        if isinstance(node, ast.Raise):
            return [node], nothing, True
        if not isinstance(node, ast.If | ast.For | ast.With | ast.Try | ast.Match) or not _exits(
            [node]
        ):
            return [node], nothing, False
        if isinstance(node, ast.If):
            body, flags, leaves = self.block(node.body)
            other, more, leaves_else = self.block(node.orelse)
            node.body, node.orelse = body or [_nothing(node)], other
            return [node], flags | more, leaves and leaves_else
        if isinstance(node, ast.For):
            return self._loop(node)
        if isinstance(node, ast.With):
            node.body, flags, _ = self.block(node.body)
            return [node], flags, False
        if isinstance(node, ast.Match):
            flags = nothing
            for case in node.cases:
                case.body, more, _ = self.block(case.body)
                flags |= more
            return [node], flags, False
        return self._try(node)

    def _try(self, node: ast.Try) -> Block:
        if _exits(node.finalbody):
            return [node], frozenset(), False
        node.body, flags, leaves = self.block(node.body)
        for handler in node.handlers:
            handler.body, more, left = self.block(handler.body)
            flags |= more
            leaves = leaves and left
        if node.orelse:
            other, more, _ = self.block(node.orelse)
            first = node.orelse[0]
            node.orelse = [self._unless(flags, other, first)] if flags else other
            flags |= more
            leaves = False
        return [node], flags, leaves

    def _loop(self, node: ast.For) -> Block:
        """A loop: once it is left, its further turns do nothing where that holds."""
        may_leave = _own(node.body, ast.Return) or _breaks(node.body)
        outer = self.stop, self.skip
        self.stop, self.skip = self.fresh(), self.fresh()
        stop, skip = self.stop, self.skip
        # The turn that leaves would hold its names beside those of the turns that were not left.
        forgotten = self.liveness.turn_names(node)
        body, flags, _ = self.block(node.body)
        self.stop, self.skip = outer
        if skip in self.asked:
            body = [_assign(skip, False, node), *body]
        before: list[ast.stmt] = []
        # Nothing is left where all exits stand behind something that never ends.
        left = flags - {skip}
        if may_leave and left:
            source, turn = self.fresh(), self.fresh()
            self.asked |= left
            names: list[ast.expr] = [_load(name, node) for name in sorted(left)]
            end = ast.Call(_load(guard("stop"), node), [_load(source, node), *names], [])
            leave = ast.If(ast.copy_location(end, node), [ast.copy_location(ast.Break(), node)], [])
            leave.translated = True  # type: ignore[attr-defined]
            taken = ast.Assign([node.target], _load(turn, node))
            forget = [_forget(name, node) for name in forgotten]
            body = [
                ast.copy_location(leave, node),
                self._unless(left, [ast.copy_location(taken, node), *body, *forget], node),
            ]
            node.iter.walked = True  # type: ignore[attr-defined]
            kept = ast.Assign([ast.copy_location(ast.Name(source, ast.Store()), node)], node.iter)
            before = [ast.copy_location(kept, node)]
            if stop in left:
                before.append(_assign(stop, False, node))
            node.iter = _load(source, node)
            node.target = ast.copy_location(ast.Name(turn, ast.Store()), node)
        after: list[ast.stmt] = []
        more: frozenset[str] = frozenset()
        if node.orelse:
            other, more, _ = self.block(node.orelse)
            ends = flags - {skip}
            after = [self._unless(ends, other, node.orelse[0])] if ends else other
        node.body, node.orelse = body, []
        return [*before, node, *after], (flags - {stop, skip}) | more, False


def _exits(body: Sequence[ast.AST]) -> bool:
    """Whether statements may leave the function or a loop."""
    return _own(body, ast.Return, ast.Break, ast.Continue)


def _always(body: Sequence[ast.stmt]) -> bool:
    """Whether control never reaches the end of the statements."""
    return any(
        isinstance(s, ast.Return | ast.Break | ast.Continue | ast.Raise)
        or (isinstance(s, ast.If) and _always(s.body) and _always(s.orelse))
        for s in body
    )


def _breaks(body: Sequence[ast.AST]) -> bool:
    """Whether a `break` of this very loop is among the statements."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.For | ast.While | ast.AsyncFor):
            stack.extend(node.orelse)
        elif not isinstance(node, _SCOPES):
            stack.extend(ast.iter_child_nodes(node))
    return False


class _Remover(ast.NodeTransformer):
    """Removes assignments of flags that are never asked for."""

    def __init__(self, kept: set[str]) -> None:
        self.kept = kept

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        flag = getattr(node, "flag", None)
        return node if flag is None or flag in self.kept else ast.copy_location(ast.Pass(), node)


def _assign(name: str, value: object, at: ast.stmt) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), at)
    constant = ast.copy_location(ast.Constant(value), at)  # type: ignore[arg-type]
    made = ast.copy_location(ast.Assign([target], constant), at)
    made.flag = name  # type: ignore[attr-defined]
    return made


def _forget(name: str, at: ast.stmt) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), at)
    return ast.copy_location(ast.Assign([target], ast.copy_location(ast.Constant(None), at)), at)


def _load(name: str, at: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Load()), at)


def _nothing(at: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Pass(), at)
