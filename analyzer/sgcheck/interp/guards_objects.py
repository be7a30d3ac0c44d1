"""Guards of attributes and calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import EnumMeta
from functools import partial
from inspect import CO_GENERATOR
from types import (
    FrameType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from sgcheck.interp import access, constructors, natives
from sgcheck.interp.guards_native import CONTAINERS, native_call
from sgcheck.interp.iterators import WALKING, Stream, Walk
from sgcheck.interp.journal import MISSING
from sgcheck.interp.runtime import RUNTIME
from sgcheck.syntax.names import (
    FORBIDDEN_ATTRIBUTES,
    GUARDED_ATTRIBUTES,
    MUTATORS,
    SHARED,
    UNKNOWN_SLOTS,
)
from sgcheck.values.kinds import is_a
from sgcheck.values.signals import EngineSignal, Escape, Refused
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import ASK, Unknown

R = RUNTIME

_FRESH_TYPES = (list, dict, set)
_STREAMS = (GeneratorType, Stream)
_MAKING = frozenset(
    {"copy", "split", "rsplit", "splitlines", "union", "intersection", "difference"}
)
_VARKEYWORDS = 0x08
_NAMES = GUARDED_ATTRIBUTES | FORBIDDEN_ATTRIBUTES | UNKNOWN_SLOTS
_GUARDED_KINDS = frozenset({*natives.METHODS, type})
"""Kinds of objects whose methods are not all called as they are."""


# -- attributes --------------------------------------------------------------------


def attribute(obj: Any, name: str) -> Any:
    """`obj.name` for guarded names, and for names known only at run time."""
    if type(name) is str and name not in _NAMES and not name.startswith("__"):
        return maybe_attribute(obj, name)
    if type(name) is not str:
        if is_a(name, Unknown):
            raise Escape(name.reason)
        if not issubclass(type(name), str):
            raise TypeError("attribute name must be string")
        name = access.exact(name)
    if name.startswith("__") and name.endswith("__"):
        if issubclass(type(obj), Unknown):
            return ASK[-1].attribute(obj, name)
        return _special_attribute(obj, name)
    if name in UNKNOWN_SLOTS and issubclass(type(obj), Unknown):
        return ASK[-1].attribute(obj, name)
    if name in FORBIDDEN_ATTRIBUTES:
        access.check_read(obj, name)
    elif name in SHARED:
        value = maybe_attribute(obj, name)
        return access.registering(value) if name == "register" else access.unshared(obj, value)
    elif name in GUARDED_ATTRIBUTES:
        kind = type(obj)
        if issubclass(kind, type) and issubclass(obj, (*CONTAINERS, str)):
            return lambda *args, **kwargs: method(args[0], name, *args[1:], **kwargs)
        if issubclass(kind, (*CONTAINERS, str)):
            if not hasattr(obj, name):
                return getattr(obj, name)
            return lambda *args, **kwargs: method(obj, name, *args, **kwargs)
        return _redirected(maybe_attribute(obj, name), name)
    return maybe_attribute(obj, name)


def _redirected(value: Any, name: str) -> Any:
    """A method of a container or of text that was found through another object (`super`, an alias)."""
    kind = type(value)
    if kind is natives.BUILTIN and issubclass(type(value.__self__), (*CONTAINERS, str)):
        own = value.__self__
        return lambda *args, **kwargs: method(own, name, *args, **kwargs)
    if kind is MethodDescriptorType and issubclass(value.__objclass__, (*CONTAINERS, str)):
        return lambda first, /, *args, **kwargs: method(first, name, *args, **kwargs)
    return value


def maybe_attribute(obj: Any, name: str) -> Any:
    """`obj.name` where an attribute may be there on some paths only."""
    value = getattr(obj, name)
    if type(value) is Choice:
        return ASK[-1].present_attribute(obj, name, value)
    return value


def _special_attribute(obj: Any, name: str) -> Any:
    """A double-underscore name: by list, or the tree's own."""
    if name == "__dict__":
        return access.namespace(obj)
    if name in access.RAW:
        return access.raw_access(getattr(obj, name), name, attribute)
    if name == "__annotations__" and issubclass(type(obj), ModuleType):
        return dict(access.module_names(obj).get(name, {}))
    if name == "__subclasses__" and issubclass(type(obj), type) and natives.is_tree_class(obj):
        return partial(access.tree_subclasses, obj)
    if name == "__self__" and type(obj) is MethodType:
        if access.is_tree_function(obj.__func__):
            return obj.__self__
    elif name == "__spec__" and issubclass(type(obj), ModuleType):
        return None
    access.check_read(obj, name)
    value = getattr(obj, name)
    if name in _CHAIN and issubclass(type(value), EngineSignal):
        return None
    return access.unshared(obj, value)


_CHAIN = frozenset({"__context__", "__cause__"})


def set_attribute(value: Any, obj: Any, name: str) -> None:
    """`obj.name = value`."""
    if issubclass(type(obj), Unknown):
        ASK[-1].set_attribute(obj, name, value)
        return
    write_attribute(obj, name, value, sys._getframe(1))


def write_attribute(obj: Any, name: str, value: Any, frame: FrameType | None) -> None:
    """Set an attribute by name; `frame` is the writer's."""
    name = access.exact(name)
    access.check_write(obj, name)
    if name == "__del__":
        # When an object dies is no part of a prediction.
        return
    if R.journal is not None:
        R.journal.attr(obj, name)
    if R.on_write is not None and type(obj) is R.record_class:
        R.on_write(obj, name, value, frame)
    setattr(obj, name, value)


def del_attribute(obj: Any, name: str) -> None:
    """`del obj.name`."""
    if issubclass(type(obj), Unknown):
        raise Escape(obj.reason)
    name = access.exact(name)
    if type(obj) is FunctionType and not name.startswith("__") and name not in obj.__dict__:
        kind = "function" if access.is_tree_function(obj) else "builtin_function_or_method"
        raise AttributeError(f"'{kind}' object has no attribute '{name}'")
    access.check_write(obj, name)
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
    """About to assign a name of an enclosing function; `setter` shares nothing else with it."""
    if R.journal is not None:
        cells = setter.__closure__
        assert cells is not None
        R.journal.cell(cells[0])


# -- calls -------------------------------------------------------------------------


def call(func: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`func(*args, **kwargs)`."""
    kind = type(func)
    if kind is FunctionType or kind is MethodType:
        if kind is MethodType and type(func.__func__) is not FunctionType:
            return call(func.__func__, func.__self__, *args, **kwargs)
        R.steps_left -= 1
        if R.steps_left < 0:
            R.tick_slow()
        if kwargs and R.on_declare is not None:
            function = func if kind is FunctionType else func.__func__
            if function.__code__.co_flags & _VARKEYWORDS:
                R.on_declare(func, "", args, (kwargs, access.tree_frame()))
        if R.region is not None:
            return explored(func, args, kwargs)
        return func(*args, **kwargs)
    special = (
        constructors.SPECIAL_CALLS.get(func) if kind is type or kind is natives.BUILTIN else None
    )
    if special is not None:
        if kwargs and func is dict and R.on_display is not None:
            R.on_display(kwargs, access.tree_frame())
        if R.region is None:
            return special(*args, **kwargs)
        try:
            result = special(*args, **kwargs)
        except Escape as escape:
            # list(generator): as with a comprehension, only what it would have given is not known.
            if len(args) == 1 and not kwargs and type(args[0]) in _STREAMS:
                return ASK[-1].computed(escape, func if func in _FRESH_TYPES else None)
            raise
        if type(result) in _FRESH_TYPES:
            R.fresh.append(result)
        return result
    if kind is type or issubclass(kind, type):
        if natives.is_tree_class(func):
            R.steps_left -= 1
            if R.steps_left < 0:
                R.tick_slow()
            if func is R.record_class and R.on_construct is not None:
                R.on_construct(kwargs)
            if kind is EnumMeta and len(args) == 1 and issubclass(type(args[0]), Unknown):
                return ASK[-1].member(func, args[0])
            if R.region is not None:
                return explored(func, args, kwargs)
            if issubclass(func, type):
                return natives.without_destructor(func(*args, **kwargs))
            return func(*args, **kwargs)
        if issubclass(func, type):
            return natives.without_destructor(native_call(func, args, kwargs))
        return native_call(func, args, kwargs)
    if issubclass(kind, Unknown):
        return func(*args, **kwargs)
    if issubclass(kind, partial) and (kind is partial or not access.is_own(func, "__call__")):
        if kwargs:
            given = dict(func.keywords)
            natives.overlay(given, kwargs)
            return call(func.func, *func.args, *args, **given)
        return call(func.func, *func.args, *args, **func.keywords)
    if natives.is_tree_class(kind):
        target = access.class_attribute(kind, "__call__")
        if type(target) is not FunctionType and target is not MISSING:
            # Python would call it without asking: `__call__` may be any object.
            if hasattr(type(target), "__get__"):
                target = type(target).__get__(target, func, kind)
            return call(target, *args, **kwargs)
        if R.region is not None:
            return explored(func, args, kwargs)
        return func(*args, **kwargs)
    return native_call(func, args, kwargs)


def call_dropped(func: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`func(*args, **kwargs)` whose result nobody uses, where paths are explored."""
    if type(func) is FunctionType and not kwargs and R.region is not None:
        R.step()
        return explored(func, args, kwargs, dropped=True)
    return call(func, *args, **kwargs)


def call_walked(func: Any, /, *args: Any) -> Any:
    """`func(*args)` over which a loop runs: elements that are all there need no iterator."""
    found = call(func, *args)
    if type(found) is Walk and type(func) is FunctionType and func in WALKING:
        return found.elements
    return found


def explored(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, dropped: bool = False
) -> Any:
    """A call of code of the tree while paths are explored."""
    function = func.__func__ if type(func) is MethodType else func
    if type(function) is FunctionType and function.__code__.co_flags & CO_GENERATOR:
        # Nothing of it runs before somebody wants its elements.
        ASK[-1].settle(kwargs)
        return Stream(func(*args, **kwargs), partial(func, *args, **kwargs))
    assert R.region is not None
    result = R.region(func, args, kwargs, dropped=dropped)
    return Stream(result) if type(result) is GeneratorType else result


def method(obj: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """`obj.name(*args, **kwargs)`."""
    kind = type(obj)
    if issubclass(kind, Unknown):
        return ASK[-1].method(obj, name, args, kwargs)
    table = natives.METHODS.get(kind)
    if table is not None:
        handler = table.get(name)
        if handler is not None:
            result = handler(obj, *args, **kwargs)
            if R.region is not None and name in _MAKING:
                R.fresh.append(result)
            return result
        if not name.startswith("__"):
            return native_call(attribute(obj, name), args, kwargs)
    if name.startswith("__"):
        return _dunder_method(obj, name, args, kwargs)
    if name in SHARED:
        return call(attribute(obj, name), *args, **kwargs)
    if name in GUARDED_ATTRIBUTES and issubclass(kind, (*CONTAINERS, str)):
        return _guarded_subclass_method(obj, name, args, kwargs)
    if name in FORBIDDEN_ATTRIBUTES:
        access.check_read(obj, name)
    if kind is type and args and issubclass(type(args[0]), obj):
        by_class = natives.METHODS.get(obj)
        if by_class is not None and name in by_class:
            return by_class[name](*args, **kwargs)
        if name in GUARDED_ATTRIBUTES and issubclass(obj, (*CONTAINERS, str)):
            return method(args[0], name, *args[1:], **kwargs)
    func = getattr(obj, name)
    inner = type(func)
    if inner is FunctionType or (inner is MethodType and type(func.__func__) is FunctionType):
        R.steps_left -= 1
        if R.steps_left < 0:
            R.tick_slow()
        if kwargs and R.on_declare is not None:
            R.on_declare(func, "", args, (kwargs, access.tree_frame()))
        if R.region is not None:
            return explored(func, args, kwargs)
        return func(*args, **kwargs)
    if name in GUARDED_ATTRIBUTES and kind is not type:
        func = _redirected(func, name)
    return call(func, *args, **kwargs)


def callee(func: Any) -> Any:
    """What a call calls that does not count itself: a function as it is, anything else guarded."""
    if type(func) is access.Lazy:
        func = func.value()
    if type(func) is FunctionType:
        return func
    return partial(call, func)


# By number of arguments: to pack and unpack them takes as long as the call.


def method_0(obj: Any, name: str, /) -> Any:
    """`obj.name()` for a name that is neither guarded nor special, where no paths are explored."""
    kind = type(obj)
    if kind in _GUARDED_KINDS or issubclass(kind, Unknown):
        return method(obj, name)
    func = getattr(obj, name)
    inner = type(func)
    if inner is FunctionType or (inner is MethodType and type(func.__func__) is FunctionType):
        R.steps_left -= 1
        if R.steps_left < 0:
            R.tick_slow()
        return func()
    return call(func)


def method_1(obj: Any, name: str, one: Any, /) -> Any:
    """`obj.name(one)`, as `method_0`."""
    kind = type(obj)
    if kind in _GUARDED_KINDS or issubclass(kind, Unknown):
        return method(obj, name, one)
    func = getattr(obj, name)
    inner = type(func)
    if inner is FunctionType or (inner is MethodType and type(func.__func__) is FunctionType):
        R.steps_left -= 1
        if R.steps_left < 0:
            R.tick_slow()
        return func(one)
    return call(func, one)


def method_2(obj: Any, name: str, one: Any, two: Any, /) -> Any:
    """`obj.name(one, two)`, as `method_0`."""
    kind = type(obj)
    if kind in _GUARDED_KINDS or issubclass(kind, Unknown):
        return method(obj, name, one, two)
    func = getattr(obj, name)
    inner = type(func)
    if inner is FunctionType or (inner is MethodType and type(func.__func__) is FunctionType):
        R.steps_left -= 1
        if R.steps_left < 0:
            R.tick_slow()
        return func(one, two)
    return call(func, one, two)


def own_attribute(kind: Any, obj: Any, name: str, /) -> Any:
    """`object.__getattribute__(obj, "name")` for a name that is neither guarded nor special."""
    if kind is not object or issubclass(type(obj), (Unknown, super)):
        return method(kind, "__getattribute__", obj, name)
    return object.__getattribute__(obj, name)


def set_own_attribute(kind: Any, obj: Any, name: Any, value: Any, /) -> None:
    """`object.__setattr__(obj, name, value)`, where no paths are explored."""
    if kind is not object or type(name) is not str or issubclass(type(obj), (Unknown, super, type)):
        method(kind, "__setattr__", obj, name, value)
        return
    access.check_write(obj, name)
    if R.journal is not None:
        R.journal.attr(obj, name)
    if R.on_write is not None and type(obj) is R.record_class:
        frame = sys._getframe(1)
        if frame.f_code.co_name != "__setattr__":
            R.on_write(obj, name, value, frame)
    object.__setattr__(obj, name, value)


def receiver(obj: Any, name: str) -> Any:
    """The object of a method call whose arguments are worked out next: has it such a method?"""
    kind = type(obj)
    if (
        hasattr(kind, name)
        or hasattr(kind, "__getattr__")
        or issubclass(kind, (Unknown, type, ModuleType, super))
        or name in getattr(obj, "__dict__", ())
    ):
        return obj
    if name not in FORBIDDEN_ATTRIBUTES:
        getattr(obj, name)
    return obj


def _guarded_subclass_method(
    obj: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A mutating method of a subclass of a native container (or `format` of a str subclass)."""
    func = getattr(obj, name)
    if type(func) is MethodType:
        return call(func, *args, **kwargs)
    if issubclass(type(obj), str):
        return natives.str_format(obj, *args, **kwargs)
    if R.journal is not None and name in MUTATORS:
        R.journal.container(obj)
    return native_call(func, args, kwargs)


def _dunder_method(obj: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name in ("__setattr__", "__delattr__", "__setitem__", "__delitem__", "__init__"):
        target, rest = obj, args
        if issubclass(type(obj), super):
            target = obj.__self__
        elif issubclass(type(obj), type) and args:
            target, rest = args[0], args[1:]
        if rest and name in access.RAW and not access.is_own(obj, name):
            if not issubclass(type(rest[0]), str):
                raise Refused("attribute by a strange name")
            key = access.exact(rest[0])
            access.check_write(target, key)
            if key == "__del__":
                return None
            if R.journal is not None:
                R.journal.attr(target, key)
            if (
                name == "__setattr__"
                and R.on_write is not None
                and type(target) is R.record_class
                and sys._getframe(2).f_code.co_name != "__setattr__"
            ):
                R.on_write(target, key, rest[1], sys._getframe(2))
            before = () if rest is args else args[:1]
            return call(getattr(obj, name), *before, key, *rest[1:])
        if R.journal is not None and issubclass(type(target), CONTAINERS):
            R.journal.container(target)
    elif name == "__getattribute__" and obj is object and R.region is None and not kwargs:
        if (
            len(args) == 2
            and type(args[1]) is str
            and args[1] != "__dict__"
            and args[1] not in access.RAW
            and not issubclass(type(args[0]), (Unknown, super))
        ):
            access.check_read(*args)
            return object.__getattribute__(*args)
    elif name == "__call__" and not access.is_own(obj, name):
        return call(obj, *args, **kwargs)
    elif name in constructors.OPERATORS and not access.is_own(obj, name):
        return constructors.OPERATORS[name](obj, *args)
    result = call(attribute(obj, name), *args, **kwargs)
    return natives.without_destructor(result) if name == "__new__" else result
