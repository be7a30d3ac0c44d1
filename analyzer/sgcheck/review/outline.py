"""A file as logical lines: what each says whatever its layout, what guards it, what it reads and
writes. Comments, line breaks and the order of functions leave no trace in the texts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

_EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class Line:
    """One statement, or the head of a compound one. Lines count from 1.

    `guards` are indexes of the lines of the same function that decide whether this one runs: heads
    around it, and heads before it under which the function is left.
    """

    start: int
    end: int
    text: str
    depth: int
    guards: tuple[int, ...]
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()

    @property
    def key(self) -> tuple[int, str]:
        """What two lines have in common that say the same in the same place."""
        return self.depth, self.text


@dataclass(slots=True)
class Function:
    """The logical lines of a function, of a class body or of a module ("" for its name)."""

    file: str
    name: str
    lines: list[Line] = field(default_factory=list)

    @property
    def last(self) -> str:
        """The name without what it is nested in."""
        return self.name.rpartition(".")[2]


@dataclass(slots=True)
class Outline:
    """One file. `problem` says why it could not be read; then it has no functions."""

    file: str
    functions: dict[str, Function] = field(default_factory=dict)
    source: list[str] = field(default_factory=list)
    problem: str | None = None
    _at: dict[int, tuple[str, int]] | None = None

    def at(self, line: int) -> tuple[Function, int] | None:
        """The logical line that a line of the source belongs to: its function and index."""
        if self._at is None:
            self._at = self._index()
        found = self._at.get(line)
        return (self.functions[found[0]], found[1]) if found is not None else None

    def _index(self) -> dict[int, tuple[str, int]]:
        """Of several logical lines over one line of the source, the one that starts last."""
        rows = [
            (line.start, line.end, name, index)
            for name, function in self.functions.items()
            for index, line in enumerate(function.lines)
        ]
        found: dict[int, tuple[str, int]] = {}
        for start, end, name, index in sorted(rows):
            for number in range(start, end + 1):
                found[number] = (name, index)
        return found

    def text(self, line: int | None) -> str | None:
        """The statement at a line, folded to one line; None where there is none."""
        found = self.at(line) if line is not None else None
        return found[0].lines[found[1]].text if found is not None else None


@lru_cache(maxsize=1500)
def outline(file: str, content: bytes) -> Outline:
    """Read a file; one that Python does not take has no functions and a `problem`.

    The same content is read once, whichever trees have it.
    """
    from sgcheck.review import outline_cache

    out = Outline(file)
    kept = outline_cache.load(file, content)
    if kept is not None:
        out.functions = {function.name: function for function in kept}
    else:
        _read(out, content)
        if out.problem is not None:
            return out
        outline_cache.store(file, content, list(out.functions.values()))
    out.source = content.decode("utf-8", "replace").splitlines()
    return out


def _read(out: Outline, content: bytes) -> None:
    try:
        tree = ast.parse(content)
        _Reader(out).block(tree.body, _Place(_function(out, ""), (), 0))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        out.functions.clear()
        out.problem = f"{type(error).__name__}: {error}"


def _function(out: Outline, name: str) -> Function:
    """The function of a name; a second definition of one gets a number."""
    unique, number = name, 1
    while unique in out.functions:
        number += 1
        unique = f"{name}#{number}"
    return out.functions.setdefault(unique, Function(out.file, unique))


@dataclass(frozen=True, slots=True)
class _Place:
    function: Function
    guards: tuple[int, ...]
    depth: int

    def inside(self, head: int) -> _Place:
        return _Place(self.function, (*self.guards, head), self.depth + 1)

    def after(self, head: int) -> _Place:
        return _Place(self.function, (*self.guards, head), self.depth)


class _Reader:
    def __init__(self, out: Outline) -> None:
        self.out = out

    def block(self, body: Sequence[ast.stmt], at: _Place) -> None:
        for number, statement in enumerate(body):
            if number == 0 and _is_text(statement):
                continue
            head = self.statement(statement, at)
            if head is not None and isinstance(statement, ast.If) and _leaves(statement):
                at = at.after(head)

    def add(self, at: _Place, start: int, end: int, text: str, parts: Iterable[ast.AST]) -> int:
        reads, writes = _names(parts)
        lines = at.function.lines
        lines.append(Line(start, end, text, at.depth, at.guards, reads, writes))
        return len(lines) - 1

    def head(self, at: _Place, node: ast.stmt, text: str, *parts: ast.AST | None) -> int:
        nodes = [part for part in parts if part is not None]
        end = max((getattr(part, "end_lineno", 0) or 0 for part in nodes), default=0)
        return self.add(at, node.lineno, max(end, node.lineno), text, nodes)

    def statement(self, node: ast.stmt, at: _Place) -> int | None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._definition(node, at)
                return None
            case ast.ClassDef():
                inner = _function(self.out, _qualified(at.function.name, node.name))
                bases = [*node.bases, *(k.value for k in node.keywords), *node.decorator_list]
                text = f"class ({', '.join(map(ast.unparse, bases))})"
                place = _Place(inner, (), 0)
                self.head(place, node, text, *bases)
                self.block(node.body, place)
                return None
            case ast.If():
                return self._if(node, at)
            case ast.While():
                head = self.head(at, node, f"while {ast.unparse(node.test)}", node.test)
            case ast.For() | ast.AsyncFor():
                text = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
                head = self.head(at, node, text, node.target, node.iter)
            case ast.With() | ast.AsyncWith():
                text = "with " + ", ".join(map(ast.unparse, node.items))
                contexts = [item.context_expr for item in node.items]
                head = self.head(at, node, text, *contexts)
            case ast.Try() | ast.TryStar():
                return self._try(node, at)
            case ast.Match():
                return self._match(node, at)
            case _:
                text = ast.unparse(node)
                return self.add(at, node.lineno, node.end_lineno or node.lineno, text, [node])
        self.block(node.body, at.inside(head))
        self._else(getattr(node, "orelse", []), at, head)
        return head

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef, at: _Place) -> None:
        inner = _function(self.out, _qualified(at.function.name, node.name))
        decorators = "".join(f"@{ast.unparse(d)} " for d in node.decorator_list)
        place = _Place(inner, (), 0)
        parts = [*node.decorator_list, node.args]
        end = max([node.lineno, *(d.end_lineno or 0 for d in node.decorator_list)])
        defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        end = max([end, *(d.end_lineno or 0 for d in defaults)])
        start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        self.add(place, start, end, f"{decorators}def ({ast.unparse(node.args)})", parts)
        self.block(node.body, place)

    def _if(self, node: ast.If, at: _Place) -> int:
        head = self.head(at, node, f"if {ast.unparse(node.test)}", node.test)
        self.block(node.body, at.inside(head))
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            self.add(at.after(head), node.orelse[0].lineno, node.orelse[0].lineno, "else", [])
            self.statement(node.orelse[0], at.after(head))
        else:
            self._else(node.orelse, at, head)
        return head

    def _else(self, body: Sequence[ast.stmt], at: _Place, head: int) -> None:
        if body:
            self.add(at.after(head), body[0].lineno, body[0].lineno, "else", [])
            self.block(body, at.inside(head))

    def _try(self, node: ast.Try | ast.TryStar, at: _Place) -> int:
        head = self.head(at, node, "try")
        self.block(node.body, at.inside(head))
        for handler in node.handlers:
            kind = ast.unparse(handler.type) if handler.type else ""
            parts = [handler.type] if handler.type else []
            number = self.add(at, handler.lineno, handler.lineno, f"except {kind}", parts)
            self.block(handler.body, at.inside(number))
        self._else(node.orelse, at, head)
        if node.finalbody:
            first = node.finalbody[0].lineno
            self.add(at, first, first, "finally", [])
            self.block(node.finalbody, at.inside(head))
        return head

    def _match(self, node: ast.Match, at: _Place) -> int:
        head = self.head(at, node, f"match {ast.unparse(node.subject)}", node.subject)
        for case in node.cases:
            guard = f" if {ast.unparse(case.guard)}" if case.guard else ""
            text = f"case {ast.unparse(case.pattern)}{guard}"
            line = case.pattern.lineno
            parts = [case.guard] if case.guard else []
            number = self.add(at.inside(head), line, line, text, parts)
            self.block(case.body, at.inside(number))
        return head


def _qualified(outer: str, name: str) -> str:
    return f"{outer}.{name}" if outer else name


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _leaves(node: ast.If) -> bool:
    """Whether some branch of an `if` leaves the block that it stands in."""
    branches = [node.body, node.orelse]
    for branch in branches:
        if branch and isinstance(branch[-1], _EXITS):
            return True
        if branch and isinstance(branch[-1], ast.If) and _leaves(branch[-1]):
            return True
    return False


def _names(parts: Iterable[ast.AST]) -> tuple[frozenset[str], frozenset[str]]:
    """Names and attributes that are read, and those that are written: targets, keywords, keys."""
    reads: set[str] = set()
    writes: set[str] = set()
    for part in parts:
        for node in ast.walk(part):
            match node:
                case ast.Name(id=name, ctx=context) | ast.Attribute(attr=name, ctx=context):
                    (reads if isinstance(context, ast.Load) else writes).add(name)
                case ast.keyword(arg=str(name)):
                    writes.add(name)
                case ast.Constant(value=str(name)) if len(name) < 200:
                    # A key of a dictionary, a flag of the parser, an environment variable.
                    writes.add(name)
                case ast.alias(name=name, asname=other):
                    writes.add(other or name)
    return frozenset(reads), frozenset(writes)
