"""copy: what a copied object says about itself (`__reduce_ex__`) goes through the guards.

`copy` calls what it is told to call, and puts the state that it is given wherever it is told to.
"""

from __future__ import annotations

import copy
import copyreg
import types
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from sgcheck.interp import access, guards
from sgcheck.interp.journal import MISSING
from sgcheck.values.kinds import is_a
from sgcheck.values.signals import Refused
from sgcheck.values.unknown import Unknown
from sgcheck.world.facade import Facade

_ATOMIC = (
    type(None),
    int,
    float,
    bool,
    complex,
    bytes,
    str,
    type,
    range,
    property,
    BuiltinFunctionType,
    FunctionType,
    ModuleType,
    type(Ellipsis),
    type(NotImplemented),
    types.CodeType,
    weakref.ref,
)
_SHALLOW: dict[type, Callable[[Any], Any]] = {
    **{kind: kind.copy for kind in (list, dict, set, bytearray)},
    **dict.fromkeys((*_ATOMIC, tuple, frozenset, slice), lambda value: value),
}


class _Memo(dict):  # type: ignore[type-arg]
    """What has been copied, by identity; its values with what they are copies of."""


def _own_method(value: Any, name: str) -> Any:
    """The method that the class has under `name`, bound; `MISSING` where it has none."""
    found = access.class_attribute(type(value), name)
    if found is MISSING or found is None:
        return MISSING
    getter = access.class_attribute(type(found), "__get__")
    return found if getter is MISSING else getter(found, value, type(value))


def _reduced(value: Any) -> Any:
    """What `value` says of how it is made again."""
    kind = type(value)
    maker = copyreg.dispatch_table.get(kind) if type(kind) is type else None
    if maker is not None:
        return maker(value)
    by_level = access.class_attribute(kind, "__reduce_ex__")
    if by_level is _REDUCE_EX:
        plain = access.class_attribute(kind, "__reduce__")
        if _is_of_tree(kind, "__reduce__", plain):
            return guards.call(plain, value)
        return object.__reduce_ex__(value, 4)
    if _is_of_tree(kind, "__reduce_ex__", by_level):
        return guards.call(by_level, value, 4)
    return by_level.__get__(value, kind)(4)


_REDUCE_EX = vars(object)["__reduce_ex__"]


def _is_of_tree(kind: type, name: str, found: Any) -> bool:
    """Whether a method is the tree's; one that the tree took elsewhere is refused."""
    if type(found) is FunctionType and access.is_tree_function(found):
        return True
    if access.is_own_class_attribute(kind, name):
        raise Refused(f"{name} of a strange kind")
    return False


def copied(value: Any) -> Any:
    """`copy.copy`."""
    kind = type(value)
    if issubclass(kind, Unknown):
        return copy.copy(value)
    if type(kind) is type and kind in _SHALLOW:
        return _SHALLOW[kind](value)
    if issubclass(kind, type):
        return value
    own = _own_method(value, "__copy__")
    if own is not MISSING:
        return guards.call(own)
    reduced = _reduced(value)
    return value if is_a(reduced, str) else _made(reduced, lambda part: part)


def deeply_copied(value: Any, memo: Any = None) -> Any:
    """`copy.deepcopy`. A `memo` of the tree's is handed on to its own methods, and not filled."""
    kept: dict[int, tuple[Any, Any]] = _Memo()

    def deep(part: Any) -> Any:
        kind = type(part)
        if issubclass(kind, type) or (type(kind) is type and kind in _ATOMIC):
            return part
        known = kept.get(id(part))
        if known is not None:
            return known[1]
        if issubclass(kind, Unknown):
            return copy.deepcopy(part)
        made = compound(part, kind)
        kept[id(part)] = part, made
        return made

    def compound(part: Any, kind: type) -> Any:
        if kind is list:
            elements: list[Any] = []
            kept[id(part)] = part, elements
            elements.extend(map(deep, part))
            return elements
        if kind is dict:
            entries: dict[Any, Any] = {}
            kept[id(part)] = part, entries
            for key, entry in part.items():
                entries[deep(key)] = deep(entry)
            return entries
        if kind is tuple:
            items = tuple(map(deep, part))
            if id(part) in kept:
                return kept[id(part)][1]
            return part if all(a is b for a, b in zip(items, part, strict=True)) else items
        if kind is MethodType:
            if not access.is_tree_function(part.__func__):
                return part
            return MethodType(part.__func__, deep(part.__self__))
        own = _own_method(part, "__deepcopy__")
        if own is not MISSING:
            return guards.call(own, _handed(memo, deep))
        reduced = _reduced(part)
        if is_a(reduced, str):
            return part
        return _made(reduced, deep, lambda made: kept.__setitem__(id(part), (part, made)))

    return deep(value)


def _handed(memo: Any, deep: Callable[[Any], Any]) -> Any:
    """What a `__deepcopy__` gets, to hand it on."""
    return _Handed({} if memo is None else memo, deep)


class _Handed(dict):  # type: ignore[type-arg]
    """A memo in the hands of the tree: an empty dictionary that knows who is copying."""

    __slots__ = ("_deep",)

    def __init__(self, content: Any, deep: Callable[[Any], Any]) -> None:
        super().__init__(content if type(content) is dict else {})
        self._deep = deep


def deepcopy(value: Any, memo: Any = None, _nil: Any = None) -> Any:
    """`copy.deepcopy`: within a copy that is under way, a part of it."""
    if type(memo) is _Handed:
        return memo._deep(value)
    return deeply_copied(value, memo)


def _made(
    reduced: Any, part: Callable[[Any], Any], remember: Callable[[Any], None] | None = None
) -> Any:
    """The object that `__reduce_ex__` describes: (callable, arguments, state, elements, entries)."""
    if not is_a(reduced, tuple) or not 2 <= len(reduced) <= 6:
        raise TypeError("__reduce__ must return a string or tuple")
    function, args, state, elements, entries, setter = (*tuple(reduced), *[None] * 4)[:6]
    if setter is not None:
        raise Refused("a setter of state")
    made = guards.call(function, *(part(one) for one in args))
    if remember is not None:
        remember(made)
    if state is not None:
        _set_state(made, part(state))
    for element in elements if elements is not None else ():
        guards.method(made, "append", part(element))
    for key, entry in entries if entries is not None else ():
        guards.set_item(part(entry), made, part(key))
    return made


def _set_state(made: Any, state: Any) -> None:
    own = _own_method(made, "__setstate__")
    if own is not MISSING:
        guards.call(own, state)
        return
    slots = None
    if type(state) is tuple and len(state) == 2:
        state, slots = state
    for names in (state, slots):
        for name, value in dict(names or {}).items():
            if not is_a(name, str):
                raise Refused("attribute by a strange name")
            key = access.exact(name)
            access.check_write(made, key)
            if names is slots:
                guards.write_attribute(made, key, value, None)
            else:
                _put(made, key, value)


def _put(made: Any, name: str, value: Any) -> None:
    """`made.__dict__[name] = value`, past the setter of its class."""
    space = access.namespace(made)
    guards.set_item(value, space, name)


def _replaced(value: Any, /, **changes: Any) -> Any:
    """`copy.replace`, which the running Python may not have."""
    own = _own_method(value, "__replace__")
    if own is MISSING:
        raise TypeError(f"replace() does not support {type(value).__name__} objects")
    return guards.call(own, **changes)


def build() -> Facade:
    """The module `copy`."""
    return Facade(
        "copy", {"copy": copied, "deepcopy": deepcopy, "replace": _replaced, "Error": copy.Error}
    )
