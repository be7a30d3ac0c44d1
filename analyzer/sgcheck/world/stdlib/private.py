"""Copies of modules of Python's library whose code is guarded like that of the tree.

Some modules set and read attributes whose names they are given (argparse: `dest`), print, or open
files. A copy has builtins of its own, so that no function in it, reached however, does any of that
past the guards; and the tree has nothing of it in common with the process that it runs in.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Container, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import Any

from sgcheck.interp import access
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.values.kinds import is_a
from sgcheck.values.signals import Refused

_REFUSED = ("open", "exec", "eval", "compile", "input", "breakpoint", "print", "exit", "quit")


def private_copy(name: str, plain: Container[type] = (), **names: Any) -> ModuleType:
    """A copy of a module, run with guarded builtins; `names` replace what it has imported.

    Objects of the classes in `plain` hold values by name and nothing else: nothing is looked at there.
    """
    spec = find_spec(name)
    loader: Any = spec.loader if spec is not None else None
    code: CodeType = loader.get_code(name)
    module = ModuleType(name)
    space = vars(module)
    space["__builtins__"] = _guarded(frozenset(_texts(code)), plain)
    # What it defines is found under the module's own name meanwhile; nothing keeps it.
    exec(code, space)
    space.update(names)
    return module


def _texts(code: CodeType) -> Iterator[str]:
    """The string constants of a module's code: names that its own source uses."""
    for value in code.co_consts:
        if type(value) is str:
            yield value
        elif type(value) is CodeType:
            yield from _texts(value)


def _name(name: Any) -> str:
    if not is_a(name, str):
        raise TypeError("attribute name must be string")
    return access.exact(name)


def _guarded(own: frozenset[str], plain: Container[type]) -> dict[str, Any]:
    """The builtins of a copy whose source names the attributes `own` itself."""

    def read(obj: Any, name: Any, *default: Any) -> Any:
        if type(name) is not str:
            name = _name(name)
        if name not in own and (name[:2] == "__" or type(obj) not in plain):
            access.check_read(obj, name)
        return getattr(obj, name, *default)

    def has(obj: Any, name: Any) -> bool:
        if type(obj) in plain and type(name) is str and name[:2] != "__":
            return hasattr(obj, name)
        try:
            read(obj, name)
        except AttributeError:
            return False
        return True

    def write(obj: Any, name: Any, value: Any) -> None:
        if type(name) is not str:
            name = _name(name)
        if name[:2] != "__" and type(obj) in plain:
            setattr(obj, name, value)
            return
        access.check_write(obj, name)
        if name == "__del__":
            return
        if R.journal is not None:
            R.journal.attr(obj, name)
        setattr(obj, name, value)

    def delete(obj: Any, name: Any) -> None:
        name = _name(name)
        access.check_write(obj, name)
        if R.journal is not None:
            R.journal.attr(obj, name)
        delattr(obj, name)

    space = dict(vars(builtins))
    space.update(getattr=read, hasattr=has, setattr=write, delattr=delete)
    for name in _REFUSED:
        space[name] = _refused(name)
    return space


def _refused(name: str) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        raise Refused(f"{name}() by the library")

    run.__name__ = run.__qualname__ = name
    return run


@contextmanager
def no_text() -> Iterator[None]:
    """Inside, `inspect` evaluates no text: a name of the module hides the builtin `eval`.

    An object says what text its signature has (`__text_signature__`, `__signature__`).
    """

    def refused(*args: Any) -> Any:
        raise Refused("the text of a signature")

    names = vars(inspect)
    names["eval"] = refused
    try:
        yield
    finally:
        names.pop("eval", None)


class Quiet:
    """A standard stream that goes nowhere."""

    encoding = "utf-8"

    def write(self, text: Any) -> int:
        return 0

    def flush(self) -> None:
        return None

    def isatty(self) -> bool:
        return False


class FakeSystem:
    """What a copy sees of `sys`: no stream, no way out of the process."""

    argv = ("sglang.launch_server",)
    stdin = stdout = stderr = Quiet()
    maxsize = sys.maxsize
    version_info = sys.version_info

    @staticmethod
    def exit(code: Any = None) -> Any:
        raise SystemExit(code)
