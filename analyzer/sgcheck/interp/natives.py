"""Methods and types of plain Python values, as translated code may use them."""

from __future__ import annotations

import enum
import re
import string
import sys
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sgcheck.interp.journal import MISSING
from sgcheck.interp.runtime import RUNTIME
from sgcheck.values.signals import LimitReached, Refused
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import ASK, Unknown, find_unknown

R = RUNTIME
BUILTIN = type(len)
MAX_SIZE = 50_000_000
MAX_BITS = 1 << 20
TREE_ROOTS: set[str] = {"sglang"}
JOURNALED_MISSING = (defaultdict,)

STORING_TYPES: set[Any] = {list, tuple, dict, slice, staticmethod, classmethod, property}
"""Types whose constructor only keeps what it is given."""


def is_tree_class(cls: Any) -> bool:
    """Whether a class was defined by the tree."""
    module: Any = getattr(cls, "__module__", None)
    return issubclass(type(module), str) and module.partition(".")[0] in TREE_ROOTS


def may_be_patched(cls: Any) -> bool:
    """Whether a class that the world made for one interpreter may be changed by the tree."""
    module = getattr(cls, "__module__", "")
    return issubclass(type(module), str) and module.partition(".")[0] in (
        "transformers",
        "huggingface_hub",
        "logging",
        "torch",
    )


# -- formatting --------------------------------------------------------------------

_NUMBER = re.compile(r"\d+")


def check_format_spec(spec: str) -> None:
    """Refuse widths that would build a huge string."""
    for number in _NUMBER.findall(spec):
        if len(number) > 6:
            raise LimitReached("size")


def check_percent(text: Any, values: Any = ()) -> None:
    """The same for the `%` operator of strings; `values` may hold widths (`%*d`)."""
    shown = str.__str__(text) if issubclass(type(text), str) else bytes(text).decode("latin-1")
    check_format_spec(shown)
    if "*" in shown and issubclass(type(values), tuple):
        for value in values:
            if issubclass(type(value), int) and not -999_999 <= int.__index__(value) <= 999_999:
                raise LimitReached("size")


def without_destructor(made: Any) -> Any:
    """What was made; a class loses its destructor: when an object dies is no part of a prediction."""
    if issubclass(type(made), type) and "__del__" in type.__dict__["__dict__"].__get__(made):
        with suppress(TypeError):  # Python's own classes cannot be changed.
            type.__delattr__(made, "__del__")
    if issubclass(type(made), type) and issubclass(made, enum.property):
        raise Refused("a property of enumerations")
    return made


class _Formatter(string.Formatter):
    """`str.format` whose attribute look-ups go through the guard."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        from _string import formatter_field_name_split  # type: ignore[import-not-found]

        from sgcheck.interp.guards import attribute, item

        first, rest = formatter_field_name_split(field_name)
        obj = self.get_value(first, args, kwargs)
        for is_attr, name in rest:
            obj = attribute(obj, name) if is_attr else item(obj, name)
        return obj, first

    def format_field(self, value: Any, format_spec: str) -> Any:
        check_format_spec(format_spec)
        return format(value, format_spec)


_FORMATTER = _Formatter()


def str_format(text: str, /, *args: Any, **kwargs: Any) -> Any:
    """`text.format(*args, **kwargs)`."""
    found = find_unknown([args, kwargs])
    if found is not None:
        return ASK[-1].binary("format", text, found)
    return _FORMATTER.vformat(str.__str__(text), args, kwargs)


def str_format_map(text: str, mapping: Any) -> Any:
    """`text.format_map(mapping)`."""
    return str_format(text, **dict(mapping))


# -- methods of plain values ---------------------------------------------------------


def _pure(kind: type, name: str) -> Callable[..., Any]:
    native = getattr(kind, name)

    def run(obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        for value in args:
            if issubclass(type(value), Unknown):
                return ASK[-1].apply(
                    native,
                    (
                        obj,
                        *args,
                    ),
                    kwargs,
                )
        return native(obj, *args, **kwargs)

    return run


def _sized(kind: type, name: str) -> Callable[..., Any]:
    pure = _pure(kind, name)

    def run(obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if issubclass(type(value), int) and value > MAX_SIZE:
                raise LimitReached("size")
        if name == "expandtabs":
            width = next((v for v in (*args, *kwargs.values()) if issubclass(type(v), int)), 8)
            bounded(obj.count("\t" if kind is str else b"\t") * width)
        elif len(args) > 1 and issubclass(type(args[1]), str | bytes):
            bounded((len(obj) + 1) * len(args[1]))
        elif name == "translate" and args and issubclass(type(args[0]), dict):
            longest = max((len(v) for v in args[0].values() if issubclass(type(v), str)), default=1)
            bounded(len(obj) * longest)
        return pure(obj, *args, **kwargs)

    return run


def bounded(size: int) -> None:
    """Refuse to build something of more than `MAX_SIZE` elements."""
    if size > MAX_SIZE:
        raise LimitReached("size")


def _from_bytes(kind: type, data: Any, *args: Any, **kwargs: Any) -> Any:
    if issubclass(type(data), Unknown):
        return ASK[-1].apply(int.from_bytes, (data, *args), kwargs)
    items = bytes(data)
    if len(items) * 8 > MAX_BITS:
        raise LimitReached("size")
    return kind.from_bytes(items, *args, **kwargs)  # type: ignore[attr-defined]


def _join(obj: str, parts: Any) -> Any:
    if issubclass(type(parts), Unknown):
        return ASK[-1].apply(
            str.join,
            (
                obj,
                parts,
            ),
            {},
        )
    from sgcheck.interp.constructors import limited

    items = list(limited(parts))
    found = find_unknown(items)
    if found is not None:
        return ASK[-1].apply(
            str.join,
            (
                obj,
                items,
            ),
            {},
        )
    longest = sum(len(i) for i in items if issubclass(type(i), str | bytes))
    bounded(longest + len(obj) * len(items))
    return obj.join(items)


def _mutator(kind: type, name: str) -> Callable[..., Any]:
    native = getattr(kind, name)

    def run(obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        R.step()
        if R.journal is not None:
            R.journal.container(obj)
        return native(obj, *args, **kwargs)

    return run


def _extend(kind: type, name: str) -> Callable[..., Any]:
    native = getattr(kind, name)

    def run(obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        R.step()
        args = tuple(ASK[-1].concrete(a) if issubclass(type(a), Unknown) else a for a in args)
        if R.journal is not None:
            R.journal.container(obj)
        result = native(obj, *args, **kwargs)
        if R.on_append is not None and args and type(args[0]) is list:
            R.on_append(obj, args[0])
        return result

    return run


def _dict_update(obj: dict[Any, Any], /, *args: Any, **kwargs: Any) -> None:
    if args and issubclass(type(args[0]), Unknown):
        args = (ASK[-1].concrete(args[0]), *args[1:])
    if R.journal is not None:
        R.journal.container(obj)
    if kwargs and R.on_display is not None:
        R.on_display(kwargs, sys._getframe(2))
    if R.region is not None:
        for source in (*args, kwargs):
            overlay(obj, source)
        return
    obj.update(*args, **kwargs)


def overlay(mapping: dict[Any, Any], source: Any) -> None:
    """`mapping.update(source)` where keys of `source` may be there on some paths only."""
    if issubclass(type(source), Unknown):
        source = ASK[-1].concrete(source)
    content = source if issubclass(type(source), dict) else dict(source)
    for key, value in content.items():
        made = ASK[-1].overlaid(value, mapping, key) if type(value) is Choice else value
        if made is not MISSING:
            mapping[key] = made


def _dict_get(obj: dict[Any, Any], key: Any, default: Any = None, /) -> Any:
    if issubclass(type(key), Unknown):
        return ASK[-1].apply(dict.get, (obj, key, default), {})
    value = obj.get(key, default)
    if type(value) is Choice:
        return ASK[-1].defaulted(value, default)
    return value


def _settled(name: str) -> Callable[..., Any]:
    native = getattr(dict, name)

    def run(obj: dict[Any, Any], /) -> Any:
        if R.region is not None:
            ASK[-1].settle(obj)
        return native(obj)

    return run


def _dict_setdefault(obj: dict[Any, Any], key: Any, default: Any = None, /) -> Any:
    if issubclass(type(key), Unknown):
        key = ASK[-1].concrete(key)
    know_whether_there(obj, key)
    if R.journal is not None and key not in obj:
        R.journal.item(obj, key)
    return obj.setdefault(key, default)


def know_whether_there(obj: dict[Any, Any], key: Any) -> None:
    """Decide whether a key is there that is so on some paths only."""
    value = obj.get(key)
    if type(value) is Choice and any(case is MISSING for _, case in value.cases):
        ASK[-1].settle(obj)


def _dict_pop(obj: dict[Any, Any], /, *args: Any) -> Any:
    if args and issubclass(type(args[0]), Unknown):
        args = (ASK[-1].concrete(args[0]), *args[1:])
    if args:
        know_whether_there(obj, args[0])
    if R.journal is not None and args and obj and args[0] in obj:
        R.journal.container(obj)
    return obj.pop(*args)


def _append(obj: list[Any], value: Any, /) -> None:
    R.step()
    if R.journal is not None:
        R.journal.container(obj)
    obj.append(value)
    if R.on_append is not None and type(value) is tuple:
        R.on_append(obj, (value,))


def _set_change(name: str) -> Callable[..., Any]:
    native = getattr(set, name)

    def run(obj: set[Any], /, *args: Any) -> Any:
        args = tuple(ASK[-1].concrete(a) if issubclass(type(a), Unknown) else a for a in args)
        if R.journal is not None:
            R.journal.container(obj)
        return native(obj, *args)

    return run


def _table(kind: type) -> dict[str, Callable[..., Any]]:
    return {
        name: _pure(kind, name)
        for name in dir(kind)
        if not name.startswith("_") and callable(getattr(kind, name))
    }


_BUILDING = ("ljust", "rjust", "center", "zfill", "expandtabs", "replace", "translate")

METHODS: dict[type, dict[str, Callable[..., Any]]] = {
    str: {
        **_table(str),
        **{n: _sized(str, n) for n in _BUILDING},
        "join": _join,
        "format": str_format,
        "format_map": str_format_map,
    },
    bytes: {
        **_table(bytes),
        **{n: _sized(bytes, n) for n in _BUILDING},
        "join": _join,
    },
    int: _table(int),
    float: _table(float),
    tuple: _table(tuple),
    list: {
        "append": _append,
        "extend": _extend(list, "extend"),
        "insert": _mutator(list, "insert"),
        "pop": _mutator(list, "pop"),
        "remove": _mutator(list, "remove"),
        "sort": _mutator(list, "sort"),
        "reverse": _mutator(list, "reverse"),
        "clear": _mutator(list, "clear"),
        "copy": list.copy,
        "index": list.index,
        "count": list.count,
    },
    dict: {
        "get": _dict_get,
        "setdefault": _dict_setdefault,
        "pop": _dict_pop,
        "popitem": _mutator(dict, "popitem"),
        "update": _dict_update,
        "clear": _mutator(dict, "clear"),
        "copy": dict.copy,
        "keys": _settled("keys"),
        "values": _settled("values"),
        "items": _settled("items"),
    },
    set: {
        **_table(set),
        **{
            n: _set_change(n)
            for n in (
                "add", "discard", "remove", "update", "difference_update",
                "intersection_update", "symmetric_difference_update",
            )
        },
        "pop": _mutator(set, "pop"),
        "clear": _mutator(set, "clear"),
    },
    frozenset: _table(frozenset),
    deque: {
        n: _mutator(deque, n) if n in ("append", "appendleft", "clear", "extend", "extendleft", "insert",
                                       "pop", "popleft", "remove", "reverse", "rotate") else getattr(deque, n)
        for n in dir(deque) if not n.startswith("_") and callable(getattr(deque, n))
    },
}  # fmt: skip
