"""Where the record's fields are declared, and where the parser declares an option."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sgcheck.syntax.cache import CodeCache
from sgcheck.syntax.conditions import Conditions

Place = tuple[str, int]
"""File (relative to the folder that holds `sglang/`) and line."""


def field_places(
    record: type, names: Iterable[str], code: CodeCache, conditions: Callable[[str], Conditions]
) -> dict[str, Place]:
    """The line that declares each field, in the record's class or in one that it is made of."""
    found: dict[str, Place] = {}
    wanted = set(names)
    by_class: dict[str, dict[str, dict[str, int]]] = {}
    for cls in _parts(record):
        file = code.find(cls.__module__)
        if file is None or file.path is None:
            continue
        if file.path not in by_class:
            by_class[file.path] = _by_class(conditions(file.path).fields)
        for name, line in by_class[file.path].get(cls.__name__, {}).items():
            if name in wanted and name not in found:
                found[name] = file.path, line
    return found


def _by_class(declared: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Lines of fields, named `Class.field`, by the class."""
    found: dict[str, dict[str, int]] = {}
    for key, line in declared.items():
        cls, _, name = key.rpartition(".")
        found.setdefault(cls, {})[name] = line
    return found


def option_place(
    record: type, spellings: Iterable[str], code: CodeCache, conditions: Callable[[str], Conditions]
) -> Place | None:
    """The line at which the parser beside the record declares an option of these spellings."""
    file = code.find(record.__module__)
    if file is None or file.path is None:
        return None
    known: Mapping[str, int] = conditions(file.path).options
    lines = [known[word] for word in spellings if word in known]
    return (file.path, lines[0]) if lines else None


def _parts(record: type) -> Iterator[type]:
    """The class, its bases, and the classes that one of its attributes lists."""
    yield from record.__mro__[:-1]
    for value in vars(record).values():
        items: Any = value.values() if isinstance(value, dict) else value
        if isinstance(value, list | tuple | dict):
            yield from (item for item in items if isinstance(item, type))
