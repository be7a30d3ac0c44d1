"""Modules about the language itself: typing, enum, types, collections, itertools, contextlib, copy, inspect, …"""

from __future__ import annotations

import abc
import ast
import contextlib
import enum
import inspect
import itertools
import operator
import types
import typing
from collections.abc import Callable
from typing import Any

import typing_extensions

from sgcheck.interp import access, guards, natives
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.syntax.names import is_reserved
from sgcheck.values.kinds import is_a
from sgcheck.values.records import class_names, mro
from sgcheck.values.signals import LimitReached, Refused
from sgcheck.values.unknown import Unknown
from sgcheck.world.facade import Facade, changing, lifted, not_modelled, public_names
from sgcheck.world.stdlib import collections_, copy_
from sgcheck.world.stdlib.private import no_text


def _overload(function: Any) -> Any:
    """`typing.overload`, which keeps no register: it would hold all that the function reaches."""

    def overloaded(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "You should not call an overloaded function. A series of @overload-decorated functions "
            "outside a stub module should always be followed by an implementation that is not "
            "@overload-ed."
        )

    return overloaded


_CHANGING = ("no_type_check", "final", "override", "runtime_checkable", "runtime", "deprecated")


def _typing(
    evaluate: Callable[[str, dict[str, Any], dict[str, Any] | None], Any], modules: dict[str, Any]
) -> dict[str, Facade]:
    def namespace(module_name: str) -> dict[str, Any]:
        module = modules.get(module_name) if type(module_name) is str else None
        if module is None:
            return {}
        return access.module_names(module) if access.is_tree_module(module) else {**vars(typing)}

    def resolved(
        annotations: dict[str, Any], space: dict[str, Any], local: dict[str, Any] | None
    ) -> dict[str, Any]:
        return {
            name: evaluate(value, space, local) if issubclass(type(value), str) else value
            for name, value in annotations.items()
        }

    def get_type_hints(
        obj: Any, globalns: Any = None, localns: Any = None, include_extras: bool = False
    ) -> dict[str, Any]:
        hints: dict[str, Any] = {}
        if type(obj) is types.FunctionType and not access.is_tree_function(obj):
            raise Refused("the hints of a function that is not the tree's")
        if issubclass(type(obj), type):
            for base in reversed(mro(obj)):
                annotations = class_names(base).get("__annotations__", {})
                if annotations:
                    space = globalns or namespace(base.__module__)
                    hints.update(resolved(annotations, space, localns or dict(vars(base))))
        else:
            space = globalns or (
                getattr(obj, "__globals__", None) or namespace(getattr(obj, "__module__", ""))
            )
            hints = resolved(getattr(obj, "__annotations__", {}), space, localns)
        if not include_extras:
            strip: Any = typing._strip_annotations  # type: ignore[attr-defined]
            hints = {
                k: strip(v) if not issubclass(type(v), Unknown) else v for k, v in hints.items()
            }
        return hints

    out = {}
    for real in (typing, typing_extensions):
        names = public_names(real)
        names.update(
            {n: getattr(real, n) for n in ("List", "Dict", "Optional") if hasattr(real, n)}
        )
        names["get_type_hints"] = get_type_hints
        names["TYPE_CHECKING"] = False
        names["overload"] = _overload
        for absent in (
            "get_annotations", "evaluate_forward_ref", "reveal_type", "get_overloads", "clear_overloads"
        ):  # fmt: skip
            names.pop(absent, None)
        for decorator in _CHANGING:
            if decorator in names:
                names[decorator] = changing(names[decorator])
        out[real.__name__] = Facade(real.__name__, names)
    return out


def _counter_ticks(make: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        for value in make(*args, **kwargs):
            guards.tick()
            yield value

    return run


_MANY = 1000
"""The most factors of a product: a longer one is never finished."""


class count:
    """`itertools.count`, whose position can be taken back."""

    def __init__(self, start: Any = 0, step: Any = 1) -> None:
        self.value, self.step = start, step

    def __iter__(self) -> count:
        return self

    def __next__(self) -> Any:
        guards.tick()
        value = self.value
        if R.journal is not None:
            R.journal.attr(self, "value")
        self.value = value + self.step
        return value


def _itertools() -> Facade:
    names = {
        n: _counter_ticks(getattr(itertools, n)) for n in dir(itertools) if not n.startswith("_")
    }

    def called(function: Any) -> Any:
        return None if function is None else lambda *args: guards.call(function, *args)

    def first_called(name: str) -> Callable[..., Any]:
        make = names[name]
        return lambda function, elements: make(called(function), elements)

    for name in ("starmap", "dropwhile", "takewhile", "filterfalse"):
        names[name] = first_called(name)
    accumulated, grouped = names["accumulate"], names["groupby"]

    def accumulate(elements: Any, func: Any = None, *, initial: Any = None) -> Any:
        return accumulated(elements, called(func), initial=initial)

    def groupby(elements: Any, key: Any = None) -> Any:
        return grouped(elements, called(key))

    names.update(accumulate=accumulate, groupby=groupby)

    def chained(iterables: Any) -> Any:
        for iterable in guards.counted(iterables):
            yield from guards.counted(iterable)

    def product(*iterables: Any, repeat: int = 1) -> Any:
        if repeat > _MANY:
            raise LimitReached("size")
        pools = [list(guards.counted(i)) for i in iterables] * repeat
        return multiplied(*pools)

    multiplied = names["product"]
    names["product"] = product
    names["chain"].from_iterable = chained  # type: ignore[attr-defined]
    names["tee"] = itertools.tee
    names["count"] = count
    return Facade("itertools", names)


def _operator() -> Facade:
    names = {
        n: lifted(v) for n, v in public_names(operator).items() if not issubclass(type(v), type)
    }
    names.update({n: v for n, v in guards.GUARDS.items() if n in names})
    names.pop("iconcat", None)

    def attrgetter(*paths: str) -> Any:
        def one(obj: Any, path: str) -> Any:
            for part in path.split("."):
                obj = guards.attribute(obj, part)
            return obj

        return lambda obj: (
            one(obj, paths[0]) if len(paths) == 1 else tuple(one(obj, p) for p in paths)
        )

    def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Any:
        return lambda obj: guards.method(obj, name, *args, **kwargs)

    names.update({"attrgetter": attrgetter, "methodcaller": methodcaller, "itemgetter": operator.itemgetter,
                  "getitem": guards.item, "setitem": lambda obj, key, value: guards.set_item(value, obj, key),
                  "delitem": guards.del_item, "call": guards.call, "contains": lambda obj, key: guards.contains(key, obj),
                  "is_": guards.same, "is_not": guards.not_same, "add": guards.add, "concat": guards.add,
                  "mod": guards.modulo, "mul": guards.mul, "pow": guards.power, "lshift": guards.shift})  # fmt: skip
    return Facade("operator", names)


_NO_DEFAULT = object()


def _getattr_static(obj: Any, name: Any, default: Any = _NO_DEFAULT) -> Any:
    """`inspect.getattr_static` of the tree's own objects: what a class or an instance holds."""
    if is_a(obj, Unknown) or is_a(name, Unknown):
        return not_modelled("inspect.getattr_static()")
    name = access.exact(name)
    cls = obj if is_a(obj, type) else type(obj)
    if access.is_dunder(name) or not natives.is_tree_class(cls):
        return not_modelled("inspect.getattr_static()")
    spaces = [] if is_a(obj, type) else [getattr(obj, "__dict__", {})]
    for space in [*spaces, *map(class_names, mro(cls))]:
        if name in space:
            return space[name]
    if default is _NO_DEFAULT:
        raise AttributeError(name)
    return default


def _inspect(evaluate: Any) -> Facade:
    names = {
        n: getattr(inspect, n)
        for n in (
            "Parameter Signature isclass isfunction ismethod ismodule iscoroutinefunction isasyncgenfunction "
            "isgeneratorfunction isgenerator iscoroutine isawaitable isroutine isbuiltin isabstract getdoc cleandoc getmro "
            "unwrap"
        ).split()
    }

    def signature(obj: Any, *, follow_wrapped: bool = True, **_: Any) -> Any:
        with no_text():
            return inspect.signature(obj, follow_wrapped=follow_wrapped)

    def getmembers(obj: Any, predicate: Any = None) -> Any:
        out = []
        for name in sorted(dir(obj)):
            if is_reserved(name):
                continue
            try:
                value = guards.attribute(obj, name)
            except (AttributeError, Refused):
                continue
            if predicate is None or predicate(value):
                out.append((name, value))
        return out

    def getdoc(obj: Any) -> Any:
        found = guards.attribute(obj, "__doc__")
        return inspect.cleandoc(found) if is_a(found, str) else None

    names.update(
        {
            "getdoc": getdoc,
            "signature": signature,
            "getmembers": getmembers,
            "currentframe": lambda: None,
            "stack": list,
        }
    )
    names["getattr_static"] = _getattr_static
    return Facade("inspect", names)


def _types() -> Facade:
    names = public_names(
        types, without={"FunctionType", "CodeType", "LambdaType", "FrameType", "CellType"}
    )
    names["FunctionType"] = names["LambdaType"] = types.FunctionType

    def new_class(*args: Any, **kwargs: Any) -> Any:
        made = types.new_class(*args, **kwargs)
        natives.without_destructor(made)
        return made

    names["new_class"] = new_class
    names["coroutine"] = changing(types.coroutine)
    return Facade("types", names)


def _ast() -> Facade:
    return Facade("ast", {"literal_eval": lifted(ast.literal_eval)})


def build(evaluate: Any, modules: dict[str, Any]) -> dict[str, Facade]:
    """Facades by module name; `evaluate` resolves string annotations, `modules` are the loaded ones."""
    return {
        **_typing(evaluate, modules),
        "abc": Facade("abc", {**public_names(abc, without={"get_cache_token"}), "update_abstractmethods": changing(abc.update_abstractmethods)}),
        "enum": Facade("enum", public_names(enum, without={"global_enum", "global_enum_repr", "global_flag_repr", "global_str"})),
        "types": _types(),
        **collections_.build_collections(),
        "itertools": _itertools(),
        "operator": _operator(),
        "contextlib": Facade("contextlib", public_names(contextlib, without={"redirect_stdout", "redirect_stderr", "chdir"})),
        "copy": copy_.build(),
        "inspect": _inspect(evaluate),
        "weakref": collections_.build_weakref(),
        "ast": _ast(),
        "__future__": Facade("__future__", {"annotations": None}),
    }  # fmt: skip
