"""Calls of what lies outside the tree, and knows nothing of unknowns."""

from __future__ import annotations

from collections import deque
from types import MethodWrapperType, WrapperDescriptorType
from typing import Any

from sgcheck.interp import natives
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.values.signals import EngineSignal, Escape
from sgcheck.values.unknown import ASK, Unknown, find_unknown

CONTAINERS = (list, dict, set, deque, bytearray)
_SLOTS = (WrapperDescriptorType, MethodWrapperType)
_STORING_SLOTS = frozenset({"__setattr__", "__setitem__"})


def native_call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A callable from outside the tree that knows nothing of unknowns."""
    for value in args:
        if issubclass(type(value), Unknown):
            return _native_unknown(func, args, kwargs, value)
    if kwargs:
        if R.region is not None:
            ASK[-1].settle(kwargs)
        for value in kwargs.values():
            if issubclass(type(value), Unknown):
                return _native_unknown(func, args, kwargs, value)
    try:
        return func(*args, **kwargs)
    except EngineSignal:
        raise
    except Exception:
        _blame_unknown(func, args, kwargs)
        raise


def _stores(func: Any, args: tuple[Any, ...]) -> bool:
    """Whether a slot of Python puts its last argument into a known object."""
    if type(func) not in _SLOTS or func.__name__ not in _STORING_SLOTS:
        return False
    target = func.__self__ if type(func) is MethodWrapperType else args[0] if args else None
    return not issubclass(type(target), Unknown)


def _native_unknown(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], value: Unknown
) -> Any:
    if issubclass(type(func), type) and (
        issubclass(func, BaseException) or func in natives.STORING_TYPES
    ):
        return func(*args, **kwargs)
    own = getattr(func, "__self__", None)
    if issubclass(type(own), CONTAINERS):
        return func(*args, **kwargs)
    if _stores(func, args):
        # Once, as it is: run for each of several possible values, the slot would keep the last.
        return func(*args, **kwargs)
    return ASK[-1].apply(func, args, kwargs)


def _blame_unknown(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A native call failed: if an unknown was inside its arguments, that may be why."""
    found = find_unknown([getattr(func, "__self__", None), args, kwargs])
    if found is not None:
        raise Escape(found.reason)
