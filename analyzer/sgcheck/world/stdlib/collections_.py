"""collections and weakref: classes that hand attributes on to another object do so under guard."""

from __future__ import annotations

import collections
import collections.abc
import weakref
from functools import cache
from typing import Any

from sgcheck.interp import guards
from sgcheck.values.kinds import is_a
from sgcheck.world.facade import Facade, public_names
from sgcheck.world.stdlib.private import private_copy


class _Guarded:
    """The methods of `UserString` that would format the text themselves."""

    data: str

    def format(self, /, *args: Any, **kwargs: Any) -> Any:
        return guards.method(self.data, "format", *args, **kwargs)

    def format_map(self, mapping: Any) -> Any:
        return guards.method(self.data, "format_map", mapping)

    def __mod__(self, args: Any) -> Any:
        return type(self)(guards.modulo(self.data, args))  # type: ignore[call-arg]

    def __rmod__(self, template: Any) -> Any:
        return type(self)(guards.modulo(str(template), self))  # type: ignore[call-arg]

    def __mul__(self, number: Any) -> Any:
        return type(self)(guards.mul(self.data, number))  # type: ignore[call-arg]

    __rmul__ = __mul__


def _copied(self: Any) -> Any:
    """`UserDict.copy`, `UserList.copy`."""
    from sgcheck.world.stdlib.copy_ import copied

    return copied(self)


def _same_class(self: Any) -> Any:
    """`__copy__` of a class that keeps its content in `data`."""
    made = object.__new__(type(self))
    made.__dict__.update(vars(self))
    made.__dict__["data"] = self.__dict__["data"][:] if is_a(self.data, list) else {**self.data}
    return made


def _namedtuple(typename: Any, field_names: Any, **options: Any) -> Any:
    """`collections.namedtuple`, whose names become text: plain strings only."""
    if is_a(field_names, str):
        names: Any = str.__str__(field_names)
    else:
        names = [str.__str__(n) if is_a(n, str) else str(n) for n in field_names]
    name = str.__str__(typename) if is_a(typename, str) else str(typename)
    module = options.pop("module", None)
    if module is None:
        from sgcheck.interp.access import tree_frame

        module = tree_frame().f_globals.get("__name__", "sglang")
    return collections.namedtuple(name, names, module=module, **options)


_HANDING_ON = ("UserDict", "UserList", "UserString")


@cache
def _handing_on() -> dict[str, Any]:
    library = private_copy("collections")
    for name, value in vars(_Guarded).items():
        if callable(value):
            type.__setattr__(library.UserString, name, value)
    for kind in (library.UserDict, library.UserList):
        type.__setattr__(kind, "__copy__", _same_class)
        type.__setattr__(kind, "copy", _copied)
    return {name: vars(library)[name] for name in _HANDING_ON}


class _Collections(Facade):
    """The module `collections`, whose classes that few use are made when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        if name not in _HANDING_ON:
            return super().__getattr__(name)
        self.__dict__.update(_handing_on())
        return self.__dict__[name]


def build_collections() -> dict[str, Facade]:
    """The modules `collections` and `collections.abc`."""
    names = public_names(collections, without=_HANDING_ON)
    names["namedtuple"] = _namedtuple
    abc = Facade("collections.abc", public_names(collections.abc))
    return {
        "collections": _Collections("collections", {**names, "abc": abc}),
        "collections.abc": abc,
    }


class _Ref(weakref.ref):  # type: ignore[type-arg]
    """`weakref.ref` without a callback: when an object dies is no part of a prediction."""

    __slots__ = ()
    __module__ = "weakref"
    __qualname__ = "ReferenceType"

    def __new__(cls, obj: Any, callback: Any = None) -> Any:
        return super().__new__(cls, obj)

    def __init__(self, obj: Any, callback: Any = None) -> None:
        pass


def build_weakref() -> Facade:
    """The module `weakref`. A proxy would set attributes past the guards."""
    without = {"finalize", "proxy", "ProxyType", "CallableProxyType", "ProxyTypes", "WeakMethod"}
    names = public_names(weakref, without=without)
    names["ref"] = names["ReferenceType"] = _Ref
    return Facade("weakref", names)
