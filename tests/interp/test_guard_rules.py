"""Rules of the guards themselves: what an object is, is asked of its type; trees share nothing."""

from __future__ import annotations

import ast
import contextlib
import enum
import types
from collections import deque
from pathlib import Path
from typing import Any

from interp_lab import RECORD, machine_of, predict, running, tree_of

import sgcheck
from sgcheck.interp import access, guards
from sgcheck.values.signals import EngineSignal

PACKAGE = Path(sgcheck.__file__).parent
MEETING = ("interp/*.py", "world/facade.py", "world/packages_.py", "world/stdlib/*.py")
"""Modules that are handed objects of the tree."""
OF_PYTHON = {
    "interp/builtins.py:_isinstance": "what the tree itself asks",
    "interp/guards_patterns.py:__instancecheck__": "what a pattern of the tree asks",
    "world/stdlib/dataclasses_.py:_check_text": "nodes of syntax",
}


def asks(path: Path) -> list[str]:
    """The functions of a module that call `isinstance`."""
    found = []
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "isinstance"
            ):
                found.append(f"{path.relative_to(PACKAGE).as_posix()}:{function.name}")
    return found


def test_what_an_object_is_is_asked_of_its_type() -> None:
    """`isinstance` believes `__class__`, which may be a property of the tree's: `kinds.is_a`."""
    paths = [path for pattern in MEETING for path in PACKAGE.glob(pattern)]
    assert len(paths) > 30
    found = {where for path in paths for where in asks(path)}
    assert found == set(OF_PYTHON)


# -- what two trees share -------------------------------------------------------------------

CONTAINERS = (list, dict, set, bytearray, deque)
DEPTH = 4
MODULES = (
    "abc argparse ast base64 bisect collections collections.abc contextlib contextvars copy dataclasses "
    "datetime decimal difflib enum fnmatch fractions functools glob hashlib heapq html http importlib "
    "importlib.metadata importlib.util inspect io ipaddress itertools json keyword logging math msgspec "
    "numbers operator os os.path packaging.version pathlib pkgutil platform pydantic random re resource "
    "shlex shutil signal socket stat statistics string struct subprocess sys tempfile textwrap "
    "threading time types typing typing_extensions unicodedata urllib.parse uuid warnings weakref yaml zlib"
).split()


def reached(module: Any) -> dict[int, tuple[str, Any]]:
    """What the tree reaches from a module by reading attributes, with how it got there."""
    found: dict[int, tuple[str, Any]] = {}
    todo = [(module.__name__, module, 0)]
    while todo:
        where, obj, depth = todo.pop()
        for name in sorted(set(dir(obj)) | {"__annotations__", "__kwdefaults__"}):
            try:
                value = guards.attribute(obj, name)
            except (Exception, EngineSignal):
                continue
            if id(value) in found or isinstance(value, str | int | float | bytes | type(None)):
                continue
            found[id(value)] = f"{where}.{name}", value
            inner = isinstance(value, type | types.ModuleType | types.FunctionType | enum.Enum)
            if depth < DEPTH and inner and not access.is_dunder(name):
                todo.append((f"{where}.{name}", value, depth + 1))
    return found


RENEWED = {"argparse.ArgumentParser.given"}
"""Objects that every launch has anew."""


def test_trees_share_nothing_that_they_can_change() -> None:
    kept: list[Any] = []
    seen: list[dict[int, tuple[str, Any]]] = []
    for _ in range(2):
        machine = machine_of(tree_of("def attempt(): return 1\n" + RECORD))
        with running(machine.interpreter, seconds=None):
            found = {}
            for name in MODULES:
                module = machine.interpreter.module(name)
                found.update(reached(module))
            seen.append(found)
            kept.append((machine, found))
    first, second = seen
    assert len(first) > 2000
    shared = {
        first[key][0] for key in first.keys() & second.keys() if type(first[key][1]) in CONTAINERS
    }
    assert shared == set()
    changeable = {
        first[key][0] for key in first.keys() & second.keys() if can_be_changed(first[key][1])
    }
    assert changeable == RENEWED


def can_be_changed(obj: Any) -> bool:
    """Whether the guards let an attribute of an object be set (to what it is, or a new one)."""
    own = [n for n in vars(type(obj)).get("__slots__", ()) if not access.is_dunder(n)]
    with contextlib.suppress(TypeError):
        own += [n for n in vars(obj) if not access.is_dunder(n)]
    for name in ("written", *own):
        try:
            guards.write_attribute(obj, name, getattr(obj, name, 7), None)
        except (Exception, EngineSignal):
            continue
        if name == "written":
            delattr(obj, name)
        return True
    return False


POISON = """
import re, typing
class Meta(type):
    def __hash__(cls):
        return hash(int)
    def __eq__(cls, other):
        return True
class Kind(metaclass=Meta):
    pass
class TextMeta(Meta):
    def __hash__(cls):
        return hash(str)
class Text(str, metaclass=TextMeta):
    def __hash__(self):
        return hash("never seen before")
    def __eq__(self, other):
        return True
def attempt():
    re.compile(Text("(nothing)"))
    re.match(Text("(nothing)"), "x")
    return [str(typing.List[Kind]), str(typing.Optional[Kind]), str(typing.Dict[Kind, Kind])]
"""
VICTIM = """
import re, typing
def attempt():
    found = re.compile("never seen before").pattern
    return [found, str(typing.List[int]), str(typing.Optional[int]), str(typing.Dict[int, int])]
"""


def test_no_cache_of_the_library_answers_another_tree() -> None:
    predict(tree_of(POISON + RECORD))
    found = predict(tree_of(VICTIM + RECORD)).fields["value"].value
    assert found == [
        "never seen before",
        "typing.List[int]",
        "typing.Optional[int]",
        "typing.Dict[int, int]",
    ]
