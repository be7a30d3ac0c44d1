"""Guards of operators and of f-strings: unknowns, and bounds on what one operation may build."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from sgcheck.interp import natives, typed
from sgcheck.interp.guards_items import fresh, holds_unknown
from sgcheck.interp.guards_native import CONTAINERS
from sgcheck.interp.runtime import RUNTIME
from sgcheck.values.signals import Escape, LimitReached
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import ASK, Unknown, find_unknown

R = RUNTIME
MAX_SIZE = 50_000_000
"""Bound on the length of a string or container that one operation may build."""
MAX_BITS = 1 << 20


# -- operators ---------------------------------------------------------------------


def contains(left: Any, right: Any) -> Any:
    """`left in right`."""
    kind, element = type(right), type(left)
    if element is str and kind is dict and R.region is None:
        return left in right
    if issubclass(element, Unknown) or issubclass(kind, Unknown):
        return ASK[-1].binary("in", left, right)
    if element is tuple and holds_unknown(left):
        return ASK[-1].binary("in", left, right)
    if kind is dict:
        if R.region is not None and type(right.get(left)) is Choice:
            return ASK[-1].binary("in", left, right)
    elif kind is tuple or kind is list:
        for value in right:
            known = type(value)
            if known is not str and issubclass(known, Unknown):
                return ASK[-1].binary("in", left, right)
    return left in right


def not_contains(left: Any, right: Any) -> Any:
    """`left not in right`."""
    found = contains(left, right)
    if issubclass(type(found), Unknown):
        return ASK[-1].unary("not", found)
    return not found


def same(left: Any, right: Any) -> Any:
    """`left is right`."""
    if issubclass(type(left), Unknown) or issubclass(type(right), Unknown):
        if left is right:
            return True
        return False if typed.distinct(left, right) else ASK[-1].binary("is", left, right)
    return left is right


def not_same(left: Any, right: Any) -> Any:
    """`left is not right`."""
    if issubclass(type(left), Unknown) or issubclass(type(right), Unknown):
        found = same(left, right)
        if issubclass(type(found), Unknown):
            return ASK[-1].unary("not", found)
        return not found
    return left is not right


def is_none(value: Any) -> Any:
    """`value is None`."""
    if value is None:
        return True
    return same(value, None) if issubclass(type(value), Unknown) else False


def is_some(value: Any) -> Any:
    """`value is not None`."""
    if value is None:
        return False
    return not_same(value, None) if issubclass(type(value), Unknown) else True


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
    elif issubclass(type(left), str | list | tuple | bytes) and issubclass(type(right), int):
        _bounded(len(left) * right)
    elif issubclass(type(right), str | list | tuple | bytes) and issubclass(type(left), int):
        _bounded(len(right) * left)
    return left * right


def power(left: Any, right: Any) -> Any:
    """`left ** right`, bounded."""
    if issubclass(type(right), int) and not issubclass(type(left), float | complex):
        size = left.bit_length() if issubclass(type(left), int) else _fraction_bits(left)
        if size * abs(right) > MAX_BITS:
            raise LimitReached("size")
    return left**right


def _fraction_bits(value: Any) -> int:
    """The size of an exact number that is no integer (0 for anything else)."""
    parts = (getattr(value, "numerator", 0), getattr(value, "denominator", 0))
    return max((p.bit_length() for p in parts if issubclass(type(p), int)), default=0)


def shift(left: Any, right: Any) -> Any:
    """`left << right`, bounded."""
    if type(left) is int and type(right) is int and left.bit_length() + right > MAX_BITS:
        raise LimitReached("size")
    return left << right


def modulo(left: Any, right: Any) -> Any:
    """`left % right`, also of strings."""
    if issubclass(type(left), str | bytes):
        found = find_unknown(right)
        if found is not None:
            return ASK[-1].binary("%", left, right)
        natives.check_percent(left, right)
    return left % right


def either(left: Any, right: Any) -> Any:
    """`left | right`; a later dictionary's keys may be there on some paths only."""
    if R.region is not None and type(left) is dict and type(right) is dict:
        made = dict(left)
        natives.overlay(made, right)
        return fresh(made)
    return left | right


def in_place(name: str, plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    native = getattr(operator, name)

    def run(left: Any, right: Any) -> Any:
        if issubclass(type(left), CONTAINERS):
            R.step()
            if R.journal is not None:
                R.journal.container(left)
            if issubclass(type(right), Unknown):
                raise Escape(right.reason)
            if name == "ior" and R.region is not None and type(left) is type(right) is dict:
                natives.overlay(left, right)
                return left
            if name == "imul" and issubclass(type(right), int):
                _bounded(len(left) * right)
            elif issubclass(type(left), list) and hasattr(right, "__len__"):
                _bounded(len(left) + len(right))
            return native(left, right)
        if hasattr(type(left), f"__{name}__"):
            return native(left, right)
        return plain(left, right)

    return run


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
        # The text of an exception is that of what it was raised with.
        held = list(value.args) if issubclass(type(value), BaseException) else value
        unknown = find_unknown(held)
        if unknown is not None or issubclass(type(spec), Unknown):
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
    natives.bounded(sum(map(len, out)))
    return "".join(out)
