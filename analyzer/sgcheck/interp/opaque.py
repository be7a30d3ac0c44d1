"""Unknowns without branching: an operation on one gives another, a question to one escapes."""

from __future__ import annotations

from typing import Any

from sgcheck.interp import typed
from sgcheck.values.signals import Escape
from sgcheck.values.symbols import part_of
from sgcheck.values.unknown import Operations, Unknown, find_unknown


class OpaqueOperations(Operations):
    """What a derived value depends on stays visible; nothing is ever decided."""

    def binary(self, op: str, left: Any, right: Any) -> Any:
        known = find_unknown([left, right])
        assert known is not None
        return Unknown(known.reason, op)

    def unary(self, op: str, value: Unknown) -> Any:
        return Unknown(value.reason, f"{op} {value.label}")

    def attribute(self, value: Unknown, name: str) -> Any:
        part = part_of(value, name)
        return part if part is not None else Unknown(value.reason, f"{value.label}.{name}")

    def call(self, value: Unknown, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return Unknown(value.reason, f"{value.label}()")

    def method(
        self, value: Unknown, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return Unknown(value.reason, f"{value.label}.{name}()")

    def apply(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        known = typed.answer(func, args, kwargs)
        if known is not NotImplemented:
            return known
        found = find_unknown([args, kwargs], 6)
        assert found is not None
        return Unknown(found.reason, getattr(func, "__name__", "call"))

    def member(self, kind: Any, value: Unknown) -> Any:
        return Unknown(value.reason, f"{kind.__name__}({value.label})")

    def item(self, value: Any, key: Any) -> Any:
        known = find_unknown([value if issubclass(type(value), Unknown) else key])
        assert known is not None
        return Unknown(known.reason, f"{known.label}[]")

    def iterate(self, value: Unknown) -> Any:
        raise Escape(value.reason)
