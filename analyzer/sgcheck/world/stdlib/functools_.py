"""functools: its caches keep their content where the journal sees it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from sgcheck.interp import access
from sgcheck.interp.journal import MISSING
from sgcheck.interp.merge import CacheDict
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.syntax.names import is_reserved
from sgcheck.values.kinds import is_a
from sgcheck.values.signals import Refused
from sgcheck.values.unknown import ASK, Unknown, find_unknown
from sgcheck.world.facade import Facade, own_class

_MISSING = object()


class _CacheInfo(tuple):  # type: ignore[type-arg]
    hits = property(lambda self: self[0])
    misses = property(lambda self: self[1])
    maxsize = property(lambda self: self[2])
    currsize = property(lambda self: self[3])


def _cached(function: Callable[..., Any], maxsize: int | None, typed: bool) -> Callable[..., Any]:
    store: dict[Any, Any] = CacheDict()

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        from sgcheck.interp import guards

        unknown = find_unknown([args, kwargs], 2)
        if unknown is not None:
            return guards.call(function, *args, **kwargs)
        key: Any = (args, tuple(kwargs.items())) if kwargs else args
        if typed:
            key = (key, tuple(type(a) for a in args))
        found = store.get(key, _MISSING)
        if found is not _MISSING:
            return found
        value = guards.call(function, *args, **kwargs)
        if maxsize == 0:
            return value
        if R.journal is not None:
            R.journal.item(store, key)
        store[key] = value
        return value

    functools.update_wrapper(wrapper, function)

    def cache_clear() -> None:
        if R.journal is not None:
            R.journal.container(store)
        store.clear()

    wrapper.cache_clear = cache_clear  # type: ignore[attr-defined]
    wrapper.cache_info = lambda: _CacheInfo((0, 0, maxsize, len(store)))  # type: ignore[attr-defined]
    wrapper.cache_parameters = lambda: {"maxsize": maxsize, "typed": typed}  # type: ignore[attr-defined]
    return wrapper


def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
    """`functools.lru_cache` without eviction: nothing in a resolution depends on eviction."""
    if callable(maxsize):
        return _cached(maxsize, 128, False)
    return lambda function: _cached(function, maxsize, typed)


def cache(function: Any) -> Any:
    """`functools.cache`."""
    return _cached(function, None, False)


class cached_property:
    """`functools.cached_property` whose value is stored through the journal."""

    def __init__(self, func: Any) -> None:
        self.func = func
        self.attrname: str | None = None
        self.__doc__ = getattr(func, "__doc__", None)

    def __set_name__(self, owner: Any, name: str) -> None:
        if self.attrname is None:
            self.attrname = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        from sgcheck.interp import guards

        if instance is None:
            return self
        name = self.attrname
        if not is_a(name, str):
            raise TypeError(
                "Cannot use cached_property instance without calling __set_name__ on it."
            )
        name = access.exact(name)
        if is_a(instance, ModuleType) or is_reserved(name):
            raise Refused("a cached property of a module")
        space = access.namespace(instance)
        value = space.get(name, _MISSING)
        if value is _MISSING:
            if not is_a(space, dict):
                raise TypeError(
                    f"The '__dict__' attribute on {type(instance).__name__!r} instance does not "
                    f"support item assignment for caching {name!r} property."
                )
            value = guards.call(self.func, instance)
            if R.journal is not None:
                R.journal.space(space, name)
            space[name] = value
        return value


def reduce(function: Any, sequence: Any, *initial: Any) -> Any:
    """`functools.reduce`."""
    from sgcheck.interp import guards

    if issubclass(type(sequence), Unknown):
        return ASK[-1].apply(functools.reduce, (function, sequence), {})
    return functools.reduce(
        lambda left, right: guards.call(function, left, right), guards.counted(sequence), *initial
    )


def update_wrapper(
    wrapper: Any,
    wrapped: Any,
    assigned: Any = functools.WRAPPER_ASSIGNMENTS,
    updated: Any = functools.WRAPPER_UPDATES,
) -> Any:
    """`functools.update_wrapper`, which reads and sets attributes by name."""
    from sgcheck.interp import guards

    assigned, updated = (
        tuple(access.exact(name) if is_a(name, str) else "" for name in names)
        for names in (assigned, updated)
    )
    for name in (*assigned, *updated):
        if name not in (*functools.WRAPPER_ASSIGNMENTS, *functools.WRAPPER_UPDATES):
            raise Refused(f"update_wrapper of {name}")
    for name in assigned:
        try:
            value = guards.attribute(wrapped, name)
        except AttributeError:
            continue
        guards.set_attribute(value, wrapper, name)
    for name in updated:
        if not issubclass(type(wrapped), Unknown):
            guards.method(guards.attribute(wrapper, name), "update", _entries(wrapped, name))
    guards.set_attribute(wrapped, wrapper, "__wrapped__")
    return wrapper


def _entries(wrapped: Any, name: str) -> dict[str, Any]:
    from sgcheck.interp import guards

    try:
        return dict(guards.attribute(wrapped, name))
    except AttributeError:
        return {}


def wraps(
    wrapped: Any,
    assigned: Any = functools.WRAPPER_ASSIGNMENTS,
    updated: Any = functools.WRAPPER_UPDATES,
) -> Any:
    """`functools.wraps`."""
    return lambda wrapper: update_wrapper(wrapper, wrapped, assigned, updated)


def total_ordering(cls: Any) -> Any:
    """`functools.total_ordering`, for classes of the tree."""
    own_class(cls)
    return functools.total_ordering(cls)


def singledispatch(function: Any) -> Any:
    """`functools.singledispatch`; a type is given, not read from an annotation."""
    made = functools.singledispatch(_called(function))
    register = made.register

    def checked(cls: Any, func: Any = None) -> Any:
        if not is_a(cls, type):
            raise Refused("singledispatch by annotation")
        if func is None:
            return lambda given: checked(cls, given)
        register(cls, _called(func))
        return func

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not args:
            raise TypeError(f"{name} requires at least 1 positional argument")
        return made.dispatch(type(args[0]))(*args, **kwargs)

    name = getattr(function, "__name__", "singledispatch function")
    wrapper.register = checked  # type: ignore[attr-defined]
    wrapper.dispatch = made.dispatch  # type: ignore[attr-defined]
    wrapper.registry = made.registry  # type: ignore[attr-defined]
    return functools.update_wrapper(wrapper, function)


class partialmethod:
    """`functools.partialmethod`, which tells nobody whose method it is."""

    def __init__(self, func: Any, /, *args: Any, **keywords: Any) -> None:
        if not callable(func) and not hasattr(func, "__get__"):
            raise TypeError(f"{func!r} is not callable or a descriptor")
        self.func, self.args, self.keywords = func, args, keywords

    def __get__(self, obj: Any, cls: Any = None) -> Any:
        getter = access.class_attribute(type(self.func), "__get__")
        if type(self.func) is FunctionType or getter is MISSING:
            bound = self.func if obj is None else functools.partial(self.func, obj)
        else:
            bound = getter(self.func, obj, cls)
        return functools.partial(bound, *self.args, **self.keywords)


def _called(function: Any) -> Any:
    """A function that calls `function` under guard, and has nothing that could be read from it."""
    from sgcheck.interp import guards

    return lambda *args, **kwargs: guards.call(function, *args, **kwargs)


def build() -> Facade:
    """The module `functools`."""
    return Facade(
        "functools",
        {
            "lru_cache": lru_cache,
            "cache": cache,
            "cached_property": cached_property,
            "reduce": reduce,
            "partial": functools.partial,
            "partialmethod": partialmethod,
            "wraps": wraps,
            "update_wrapper": update_wrapper,
            "total_ordering": total_ordering,
            "cmp_to_key": functools.cmp_to_key,
            "singledispatch": singledispatch,
            "WRAPPER_ASSIGNMENTS": functools.WRAPPER_ASSIGNMENTS,
            "WRAPPER_UPDATES": functools.WRAPPER_UPDATES,
        },
    )
