"""What an object is, by its type: `__class__` may be a property of the tree's that lies."""

from __future__ import annotations

from typing import Any, TypeVar

from typing_extensions import TypeIs

Kind = TypeVar("Kind")


def is_a(obj: Any, kinds: type[Kind] | tuple[type[Kind], ...]) -> TypeIs[Kind]:
    """`isinstance(obj, kinds)` by the type alone. Where speed counts, guards write it out."""
    return issubclass(type(obj), kinds)
