"""Paths through a Python file: the values on each, and how many are kept."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sgcheck.scan.python_values import UNKNOWN, PyValue, dotted
from sgcheck.scan.words import Field

MAX_PATHS = 16


@dataclass(slots=True)
class Path:
    """One way through the code: the values of names, the conditions taken, exported variables.

    `module` are the module's own names inside of a function, None outside of one.
    """

    values: dict[str, PyValue] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    env: dict[str, Field] = field(default_factory=dict)
    module: dict[str, PyValue] | None = None

    def copy(self) -> Path:
        """An independent copy."""
        return Path(dict(self.values), self.assumptions, dict(self.env), self.module)

    def called(self) -> Path:
        """The path into a function that is called here: the module's names, and the object's."""
        module = self.values if self.module is None else self.module
        own = {k: v for k, v in self.values.items() if k.startswith(("self.", "cls."))}
        return Path({**module, **own}, self.assumptions, dict(self.env), module)

    def after(self, end: Path) -> Path:
        """This path after a call that ended with `end`."""
        own = {k: v for k, v in end.values.items() if k.startswith("self.")}
        return Path({**self.values, **own}, end.assumptions, dict(end.env), self.module)


def grown(old: PyValue, ends: Sequence[PyValue], more: Field) -> PyValue:
    """A value after an unknown number of rounds: a list that only grew keeps its beginning."""
    if not isinstance(old, tuple):
        return UNKNOWN
    first = [f.text for f in old]
    texts = [[f.text for f in e] if isinstance(e, tuple) else None for e in ends]
    if any(text is None or text[: len(first)] != first for text in texts):
        return UNKNOWN
    return old if all(text == first for text in texts) else (*old, more)


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


def text_of(value: PyValue) -> object:
    if isinstance(value, Field):
        return value.text
    if isinstance(value, tuple):
        return tuple(f.text for f in value)
    if isinstance(value, dict):
        return tuple((k, text_of(v)) for k, (_, v) in value.items())
    return value


def alike(one: PyValue, other: PyValue) -> bool:
    """Whether two values are the same one or have the same text. Most are shared between paths."""
    return one is other or text_of(one) == text_of(other)


def same(a: Path, b: Path) -> bool:
    """Whether two paths leave the same values."""
    if a.values.keys() != b.values.keys() or a.env.keys() != b.env.keys():
        return False
    return all(alike(v, b.values[k]) for k, v in a.values.items()) and all(
        v.text == b.env[k].text for k, v in a.env.items()
    )


def limited(paths: list[Path], more: Callable[[], Field]) -> list[Path]:
    """At most as many paths as the limit; beyond it what differs is unknown.

    Lists keep the words with which all of them begin; `more` stands for the rest.
    """
    if len(paths) <= MAX_PATHS:
        return paths
    joined = paths[0].copy()
    joined.assumptions = ()
    for other in paths[1:]:
        for name in dict.fromkeys((*joined.values, *other.values)):
            if not alike(joined.values.get(name, UNKNOWN), other.values.get(name, UNKNOWN)):
                lists = [path.values.get(name) for path in (joined, other)]
                joined.values[name] = shared(lists, more)
    return [joined]


def shared(values: list[PyValue], more: Callable[[], Field]) -> PyValue:
    """The common beginning of some lists, and an unknown rest."""
    lists = [value for value in values if isinstance(value, tuple)]
    if len(lists) < len(values):
        return UNKNOWN
    kept = 0
    for words in zip(*lists, strict=False):
        if len({word.text for word in words}) > 1:
            break
        kept += 1
    return (*lists[0][:kept], more()) if kept else UNKNOWN
