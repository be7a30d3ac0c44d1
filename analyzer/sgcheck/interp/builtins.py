"""The builtins of translated code: what is harmless as it is, and guarded versions of the rest."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from sgcheck.interp import guards, natives
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.resolve.resolution import Reason
from sgcheck.syntax.names import guard
from sgcheck.values.signals import Escape, Refused
from sgcheck.values.unknown import ASK, Unknown

MARK = guard("c")
_MISSING = object()


def tree_frame() -> FrameType:
    """The innermost frame that runs code of the tree."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        space = frame.f_globals.get("__builtins__")
        if isinstance(space, dict) and MARK in space:
            return frame
        frame = frame.f_back
    raise Refused("no frame of the tree")


def _globals() -> dict[str, Any]:
    return tree_frame().f_globals


def _vars(*args: Any) -> Any:
    if not args:
        return tree_frame().f_locals
    if isinstance(args[0], Unknown):
        return ASK[-1].attribute(args[0], "__dict__")
    return vars(args[0])


def _dir(*args: Any) -> Any:
    if not args:
        return sorted(tree_frame().f_locals)
    return dir(args[0])


def _getattr(obj: Any, name: Any, default: Any = _MISSING, /) -> Any:
    if isinstance(obj, Unknown):
        if default is _MISSING:
            return ASK[-1].attribute(obj, name)
        return ASK[-1].apply(
            getattr,
            (
                obj,
                name,
                default,
            ),
            {},
        )
    if isinstance(name, Unknown):
        name = ASK[-1].concrete(name)
    if default is _MISSING:
        return guards.attribute(obj, name)
    try:
        return guards.attribute(obj, name)
    except AttributeError:
        return default


def _hasattr(obj: Any, name: Any) -> Any:
    if isinstance(obj, Unknown):
        return ASK[-1].apply(
            hasattr,
            (
                obj,
                name,
            ),
            {},
        )
    if isinstance(name, Unknown):
        name = ASK[-1].concrete(name)
    try:
        guards.attribute(obj, name)
    except AttributeError:
        return False
    return True


def _setattr(obj: Any, name: Any, value: Any) -> None:
    if isinstance(name, Unknown):
        name = ASK[-1].concrete(name)
    if isinstance(obj, Unknown):
        ASK[-1].set_attribute(obj, name, value)
        return
    if not isinstance(name, str):
        raise TypeError("attribute name must be string")
    guards.check_attribute(name) if name.startswith("__") else None
    if R.journal is not None:
        R.journal.attr(obj, name)
    if R.on_write is not None and type(obj) is R.record_class:
        R.on_write(obj, name, value, tree_frame())
    setattr(obj, name, value)


def _delattr(obj: Any, name: Any) -> None:
    guards.del_attribute(obj, name)


def _isinstance(obj: Any, cls: Any) -> Any:
    if isinstance(obj, Unknown) or isinstance(cls, Unknown):
        value = obj if isinstance(obj, Unknown) else cls
        return ASK[-1].apply(
            isinstance,
            (
                obj,
                cls,
            ),
            {},
        )
    if type(cls) is not tuple:
        if isinstance(cls, type) and cls.__dict__.get("_unmodelled") and not _certainly_plain(obj):
            if isinstance(obj, cls):
                return True
            name = f"{cls.__module__}.{cls.__name__}"
            return Unknown(
                Reason(f"not-modelled({name})"), f"isinstance({ASK[-1].show(obj)}, {name})"
            )
    else:
        known = tuple(c for c in cls if not isinstance(c, Unknown))
        if len(known) != len(cls):
            if isinstance(obj, known):
                return True
            unknown = next(c for c in cls if isinstance(c, Unknown))
            return ASK[-1].apply(isinstance, (obj, unknown), {})
    return isinstance(obj, cls)


def _certainly_plain(obj: Any) -> bool:
    """An object whose class is known not to derive from a class of some other package."""
    kind = type(obj)
    return kind.__module__ == "builtins" or natives.is_tree_class(kind)


def _issubclass(obj: Any, cls: Any) -> Any:
    for value in (obj, *(cls if type(cls) is tuple else (cls,))):
        if isinstance(value, Unknown):
            return ASK[-1].apply(
                issubclass,
                (
                    obj,
                    cls,
                ),
                {},
            )
    return issubclass(obj, cls)


def _len(obj: Any) -> Any:
    if isinstance(obj, Unknown):
        return ASK[-1].apply(len, (obj,), {})
    return len(obj)


def _lift(native: Callable[..., Any]) -> Callable[..., Any]:
    name = native.__name__

    def run(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if isinstance(value, Unknown):
                return ASK[-1].apply(native, (*args,), kwargs)
        return guards.native_call(native, args, kwargs)

    run.__name__ = run.__qualname__ = name
    return run


def _iter(obj: Any, *sentinel: Any) -> Any:
    if isinstance(obj, Unknown):
        return ASK[-1].iterate(obj)
    if not sentinel:
        return iter(obj)

    def calls() -> Any:
        while True:
            guards.tick()
            value = guards.call(obj)
            if value == sentinel[0]:
                return
            yield value

    return calls()


def _print(*args: Any, **kwargs: Any) -> None:
    return None


def _refused(name: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        raise Refused(f"{name}()")

    run.__name__ = run.__qualname__ = name
    return run


def _hash(obj: Any) -> int:
    if isinstance(obj, Unknown):
        return hash(ASK[-1].concrete(obj))
    return hash(obj)


_AS_THEY_ARE = (
    "abs ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter "
    "float frozenset hex id int list locals map memoryview next object oct ord property range repr "
    "reversed round set slice sorted staticmethod str super tuple type zip __build_class__ "
    "NotImplemented Ellipsis None True False __debug__ __name__"
).split()
_LIFTED = (
    "abs",
    "min",
    "max",
    "sum",
    "sorted",
    "round",
    "divmod",
    "repr",
    "ascii",
    "ord",
    "chr",
    "hex",
    "bin",
    "oct",
    "reversed",
    "enumerate",
    "zip",
    "next",
    "callable",
)


def make_builtins(extra: dict[str, Any]) -> dict[str, Any]:
    """The `__builtins__` of one interpreter; `extra` holds the guards that belong to it."""
    space: dict[str, Any] = {name: getattr(builtins, name) for name in _AS_THEY_ARE}
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, BaseException):
            space[name] = value
    for name in _LIFTED:
        space[name] = _lift(getattr(builtins, name))
    space.update(
        {
            "globals": _globals,
            "vars": _vars,
            "dir": _dir,
            "getattr": _getattr,
            "hasattr": _hasattr,
            "setattr": _setattr,
            "delattr": _delattr,
            "isinstance": _isinstance,
            "issubclass": _issubclass,
            "len": _len,
            "iter": _iter,
            "print": _print,
            "hash": _hash,
            "any": any,
            "all": all,
            "pow": lambda *a: guards.power(*a) if len(a) == 2 else pow(*a),
            "format": lambda value, spec="": guards.formatted((value, -1, spec)),
        }
    )
    for name in (
        "eval",
        "exec",
        "compile",
        "__import__",
        "input",
        "breakpoint",
        "open",
        "exit",
        "quit",
    ):
        space[name] = _refused(name)
    space.update(guards.BUILTIN_GUARDS)
    space.update(extra)
    return space


_ = ModuleType
