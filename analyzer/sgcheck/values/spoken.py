"""Values in messages that a user reads: what is not known stays visible, in the user's terms."""

from __future__ import annotations

import re
from typing import Any

from sgcheck.values.signals import EngineSignal
from sgcheck.values.symbols import Choice, Test, Text
from sgcheck.values.unknown import Unknown, find_unknown

_MAX_CASES = 3
_MAX_ITEMS = 12
_COMPUTED = re.compile(r"value \d+ computed from the model")
_NUMBERED = re.compile(r"\b(?:choice|test|[a-z]\w*) \d+\b")


def spoken(value: Any) -> str:
    """The text of a value. A choice is said by its cases where they are few."""
    if issubclass(type(value), Text):
        return str(object.__getattribute__(value, "sg_words"))
    if issubclass(type(value), Choice):
        said = list(dict.fromkeys(spoken(v) for _, v in object.__getattribute__(value, "cases")))
        if any(len(text) > 80 for text in said) or len(said) > _MAX_CASES:
            return f"<one of {len(said)} values>"
        return " or ".join(said)
    if issubclass(type(value), Test):
        return "True or False"
    if issubclass(type(value), Unknown):
        label = _COMPUTED.sub("value computed from the model", _label(value))
        return f"<{_NUMBERED.sub('…', label)}>"
    if (
        issubclass(type(value), list | tuple | set | frozenset | dict)
        and find_unknown(value) is not None
    ):
        return _container(value)
    if issubclass(type(value), BaseException) and find_unknown(list(value.args)) is not None:
        return " ".join(map(spoken, value.args))
    try:
        return str(value)
    except (Exception, EngineSignal):
        return f"<{type(value).__name__}>"


def _label(value: Unknown) -> str:
    return str(object.__getattribute__(value, "label"))


def _container(value: Any) -> str:
    if issubclass(type(value), dict):
        items = [f"{k!r}: {_item(v)}" for k, v in list(value.items())[:_MAX_ITEMS]]
        opening, closing = "{}"
    else:
        items = [_item(v) for v in list(value)[:_MAX_ITEMS]]
        opening, closing = "[]" if issubclass(type(value), list) else "()"
    if len(value) > _MAX_ITEMS:
        items.append("…")
    return opening + ", ".join(items) + closing


def _item(value: Any) -> str:
    return spoken(value) if find_unknown(value) is not None else repr(value)
