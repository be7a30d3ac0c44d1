"""Guards of attributes and calls."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

from sgcheck.interp import natives
from sgcheck.interp.runtime import RUNTIME
from sgcheck.syntax.names import (
    FORBIDDEN_ATTRIBUTES,
    GUARDED_ATTRIBUTES,
    MUTATORS,
    READABLE_DUNDERS,
)
from sgcheck.values.signals import EngineSignal, Escape, Refused
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import ASK, Unknown, find_unknown

R = RUNTIME

CONTAINERS = (list, dict, set, deque, bytearray)
_FRESH_TYPES = (list, dict, set)
_MAKING = frozenset(
    {"copy", "split", "rsplit", "splitlines", "union", "intersection", "difference"}
)
_VARKEYWORDS = 0x08


# -- attributes --------------------------------------------------------------------


def check_attribute(name: str) -> None:
    """Refuse the names that lead to the machinery of the interpreter."""
    if name in FORBIDDEN_ATTRIBUTES or (
        name.startswith("__")
        and name.endswith("__")
        and name not in READABLE_DUNDERS
        and len(name) > 4
    ):
        raise Refused(f"attribute {name}")


_MISSING = object()


def attribute(obj: Any, name: str) -> Any:
    """`obj.name` for guarded names, and for names known only at run time."""
    if not isinstance(name, str):
        if isinstance(name, Unknown):
            raise Escape(name.reason)
        return getattr(obj, name)
    if name.startswith("__") and name.endswith("__"):
        if name not in READABLE_DUNDERS or name in FORBIDDEN_ATTRIBUTES:
            return _special_attribute(obj, name)
    elif name in FORBIDDEN_ATTRIBUTES:
        raise Refused(f"attribute {name}")
    elif name in GUARDED_ATTRIBUTES:
        if isinstance(obj, type) and issubclass(obj, (*CONTAINERS, str)):
            return lambda *args, **kwargs: method(args[0], name, *args[1:], **kwargs)
        if isinstance(obj, (*CONTAINERS, str)):
            if not hasattr(obj, name):
                return getattr(obj, name)
            return lambda *args, **kwargs: method(obj, name, *args, **kwargs)
    value = getattr(obj, name)
    if type(value) is Choice:
        return ASK[-1].present_attribute(obj, name, value)
    return value


def maybe_attribute(obj: Any, name: str) -> Any:
    """`obj.name` where an attribute may be there on some paths only."""
    value = getattr(obj, name)
    if type(value) is Choice:
        return ASK[-1].present_attribute(obj, name, value)
    return value


def _special_attribute(obj: Any, name: str) -> Any:
    """A double-underscore name outside the list: the tree's own may be read, no other."""
    if name not in FORBIDDEN_ATTRIBUTES:
        cls = obj if isinstance(obj, type) else type(obj)
        for base in cls.__mro__:
            if name in base.__dict__ and natives.is_tree_class(base):
                return getattr(obj, name)
        if isinstance(obj, ModuleType | FunctionType):
            return getattr(obj, name)
        if not hasattr(obj, name):
            return getattr(obj, name)
        if isinstance(obj, Unknown):
            return getattr(obj, name)
    if name == "__self__" and isinstance(obj, MethodType):
        return obj.__self__
    if name == "__spec__" and isinstance(obj, ModuleType):
        return None
    raise Refused(f"attribute {name}")


def set_attribute(value: Any, obj: Any, name: str) -> None:
    """`obj.name = value`."""
    if isinstance(obj, Unknown):
        ASK[-1].set_attribute(obj, name, value)
        return
    if isinstance(obj, type) and not natives.is_tree_class(obj) and not natives.may_be_patched(obj):
        raise Refused(f"setting {obj.__name__}.{name}")
    if name.startswith("__") and name.endswith("__") and name in FORBIDDEN_ATTRIBUTES:
        raise Refused(f"attribute {name}")
    if R.journal is not None:
        R.journal.attr(obj, name)
    if R.on_write is not None and type(obj) is R.record_class:
        R.on_write(obj, name, value, sys._getframe(1))
    setattr(obj, name, value)


def del_attribute(obj: Any, name: str) -> None:
    """`del obj.name`."""
    if isinstance(obj, Unknown):
        raise Escape(obj.reason)
    if R.journal is not None:
        R.journal.attr(obj, name)
    delattr(obj, name)


def set_global(value: Any, name: str) -> None:
    """A module's name assigned inside a function."""
    space = sys._getframe(1).f_globals
    if R.journal is not None:
        R.journal.module_name(space, name)
    space[name] = value


def nonlocal_store(setter: Callable[[Any], None], current: Callable[[], Any]) -> None:
    """About to assign a name of an enclosing function."""
    if R.journal is not None:
        try:
            old = current()
        except NameError:
            return

        def undo(value: Any) -> Any:
            before = current()
            setter(value)
            return before

        R.journal.call(undo, old)


# -- calls -------------------------------------------------------------------------


def call(func: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`func(*args, **kwargs)`."""
    kind = type(func)
    if kind is FunctionType or kind is MethodType:
        R.steps_left -= 1
        if R.steps_left < 0:
            R.tick_slow()
        if kwargs and R.on_declare is not None:
            function = func if kind is FunctionType else func.__func__
            if function.__class__ is FunctionType and function.__code__.co_flags & _VARKEYWORDS:
                R.on_declare(func, "", args, (kwargs, sys._getframe(1)))
        if R.region is not None:
            return R.region(func, args, kwargs)
        return func(*args, **kwargs)
    special = natives.SPECIAL_CALLS.get(func) if kind is type or kind is natives.BUILTIN else None
    if special is not None:
        if kwargs and func is dict and R.on_display is not None:
            R.on_display(kwargs, sys._getframe(1))
        result = special(*args, **kwargs)
        if R.region is not None and type(result) in _FRESH_TYPES:
            R.fresh.append(result)
        return result
    if kind is type or isinstance(func, type):
        if natives.is_tree_class(func):
            R.steps_left -= 1
            if R.steps_left < 0:
                R.tick_slow()
            if func is R.record_class and R.on_construct is not None:
                R.on_construct(kwargs)
            if R.region is not None:
                return R.region(func, args, kwargs)
            return func(*args, **kwargs)
        return native_call(func, args, kwargs)
    if kind is Unknown or isinstance(func, Unknown):
        return func(*args, **kwargs)
    if kind is partial:
        return call(func.func, *func.args, *args, **{**func.keywords, **kwargs})
    if natives.is_tree_class(kind):
        if R.region is not None:
            return R.region(func, args, kwargs)
        return func(*args, **kwargs)
    return native_call(func, args, kwargs)


def native_call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A callable from outside the tree that knows nothing of unknowns."""
    for value in args:
        if isinstance(value, Unknown):
            return _native_unknown(func, args, kwargs, value)
    if kwargs:
        for value in kwargs.values():
            if isinstance(value, Unknown):
                return _native_unknown(func, args, kwargs, value)
    try:
        return func(*args, **kwargs)
    except EngineSignal:
        raise
    except Exception:
        _blame_unknown(func, args, kwargs)
        raise


def _native_unknown(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], value: Unknown
) -> Any:
    if isinstance(func, type) and (
        issubclass(func, BaseException) or func in natives.STORING_TYPES
    ):
        return func(*args, **kwargs)
    own = getattr(func, "__self__", None)
    if isinstance(own, CONTAINERS):
        return func(*args, **kwargs)
    return ASK[-1].apply(func, args, kwargs)


def _blame_unknown(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A native call failed: if an unknown was inside its arguments, that may be why."""
    found = find_unknown([getattr(func, "__self__", None), args, kwargs])
    if found is not None:
        raise Escape(found.reason)


def method(obj: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """`obj.name(*args, **kwargs)`."""
    kind = type(obj)
    if isinstance(obj, Unknown):
        return ASK[-1].method(obj, name, args, kwargs)
    table = natives.METHODS.get(kind)
    if table is not None:
        handler = table.get(name)
        if handler is not None:
            result = handler(obj, *args, **kwargs)
            if R.region is not None and name in _MAKING:
                R.fresh.append(result)
            return result
        return native_call(attribute(obj, name), args, kwargs)
    if name.startswith("__"):
        return _dunder_method(obj, name, args, kwargs)
    if name in GUARDED_ATTRIBUTES and isinstance(obj, (*CONTAINERS, str)):
        return _guarded_subclass_method(obj, name, args, kwargs)
    if name in FORBIDDEN_ATTRIBUTES:
        raise Refused(f"attribute {name}")
    func = getattr(obj, name)
    if kind is type and name in GUARDED_ATTRIBUTES and issubclass(obj, (*CONTAINERS, str)):
        return method(args[0], name, *args[1:], **kwargs)
    inner = type(func)
    if inner is MethodType or inner is FunctionType:
        R.steps_left -= 1
        if R.steps_left < 0:
            R.tick_slow()
        if kwargs and R.on_declare is not None:
            R.on_declare(func, "", args, (kwargs, sys._getframe(1)))
        if R.region is not None:
            return R.region(func, args, kwargs)
        return func(*args, **kwargs)
    return call(func, *args, **kwargs)


def _guarded_subclass_method(
    obj: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A mutating method of a subclass of a native container (or `format` of a str subclass)."""
    func = getattr(obj, name)
    if isinstance(func, MethodType):
        return call(func, *args, **kwargs)
    if isinstance(obj, str):
        return natives.str_format(obj, *args, **kwargs)
    if R.journal is not None and name in MUTATORS:
        R.journal.container(obj)
    return native_call(func, args, kwargs)


def _dunder_method(obj: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name in ("__setattr__", "__delattr__", "__setitem__", "__delitem__", "__init__"):
        target, rest = obj, args
        if isinstance(obj, super):
            target = obj.__self__
        elif isinstance(obj, type) and args:
            target, rest = args[0], args[1:]
        if rest and name in ("__setattr__", "__delattr__"):
            if not isinstance(rest[0], str) or rest[0] in FORBIDDEN_ATTRIBUTES:
                raise Refused("attribute by a strange name")
            if R.journal is not None:
                R.journal.attr(target, rest[0])
            if (
                name == "__setattr__"
                and R.on_write is not None
                and type(target) is R.record_class
                and sys._getframe(2).f_code.co_name != "__setattr__"
            ):
                R.on_write(target, rest[0], rest[1], sys._getframe(2))
        elif R.journal is not None and isinstance(target, CONTAINERS):
            R.journal.container(target)
    return call(attribute(obj, name), *args, **kwargs)
