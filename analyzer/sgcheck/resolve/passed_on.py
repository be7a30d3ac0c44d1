"""Where the value of a flag goes when its field ends with another one: to other fields, or converted.

A statement that gives the field a value and reads it converts it (`self.chunk = self.chunk // n`); one
that gives another field a value from it, in the function that overwrites it, moves it there.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator
from typing import Protocol

MOST_LINES = 30
"""Lines of a statement that are looked at."""
_BEFORE = 12
"""Lines above the one that an event has: that of a statement's last part, for a call over several lines."""


class Step(Protocol):
    """A line that gave a field a value."""

    @property
    def file(self) -> str | None: ...

    @property
    def line(self) -> int | None: ...

    @property
    def function(self) -> str | None: ...


def passed_on(
    name: str, steps: Iterable[Step], others: Iterable[Step], source: list[str], file: str
) -> tuple[str, ...]:
    """The fields that got the value of the field `name`, itself where it is converted.

    `steps` gave the field its value, `others` those other fields; all lie in `file`, whose lines are
    `source`.
    """
    found: dict[str, None] = {}
    places = {(step.line, step.function) for step in steps if step.file == file}
    functions = {function for _, function in places}
    lines = {step.line for step in others if step.file == file and step.function in functions}
    for line in sorted(line for line in {*lines, *(line for line, _ in places)} if line):
        for target, value in _givings(_statement(source, line)):
            if _reads(value, name):
                found[target] = None
    return tuple(found)


def _statement(source: list[str], line: int) -> ast.AST | None:
    """The shortest statement over some lines that ends at or after `line`, beginning at or above it."""
    for first in range(line, max(line - _BEFORE, 0), -1):
        for last in range(line, min(first + MOST_LINES, len(source)) + 1):
            try:
                body = ast.parse(textwrap.dedent("\n".join(source[first - 1 : last]))).body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            if len(body) == 1 and isinstance(
                body[0], ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Return
            ):
                return body[0]
    return None


def _givings(statement: ast.AST | None) -> Iterator[tuple[str, ast.AST]]:
    """Names that a statement gives values to, as attributes, keywords or keys, with the values."""
    if statement is None:
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    yield target.attr, node.value
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
            yield node.target.attr, node.target  # it reads what it changes
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg is not None:
                    yield keyword.arg, keyword.value
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value


def _reads(value: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == name for node in ast.walk(value))
