"""Calls of builtin types: unknown arguments, and bounds on what one call may build."""

from __future__ import annotations

import enum
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from sgcheck.interp.natives import MAX_BITS, MAX_SIZE, METHODS, bounded
from sgcheck.interp.runtime import RUNTIME
from sgcheck.values.signals import Escape, LimitReached, Refused
from sgcheck.values.symbols import Choice, Test
from sgcheck.values.unknown import ASK, PlainObject, Unknown, find_unknown


def _special_type(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1:
        value = args[0]
        if issubclass(type(value), Unknown):
            return ASK[-1].apply(type, (value,), {})
        return type(value)
    if len(args) == 3 and issubclass(type(args[2]), dict):
        args = (*args[:2], {k: v for k, v in args[2].items() if k != "__del__"})
    created = type(*args, **kwargs)
    if "__module__" not in args[2]:
        from sgcheck.interp.access import tree_frame

        created.__module__ = tree_frame().f_globals.get("__name__", "sglang")
    return created


_CONTAINED = frozenset({list, tuple, dict, set, frozenset, str, bytes, range, deque, bytearray})


def limited(value: Any) -> Any:
    """An iterable whose value are counted as they come, unless it is a container of bounded size."""
    if type(value) is dict and RUNTIME.region is not None:
        # Which keys are there has to be known before they are walked over.
        ASK[-1].settle(value)
    kind = type(value)
    if kind in _CONTAINED or hasattr(kind, "__len__") or not hasattr(kind, "__iter__"):
        return value
    from sgcheck.interp.guards import counted

    return counted(value)


_COLLECTING = frozenset({list, tuple, set, frozenset})


def _lifted(kind: type) -> Callable[..., Any]:
    hashing = kind in (set, frozenset)
    collecting = kind in _COLLECTING

    def run(*args: Any, **kwargs: Any) -> Any:
        if kind is bool and args and type(args[0]) is dict and RUNTIME.region is not None:
            # A dictionary whose keys may be absent may be empty.
            truth = ASK[-1].dict_truth(args[0])
            return (
                ASK[-1].apply(bool, (truth,), {})
                if issubclass(type(truth), Unknown)
                else bool(truth)
            )
        for value in args:
            if issubclass(type(value), Unknown):
                return ASK[-1].apply(kind, (*args,), kwargs)
        if hashing and len(args) == 1 and type(args[0]) in (list, tuple):
            # An unknown refuses to be hashed: where all could be, there is none.
            try:
                return kind(args[0], **kwargs)
            except (Escape, Exception):
                kinds = set(map(type, args[0]))
            if any(issubclass(one, Unknown) for one in kinds):
                return ASK[-1].apply(kind, args, kwargs)
        if collecting and len(args) == 1:
            args = (limited(args[0]),)
        try:
            return kind(*args, **kwargs)
        except Exception:
            found = find_unknown([args, kwargs])
            if found is not None:
                raise Escape(found.reason) from None
            raise

    return run


def _bytes(kind: type) -> Callable[..., Any]:
    lifted = _lifted(kind)

    def run(*args: Any, **kwargs: Any) -> Any:
        if args and issubclass(type(args[0]), int):
            bounded(args[0])
        return lifted(*args, **kwargs)

    return run


_LIFTED_INT = _lifted(int)


def _int(*args: Any, **kwargs: Any) -> Any:
    if args and issubclass(type(args[0]), str | bytes | bytearray) and len(args[0]) > MAX_BITS // 4:
        raise LimitReached("size")
    return _LIFTED_INT(*args, **kwargs)


def _special_range(*args: Any) -> Any:
    for arg in args:
        if issubclass(type(arg), Unknown) and not issubclass(type(arg), Choice | Test):
            return Unknown(arg.reason, f"range({', '.join(ASK[-1].show(a) for a in args)})")
    args = tuple(ASK[-1].concrete(a) if issubclass(type(a), Unknown) else a for a in args)
    result = range(*args)
    try:
        if len(result) > MAX_SIZE:
            raise LimitReached("size")
    except OverflowError:
        raise LimitReached("size") from None
    return result


def _refused(name: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        raise Refused(name)

    return run


SPECIAL_CALLS: dict[Any, Callable[..., Any]] = {
    type: _special_type,
    **{
        kind: _lifted(kind)
        for kind in (str, float, bool, complex, set, frozenset, list, tuple, dict)
    },
    int: _int,
    bytes: _bytes(bytes),
    bytearray: _bytes(bytearray),
    range: _special_range,
    type(_refused): _refused("types.FunctionType"),
    type(_refused.__code__): _refused("types.CodeType"),
    OrderedDict: OrderedDict,
    # It reads an attribute whose name it is given, of an object that it is given.
    enum.property: _refused("enum.property"),
    object: PlainObject,
}


def _operator(name: str) -> Callable[..., Any]:
    def run(obj: Any, /, *args: Any) -> Any:
        from sgcheck.interp import guards

        left, *rest = args if issubclass(type(obj), type) else (obj, *args)
        if name == "__format__":
            return guards.formatted((left, -1, rest[0] if rest else ""))
        guard = {
            "__add__": guards.add,
            "__mul__": guards.mul,
            "__iadd__": guards.in_place("iadd", guards.add),
        }
        if type(left) in METHODS and len(rest) == 1:
            return guard[name](left, rest[0])
        return guards.call(getattr(obj, name), *args)

    return run


OPERATORS: dict[str, Callable[..., Any]] = {
    name: _operator(name) for name in ("__add__", "__mul__", "__iadd__", "__format__")
}
"""Operators called as methods: bounded like the operators themselves."""


class UnknownManager:
    """A context manager that is not known: enters as an unknown, swallows nothing."""

    __slots__ = ("_value",)

    def __init__(self, value: Unknown) -> None:
        self._value = value

    def __enter__(self) -> Any:
        return ASK[-1].call(self._value, (), {})

    def __exit__(self, *exc: Any) -> None:
        return None
