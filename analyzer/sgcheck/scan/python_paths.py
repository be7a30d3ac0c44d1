"""Paths through a Python file: the values on each, and how many are kept."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from sgcheck.scan.python_values import UNKNOWN, PyValue, dotted
from sgcheck.scan.words import Field

MAX_PATHS = 16


@dataclass(slots=True)
class Path:
    """One way through the code: the values of names, the conditions taken, exported variables."""

    values: dict[str, PyValue] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    env: dict[str, Field] = field(default_factory=dict)

    def copy(self) -> Path:
        """An independent copy."""
        return Path(dict(self.values), self.assumptions, dict(self.env))


def assigned_in(nodes: Sequence[ast.stmt]) -> list[str]:
    """The names that statements assign or grow."""
    found: dict[str, None] = {}
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                found[each.id] = None
            elif (
                isinstance(each, ast.Call)
                and isinstance(each.func, ast.Attribute)
                and each.func.attr in ("append", "extend")
                and (name := dotted(each.func.value))
            ):
                found[name] = None
    return list(found)


def _text_of(value: PyValue) -> object:
    if isinstance(value, Field):
        return value.text
    if isinstance(value, tuple):
        return tuple(f.text for f in value)
    if isinstance(value, dict):
        return tuple((k, _text_of(v)) for k, (_, v) in value.items())
    return value


def same(a: Path, b: Path) -> bool:
    """Whether two paths leave the same values."""
    if a.values.keys() != b.values.keys() or a.env.keys() != b.env.keys():
        return False
    return all(_text_of(v) == _text_of(b.values[k]) for k, v in a.values.items()) and all(
        v.text == b.env[k].text for k, v in a.env.items()
    )


def limited(paths: list[Path]) -> list[Path]:
    """At most as many paths as the limit; beyond it what differs is unknown."""
    if len(paths) <= MAX_PATHS:
        return paths
    joined = paths[0].copy()
    joined.assumptions = ()
    for other in paths[1:]:
        for name in dict.fromkeys((*joined.values, *other.values)):
            if _text_of(joined.values.get(name, UNKNOWN)) != _text_of(
                other.values.get(name, UNKNOWN)
            ):
                joined.values[name] = UNKNOWN
    return [joined]
