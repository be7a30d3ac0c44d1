"""The fields of records that the tree has made: what a record says of them is looked at first."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sgcheck.values.kinds import is_a

FIELDS = "__dataclass_fields__"
"""Where a dataclass keeps its fields by name."""

# A class may lie about itself (a metaclass may have properties of these names): asked of `type`.
mro: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
class_names: Callable[[type], Mapping[str, Any]] = type.__dict__["__dict__"].__get__


def record_names(value: Any) -> list[str] | None:
    """The names of the fields of a record (a dataclass, a Struct); None for anything else."""
    kind = type(value)
    if issubclass(kind, msgspec.Struct):
        return [name for name in kind.__struct_fields__ if _is_plain(name)]
    for base in mro(kind):
        found = class_names(base).get(FIELDS)
        if found is not None:
            break
    else:
        return None
    if type(found) is not dict or not all(is_a(f, dataclasses.Field) for f in found.values()):
        return None
    return [f.name for f in found.values() if f._field_type is _FIELD and _is_plain(f.name)]


_FIELD: Any = vars(dataclasses)["_FIELD"]


def _is_plain(name: Any) -> bool:
    return type(name) is str and name.isidentifier() and not name.startswith("__")
