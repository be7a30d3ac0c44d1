"""The guards: what translated code calls instead of doing it itself.

Each is a plain function, found by translated code under `names.guard(name)` in its builtins. They
must be fast where nothing is unknown: the first test of each is the common case.
"""

from __future__ import annotations

import operator
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from types import FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

from sgcheck.interp import natives
from sgcheck.interp.runtime import RUNTIME
from sgcheck.syntax.names import (
    FORBIDDEN_ATTRIBUTES,
    GUARDED_ATTRIBUTES,
    MUTATORS,
    READABLE_DUNDERS,
    guard,
)
from sgcheck.values.signals import EngineSignal, Escape, LimitReached, Refused
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import ASK, Unknown, find_unknown

R = RUNTIME
MAX_SIZE = 50_000_000
"""Bound on the length of a string or container that one operation may build."""
MAX_BITS = 1 << 20

_CONTAINERS = (list, dict, set, deque, bytearray)
_PLAIN = frozenset({int, float, bool, complex, str, bytes, type(None), tuple, frozenset, range})
_FRESH_TYPES = (list, dict, set)
_MAKING = frozenset(
    {"copy", "split", "rsplit", "splitlines", "union", "intersection", "difference"}
)
_VARKEYWORDS = 0x08


class Lazy:
    """A name bound by `from module import name` that nobody has used yet."""

    __slots__ = ("bound", "load", "module", "name", "space")

    def __init__(
        self, module: str, name: str, bound: str, space: dict[str, Any], load: Callable[..., Any]
    ) -> None:
        self.module, self.name, self.bound, self.space, self.load = module, name, bound, space, load


def force(lazy: Lazy) -> Any:
    """The object behind a lazy name, which replaces it in its module."""
    value = lazy.load(lazy.module, lazy.name)
    if lazy.space.get(lazy.bound) is lazy:
        lazy.space[lazy.bound] = value
    return value


def tick() -> None:
    """One turn of a loop."""
    R.steps_left -= 1
    if R.steps_left < 0:
        R.tick_slow()


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
        if isinstance(obj, type) and issubclass(obj, (*_CONTAINERS, str)):
            return lambda *args, **kwargs: method(args[0], name, *args[1:], **kwargs)
        if isinstance(obj, (*_CONTAINERS, str)):
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


# -- items -------------------------------------------------------------------------


def item(obj: Any, key: Any) -> Any:
    """`obj[key]`."""
    if isinstance(key, Unknown):
        if isinstance(obj, type):
            return obj[key]
        return ASK[-1].item(obj, key)
    if isinstance(obj, natives.JOURNALED_MISSING) and R.journal is not None and key not in obj:
        R.journal.item(obj, key)
    value = obj[key]
    if type(value) is Choice and type(obj) is dict:
        return ASK[-1].present(obj, key, value)
    return value


def set_item(value: Any, obj: Any, key: Any) -> None:
    """`obj[key] = value`."""
    if isinstance(key, Unknown):
        key = ASK[-1].concrete(key)
    if isinstance(obj, Unknown):
        raise Escape(obj.reason)
    if R.journal is not None and isinstance(obj, _CONTAINERS):
        if isinstance(obj, dict):
            R.journal.item(obj, key)
        else:
            R.journal.container(obj)
    if R.on_display is not None and type(obj) is dict and type(key) is str:
        R.on_display({key: value}, sys._getframe(1))
    obj[key] = value


def del_item(obj: Any, key: Any) -> None:
    """`del obj[key]`."""
    if isinstance(key, Unknown):
        key = ASK[-1].concrete(key)
    if R.journal is not None and isinstance(obj, _CONTAINERS):
        R.journal.container(obj)
    del obj[key]


def fresh(value: Any) -> Any:
    """A container that this function makes: no other path knows it."""
    if R.region is not None:
        R.fresh.append(value)
    return value


def iterated(value: Any) -> Any:
    """What a loop runs over. A dictionary whose keys may be absent is settled first."""
    if R.region is not None and type(value) is dict:
        ASK[-1].settle(value)
    return value


def tested(value: Any) -> Any:
    """A value in a condition. A dictionary whose keys may be absent may be empty."""
    if type(value) is dict and R.region is not None:
        return ASK[-1].dict_truth(value)
    return value


def display(value: dict[Any, Any]) -> dict[Any, Any]:
    """A dictionary display with names as keys: it may become a declaration of fields."""
    if R.on_display is not None:
        R.on_display(value, sys._getframe(1))
    return value


def keyed_display(keys: tuple[Any, ...], values: tuple[Any, ...]) -> Any:
    """A dictionary display with computed keys; a key that is not known makes the whole unknown."""
    for key in keys:
        if isinstance(key, Unknown):
            return Unknown(key.reason, "{}")
    made = dict(zip(keys, values, strict=True))
    if R.on_display is not None:
        R.on_display(made, sys._getframe(1))
    return fresh(made)


def set_display(elements: tuple[Any, ...]) -> Any:
    """A set display; an element that is not known makes the whole unknown."""
    for element in elements:
        if isinstance(element, Unknown):
            return Unknown(element.reason, "{}")
    return fresh(set(elements))


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
    if isinstance(own, _CONTAINERS):
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
    if name in GUARDED_ATTRIBUTES and isinstance(obj, (*_CONTAINERS, str)):
        return _guarded_subclass_method(obj, name, args, kwargs)
    if name in FORBIDDEN_ATTRIBUTES:
        raise Refused(f"attribute {name}")
    func = getattr(obj, name)
    if kind is type and name in GUARDED_ATTRIBUTES and issubclass(obj, (*_CONTAINERS, str)):
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
        elif R.journal is not None and isinstance(target, _CONTAINERS):
            R.journal.container(target)
    return call(attribute(obj, name), *args, **kwargs)


# -- operators ---------------------------------------------------------------------


def contains(left: Any, right: Any) -> Any:
    """`left in right`."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return ASK[-1].binary("in", left, right)
    kind = type(right)
    if kind is tuple or kind is list:
        for value in right:
            if isinstance(value, Unknown):
                return ASK[-1].binary("in", left, right)
    elif kind is dict and R.region is not None and type(right.get(left)) is Choice:
        return ASK[-1].binary("in", left, right)
    return left in right


def not_contains(left: Any, right: Any) -> Any:
    """`left not in right`."""
    found = contains(left, right)
    if isinstance(found, Unknown):
        return ASK[-1].unary("not", found)
    return not found


def same(left: Any, right: Any) -> Any:
    """`left is right`."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return left is right or ASK[-1].binary("is", left, right)
    return left is right


def not_same(left: Any, right: Any) -> Any:
    """`left is not right`."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        found = left is right or ASK[-1].binary("is", left, right)
        if isinstance(found, Unknown):
            return ASK[-1].unary("not", found)
        return not found
    return left is not right


def add(left: Any, right: Any) -> Any:
    """`left + right`, bounded."""
    kind = type(left)
    if (
        (kind is str or kind is list or kind is tuple or kind is bytes)
        and type(right) is kind
        and len(left) + len(right) > MAX_SIZE
    ):
        raise LimitReached("size")
    return left + right


def _bounded(size: int) -> None:
    if size > MAX_SIZE:
        raise LimitReached("size")


def mul(left: Any, right: Any) -> Any:
    """`left * right`, bounded."""
    if type(left) is int and type(right) is int:
        if left.bit_length() + right.bit_length() > MAX_BITS:
            raise LimitReached("size")
    elif isinstance(left, str | list | tuple | bytes) and isinstance(right, int):
        _bounded(len(left) * right)
    elif isinstance(right, str | list | tuple | bytes) and isinstance(left, int):
        _bounded(len(right) * left)
    return left * right


def power(left: Any, right: Any) -> Any:
    """`left ** right`, bounded."""
    if type(left) is int and type(right) is int and left.bit_length() * abs(right) > MAX_BITS:
        raise LimitReached("size")
    return left**right


def shift(left: Any, right: Any) -> Any:
    """`left << right`, bounded."""
    if type(left) is int and type(right) is int and left.bit_length() + right > MAX_BITS:
        raise LimitReached("size")
    return left << right


def modulo(left: Any, right: Any) -> Any:
    """`left % right`, also of strings."""
    if isinstance(left, str | bytes):
        found = find_unknown(right)
        if found is not None:
            return ASK[-1].binary("%", left, right)
        natives.check_percent(left)
    return left % right


def _in_place(name: str, plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    native = getattr(operator, name)

    def in_place(left: Any, right: Any) -> Any:
        if isinstance(left, _CONTAINERS):
            if R.journal is not None:
                R.journal.container(left)
            if isinstance(right, Unknown):
                raise Escape(right.reason)
            if name == "imul" and isinstance(right, int):
                _bounded(len(left) * right)
            elif isinstance(left, list) and hasattr(right, "__len__"):
                _bounded(len(left) + len(right))
            return native(left, right)
        if hasattr(type(left), f"__{name}__"):
            return native(left, right)
        return plain(left, right)

    return in_place


def formatted(*parts: Any) -> Any:
    """An f-string: text and `(value, conversion, spec)` parts."""
    out: list[str] = []
    for part in parts:
        if type(part) is str:
            out.append(part)
            continue
        value, conversion, spec = part
        if type(value) is str and conversion == -1 and spec == "":
            out.append(value)
            continue
        unknown = find_unknown(value)
        if unknown is not None or isinstance(spec, Unknown):
            return ASK[-1].binary("f-string", list(parts), unknown if unknown is not None else spec)
        if conversion == 114:
            value = repr(value)
        elif conversion == 115:
            value = str(value)
        elif conversion == 97:
            value = ascii(value)
        if spec:
            natives.check_format_spec(spec)
        out.append(format(value, spec))
    return "".join(out)


def any_of(thunk: Callable[[], Any]) -> Any:
    """`any(generator)`, decided as a whole."""
    if R.region is not None:
        return condition(lambda: any(thunk()))
    return any(thunk())


def all_of(thunk: Callable[[], Any]) -> Any:
    """`all(generator)`, decided as a whole."""
    if R.region is not None:
        return condition(lambda: all(thunk()))
    return all(thunk())


def condition(thunk: Callable[[], Any]) -> Any:
    """A test made of several parts. Where it depends on unknowns it is one decision."""
    if R.region is not None:
        return R.region(thunk, (), {})
    return thunk()


def negation(value: Any) -> Any:
    """`not value`, which stays a question where the value is one."""
    if isinstance(value, Unknown):
        return ASK[-1].unary("not", value)
    return not value


def own_test(value: Any) -> Any:
    """The test of an `if` whose ways cannot be joined: decided here."""
    if isinstance(value, Unknown):
        return ASK[-1].truth(value)
    return value


def branch(test: Any, then: Callable[[], None], other: Callable[[], None] | None) -> None:
    """An `if` statement whose ways are joined again behind it."""
    if isinstance(test, Unknown):
        ASK[-1].branch(test, then, other)
    elif test:
        then()
    elif other is not None:
        other()


def with_manager(manager: Any) -> Any:
    """The manager of a `with` statement."""
    if isinstance(manager, Unknown):
        return natives.UnknownManager(manager)
    return manager


def enter_try() -> None:
    """Entering the body of a `try` that has handlers."""
    R.try_depth += 1


def leave_try() -> None:
    """Leaving it, however."""
    R.try_depth -= 1


def match_subject(value: Any) -> Any:
    """The subject of a `match`: patterns cannot meet an unknown."""
    if isinstance(value, Unknown):
        return ASK[-1].concrete(value)
    return value


GUARDS: dict[str, Any] = {
    "L": Lazy,
    "F": force,
    "X": EngineSignal,
    "AE": AssertionError,
    "t": tick,
    "a": attribute,
    "g": maybe_attribute,
    "sa": set_attribute,
    "da": del_attribute,
    "sg": set_global,
    "nl": nonlocal_store,
    "i": item,
    "si": set_item,
    "di": del_item,
    "slice": slice,
    "d": display,
    "n": fresh,
    "it": iterated,
    "b": tested,
    "dk": keyed_display,
    "set": set_display,
    "c": call,
    "m": method,
    "in": contains,
    "nin": not_contains,
    "is": same,
    "isn": not_same,
    "add": add,
    "mul": mul,
    "pow": power,
    "shl": shift,
    "mod": modulo,
    "f": formatted,
    "any": any_of,
    "all": all_of,
    "q": condition,
    "not": negation,
    "o": own_test,
    "if": branch,
    "w": with_manager,
    "try": enter_try,
    "endtry": leave_try,
    "match": match_subject,
    "iadd": _in_place("iadd", add),
    "isub": _in_place("isub", operator.sub),
    "imul": _in_place("imul", mul),
    "itruediv": _in_place("itruediv", operator.truediv),
    "ifloordiv": _in_place("ifloordiv", operator.floordiv),
    "imod": _in_place("imod", modulo),
    "ipow": _in_place("ipow", power),
    "ilshift": _in_place("ilshift", shift),
    "irshift": _in_place("irshift", operator.rshift),
    "ior": _in_place("ior", operator.or_),
    "iand": _in_place("iand", operator.and_),
    "ixor": _in_place("ixor", operator.xor),
    "imatmul": _in_place("imatmul", operator.matmul),
}
BUILTIN_GUARDS = {guard(name): value for name, value in GUARDS.items()}
_ = GeneratorType
