"""Whether an exception is one that SGLang would raise too, or one that our torch may have made."""

from __future__ import annotations

import dis
import re
from collections.abc import Collection
from types import FrameType
from typing import Any

from sgcheck.interp import natives
from sgcheck.interp.access import MARK
from sgcheck.interp.faults import fault_of


def is_certain(error: BaseException, modelled: Collection[type] = ()) -> bool:
    """An exception that code of the tree raises itself, or that Python raises over objects of its own.

    What the torch without values raises (a shape that does not fit, an argument that is not modelled)
    may be a fault of ours; and an attribute that is missing of an object of a `modelled` class is one
    that a method which is not run would have set.
    """
    if fault_of(error) is not None:
        return False
    last = _innermost(error)
    if last is None:
        return False
    frame, at = last
    if MARK in frame.f_builtins and dis.opname[frame.f_code.co_code[at]] in (
        "RAISE_VARARGS",
        "RERAISE",
    ):
        return True
    if isinstance(error, AttributeError):
        cls = _class_of(error.obj)
        if any(base in modelled for base in cls.__mro__):
            return False
        return error.obj is None or natives.is_tree_class(cls)
    if isinstance(error, TypeError):
        quoted = re.findall(r"'([\w.]+)'", str(error))
        return bool(quoted) and all(name in _PLAIN for name in quoted)
    if isinstance(error, (LookupError, ArithmeticError, ImportError, NameError)):
        return MARK in frame.f_builtins or frame.f_code.co_filename.rpartition("/")[2] in _FAITHFUL
    return False


def _class_of(obj: Any) -> type:
    return obj if isinstance(obj, type) else type(obj)


_PLAIN = frozenset({"NoneType", "int", "str", "float", "list", "dict", "tuple", "bool", "set"})
_FAITHFUL = frozenset({"guards_objects.py", "guards_items.py", "guards_operators.py", "guards.py", "loader.py", "world.py"})  # fmt: skip
"""Modules of the engine through which Python's own errors pass."""


def _innermost(error: BaseException) -> tuple[FrameType, int] | None:
    trace = error.__traceback__
    found = None
    while trace is not None:
        found, trace = (trace.tb_frame, trace.tb_lasti), trace.tb_next
    return found
