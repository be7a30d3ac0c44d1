"""The conditions under which a statement runs, as the source writes them, by line.

Beside them, where a class declares a field and where a parser declares an option.

This is the fast reader's part (from `ast`, whose spans are exact): it is computed once per file
beside the translation and cached with it. `syntax/rules.py` reads the same with libcst; a test
checks that both agree.
"""

from __future__ import annotations

import ast

from msgspec import Struct, field


class Conditions(Struct):
    """`by_line[line]` are indexes into `texts`, outermost condition first.

    `fields` holds the line of each annotated name of a class (`Class.name`), `options` that of the call
    of `add_argument` that declares a spelling (`--flag`).
    """

    texts: list[str] = field(default_factory=list)
    by_line: dict[int, tuple[int, ...]] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)
    options: dict[str, int] = field(default_factory=dict)

    def at(self, line: int) -> tuple[str, ...]:
        """The conditions of the statement that starts at `line` (1-based)."""
        return tuple(self.texts[i] for i in self.by_line.get(line, ()))


class _Reader:
    def __init__(self, source: bytes) -> None:
        self.lines = source.splitlines(keepends=True)
        self.out = Conditions()
        self._index: dict[str, int] = {}

    def text(self, node: ast.expr, negated: bool) -> int:
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        if first == last:
            raw = self.lines[first][node.col_offset : node.end_col_offset]
        else:
            parts = [self.lines[first][node.col_offset :], *self.lines[first + 1 : last]]
            parts.append(self.lines[last][: node.end_col_offset])
            raw = b" ".join(
                part.split(b"#")[0] if b'"' not in part and b"'" not in part else part
                for part in parts
            )
        text = " ".join(raw.decode("utf-8", "replace").split())
        if negated:
            text = text[4:].strip() if _is_simple_not(node) else f"not ({text})"
        if text not in self._index:
            self._index[text] = len(self.out.texts)
            self.out.texts.append(text)
        return self._index[text]

    def block(self, body: list[ast.stmt], guards: tuple[int, ...]) -> None:
        for statement in body:
            self.statement(statement, guards)
            if isinstance(statement, ast.If) and _leaves(statement.body) and not statement.orelse:
                guards = (*guards, self.text(statement.test, True))

    def statement(self, node: ast.stmt, guards: tuple[int, ...]) -> None:
        if guards:
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                self.out.by_line[line] = guards
        if isinstance(node, ast.If):
            self.block(node.body, (*guards, self.text(node.test, False)))
            self.block(node.orelse, (*guards, self.text(node.test, True)))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if guards:
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    self.out.by_line.pop(line, None)
            if isinstance(node, ast.ClassDef):
                self.declared(node)
            self.block(node.body, ())
        elif isinstance(node, ast.Expr):
            self.option(node.value)
        elif isinstance(node, ast.While):
            self.block(node.body, (*guards, self.text(node.test, False)))
            self.block(node.orelse, guards)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self.block(node.body, guards)
            self.block(node.orelse, guards)
        elif isinstance(node, ast.With | ast.AsyncWith):
            self.block(node.body, guards)
        elif isinstance(node, ast.Try | ast.TryStar):
            self.block(node.body, guards)
            for handler in node.handlers:
                self.block(handler.body, guards)
            self.block(node.orelse, guards)
            self.block(node.finalbody, guards)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                self.block(case.body, guards)

    def declared(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                self.out.fields[f"{node.name}.{statement.target.id}"] = statement.lineno

    def option(self, node: ast.expr) -> None:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "add_argument"
        ):
            for word in node.args:
                if isinstance(word, ast.Constant) and isinstance(word.value, str):
                    self.out.options.setdefault(word.value, node.lineno)


def _is_simple_not(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.Not)
        and isinstance(node.operand, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    )


def _leaves(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def conditions_of(tree: ast.Module, source: bytes) -> Conditions:
    """Read the conditions of every statement. `tree` must not have been translated yet."""
    reader = _Reader(source)
    reader.block(tree.body, ())
    return reader.out
