"""Conditions in three values: what asks only the machine is answered by the tree's own code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Final, Protocol

from sgcheck.syntax.comparing import compared

_OPEN: Final = object()
_PLAIN = (bool, int, float, str, type(None))
_DEPTH = 4


class _Readable(Protocol):
    def read(self, path: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """One condition in one function."""

    file: str
    function: str
    text: str


@dataclass(frozen=True, slots=True)
class _File:
    """`own` are the names that are a function's, by its qualified name; `set_by_env` those of the
    module that are made from the environment."""

    own: dict[str, frozenset[str]]
    set_by_env: frozenset[str]


class Questions:
    """Answers conditions on one machine. `load` gives a module of the tree by name."""

    def __init__(self, tree: _Readable, load: Callable[[str], Any]) -> None:
        self._tree = tree
        self._load = load
        self._files: dict[str, _File] = {}

    def holds(self, asked: Asked) -> bool | None:
        """Whether the condition holds on the machine whatever else is given; None: that is open."""
        if asked.file not in self._files:
            self._files[asked.file] = _read(self._tree.read(asked.file))
        file = self._files[asked.file]
        own = file.own.get(asked.function)
        if own is None:
            return None
        try:
            node = ast.parse(f"({asked.text}\n)", mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        name = asked.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return _Evaluation(name, self._load, own | file.set_by_env).truth(node)


def _read(source: bytes) -> _File:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _File({}, frozenset())
    changed = {name for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names}
    found: dict[str, frozenset[str]] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                name = prefix + child.name
                found[name] = frozenset(_bound(child) | changed)
                walk(child, name + ".<locals>.")
            elif isinstance(child, ast.ClassDef):
                walk(child, prefix + child.name + ".")
            else:
                walk(child, prefix)

    walk(tree, "")
    by_env = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and "env" in ast.unparse(node.value).lower()
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return _File(found, frozenset(by_env))


def _bound(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Every name that is bound anywhere in a function, its inner ones included."""
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names


class _Evaluation:
    """`closed` are names that are not the machine's alone."""

    def __init__(self, module: str, load: Callable[[str], Any], closed: frozenset[str]) -> None:
        self._name = module
        self._load = load
        self._closed = closed

    def truth(self, node: ast.expr) -> bool | None:
        match node:
            case ast.BoolOp(op=op, values=parts):
                held = [self.truth(part) for part in parts]
                decisive = isinstance(op, ast.Or)
                if decisive in held:
                    return decisive
                return None if None in held else not decisive
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.truth(operand)
                return None if inner is None else not inner
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                a, b = self._value(left), self._value(right)
                return None if a is _OPEN or b is _OPEN else _compare(a, op, b)
            case _:
                value = self._value(node)
                return value if isinstance(value, bool) else None

    def _value(self, node: ast.expr) -> Any:
        """A plain value that only the machine decides, `_OPEN` for anything else."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and not _asks(node.id):
            return _OPEN  # a constant of the module is no question to the machine
        found = self._object(node)
        return found if isinstance(found, _PLAIN) else _OPEN

    def _object(self, node: ast.expr) -> Any:
        """Names of the module, their attributes, and calls of questions without arguments."""
        match node:
            case ast.Name(id=name) if name not in self._closed and "env" not in name.lower():
                return getattr(self._module(), name, _OPEN)
            case ast.Attribute(value=inner, attr=name) if not name.startswith("__"):
                owner = self._object(inner)
                if owner is _OPEN:
                    return _OPEN
                getter = getattr(getattr(type(owner), name, None), "fget", None)
                if getter is not None and _reads_environment(getter):
                    return _OPEN
                return _tried(lambda: getattr(owner, name, _OPEN))
            case ast.Call(func=func, args=[], keywords=[]):
                name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
                function: Any = self._object(func) if _asks(name) else _OPEN
                if function is _OPEN or _reads_environment(function):
                    return _OPEN
                return _tried(function)
            case _:
                return _OPEN

    def _module(self) -> Any:
        return _tried(lambda: self._load(self._name))


def _tried(call: Callable[[], Any]) -> Any:
    """What a call gives; open where the tree's code or the engine does not get to an end."""
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return _OPEN


def _asks(name: str) -> bool:
    """Whether a name is by its form a question to the machine, which changes nothing."""
    bare = name.lstrip("_")
    return bare.startswith(("is_", "has_", "get_device", "get_platform", "cpu_has_", "device_"))


def _reads_environment(function: Any, depth: int = 0) -> bool:
    """Whether a function of the tree may look at the environment; in doubt it does."""
    function = getattr(function, "__wrapped__", function)
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        return False  # a model of something outside of the tree: that asks the machine only
    if depth > _DEPTH:
        return True
    words = list(_words(function.__code__))
    if any("env" in word.lower() and "__" not in word for word in words):
        return True
    inner = (function.__globals__.get(word) for word in dict.fromkeys(words))
    return any(
        _reads_environment(each, depth + 1)
        for each in inner
        if isinstance(getattr(each, "__wrapped__", each), FunctionType) and each is not function
    )


def _words(code: CodeType) -> Iterator[str]:
    """The names and short texts in a function."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _words(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            yield constant


def _compare(a: Any, op: ast.cmpop, b: Any) -> bool | None:
    match op:
        case ast.Is():
            return a is b
        case ast.IsNot():
            return a is not b
    return compared(op, a, b)
