"""The model classes that a tree names: what the architecture of an unknown model may be."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from types import CodeType
from typing import Any

from sgcheck.world.checkpoint_facts import CLASS_NAME_ENDS

_classes: dict[int, tuple[weakref.ref[CodeType], frozenset[str]]] = {}
"""What `_classes_in` gave, by the identity of code that lives: to compare code would take longer."""


def class_names(code: Iterable[CodeType]) -> list[str]:
    """Names of model classes among the constants of the code that has been loaded."""
    found: set[str] = set()
    for each in code:
        known = _classes.get(id(each))
        if known is None or known[0]() is not each:
            known = _classes[id(each)] = weakref.ref(each), _classes_in(each)
        found |= known[1]
    return sorted(found)


def _classes_in(code: CodeType) -> frozenset[str]:
    found: set[str] = set()
    stack: list[Any] = [code]
    while stack:
        item = stack.pop()
        if isinstance(item, CodeType):
            stack.extend(item.co_consts)
        elif isinstance(item, tuple | frozenset):
            stack.extend(item)
        elif (
            isinstance(item, str)
            and item.endswith(CLASS_NAME_ENDS)
            and item.isidentifier()
            and item[0].isupper()
        ):
            found.add(item)
    return frozenset(found)
