"""Guards of items, of displays, and of what a loop runs over."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from enum import EnumMeta
from typing import Any

from sgcheck.interp import natives
from sgcheck.interp.guards_native import CONTAINERS
from sgcheck.interp.iterators import Stream
from sgcheck.interp.runtime import RUNTIME
from sgcheck.values.signals import Escape
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import ASK, Unknown

R = RUNTIME


# -- items -------------------------------------------------------------------------


def item(obj: Any, key: Any) -> Any:
    """`obj[key]`."""
    kind, index = type(obj), type(key)
    if index is not str and index is not int and issubclass(index, Unknown):
        if issubclass(type(obj), EnumMeta):
            # A member by its name: one for each name that it may be.
            return obj[ASK[-1].concrete(key)]
        if issubclass(type(obj), type):
            return obj[key]
        return ASK[-1].item(obj, key)
    if kind is dict:
        if index is tuple and holds_unknown(key):
            return ASK[-1].item(obj, key)
        value = obj[key]
        return ASK[-1].present(obj, key, value) if type(value) is Choice else value
    if issubclass(kind, natives.JOURNALED_MISSING) and R.journal is not None and key not in obj:
        R.journal.item(obj, key)
    return obj[key]


def holds_unknown(values: tuple[Any, ...]) -> bool:
    """Whether an element of a tuple is not known."""
    return any(issubclass(type(value), Unknown) for value in values)


def set_item(value: Any, obj: Any, key: Any) -> None:
    """`obj[key] = value`."""
    if issubclass(type(key), Unknown):
        key = ASK[-1].concrete(key)
    kind = type(obj)
    if issubclass(kind, Unknown):
        ASK[-1].set_item(obj, key, value)
        return
    if R.journal is not None and issubclass(kind, CONTAINERS):
        if issubclass(kind, dict):
            R.journal.item(obj, key)
        else:
            R.journal.container(obj)
    if type(key) is slice:
        # A list may grow while a loop goes through it.
        R.step()
    if R.on_display is not None and type(obj) is dict and type(key) is str:
        R.on_display({key: value}, sys._getframe(1))
    obj[key] = value


def del_item(obj: Any, key: Any) -> None:
    """`del obj[key]`."""
    if issubclass(type(key), Unknown):
        key = ASK[-1].concrete(key)
    if type(obj) is dict:
        natives.know_whether_there(obj, key)
    if R.journal is not None and issubclass(type(obj), CONTAINERS):
        R.journal.container(obj)
    del obj[key]


def fresh(value: Any) -> Any:
    """A container that this function makes: no other path knows it."""
    if R.region is not None:
        R.fresh.append(value)
    return value


def streamed(source: Any) -> Any:
    """A generator expression."""
    return Stream(source) if R.region is not None else source


def streamed_again(make: Callable[[], Any]) -> Any:
    """A generator expression that is handed on at once: it may be made again."""
    if R.region is None:
        return make()
    try:
        source = make()
    except Escape as escape:
        source = _never(escape)
    return Stream(source, make)


def _never(escape: Escape) -> Iterator[Any]:
    """Elements of something unknown: only who wants one learns that there is nothing to be known."""
    raise escape
    yield


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


def operand(value: Any) -> Any:
    """An operand of `and` or `or`: a dictionary is empty here, or it is not."""
    if R.region is not None and type(value) is dict:
        truth = ASK[-1].dict_truth(value)
        if issubclass(type(truth), Unknown) and not ASK[-1].truth(truth):
            ASK[-1].settle(value)
    return value


def display(value: dict[Any, Any]) -> dict[Any, Any]:
    """A dictionary display with names as keys: it may become a declaration of fields."""
    if R.on_display is not None:
        R.on_display(value, sys._getframe(1))
    return value


def keyed_display(keys: tuple[Any, ...], values: tuple[Any, ...]) -> Any:
    """A dictionary display with computed keys; a key that is not known makes the whole unknown."""
    for key in keys:
        if issubclass(type(key), Unknown):
            return Unknown(key.reason, "{}")
    made = dict(zip(keys, values, strict=True))
    if R.on_display is not None:
        R.on_display(made, sys._getframe(1))
    return fresh(made)


def overlaid_display(*parts: Any) -> dict[Any, Any]:
    """A dictionary display with `**`: `parts` follow each other, later keys before earlier ones."""
    made: dict[Any, Any] = {}
    for part in parts:
        if not issubclass(type(part), Unknown) and not hasattr(part, "keys"):
            raise TypeError(f"{type(part).__name__!r} object is not a mapping")
        natives.overlay(made, part)
    if R.on_display is not None:
        R.on_display(made, sys._getframe(1))
    return made


def set_display(elements: tuple[Any, ...]) -> Any:
    """A set display; an element that is not known makes the whole unknown."""
    for element in elements:
        if issubclass(type(element), Unknown):
            return ASK[-1].apply(set, (elements,), {})
    return fresh(set(elements))
