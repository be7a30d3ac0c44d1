"""Provenance: every place that gave a field of the record a value, in order.

Four forms are seen: an attribute of the record is set; a call whose keywords name fields is made
with the record as an argument (a declaration); a dictionary whose keys name fields is built and
later applied by name; such dictionaries are put, each with its source, into a list that the record
keeps. For the last two the line that built the dictionary is the reason, not the one that applied it.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import Any

from msgspec import Struct

from sgcheck.interp.access import tree_frame
from sgcheck.interp.declarations import is_declaration
from sgcheck.interp.merge import JoinedList, UnionDict
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.interp.symbolic_values import alike
from sgcheck.syntax.names import source_name


class Event(Struct):
    """One value given to one field. `condition` is the engine's path condition there (or None)."""

    kind: str
    field: str
    value: Any
    file: str
    line: int
    function: str
    condition: Any = None

    def key(self) -> Any:
        """The same event on several paths has the same key."""
        return self.kind, self.field, self.file, self.line, _KeyOf(self.value)

    def under(self, condition: Any) -> Event:
        """The same event under another condition."""
        return Event(
            self.kind, self.field, self.value, self.file, self.line, self.function, condition
        )


class _KeyOf:
    """Compares raw values the way the engine does."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(type(self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _KeyOf) and alike(self.value, other.value)


_KEPT_DISPLAYS = 4000


class Trace:
    """Collects events for one record class; a quiet one only what the command line gave."""

    def __init__(self, fields: frozenset[str], *, quiet: bool = False) -> None:
        self.fields = fields
        self.quiet = quiet
        self.events: list[Event] = JoinedList()
        self.initial: dict[str, Any] = {}
        self._displays: dict[str, list[tuple[Any, str, int, str]]] = {}
        self._lists: dict[int, list[Any]] = {}
        self._applied: dict[int, Any] = UnionDict()

    def install(self, record_class: type) -> None:
        """Start to listen; `Interpreter.running` stops it."""
        R.record_class = record_class
        R.on_construct = self.on_construct
        if self.quiet:
            return
        R.on_write = self.on_write
        R.on_declare = self.on_declare
        R.on_display = self.on_display
        R.on_append = self.on_append

    def on_construct(self, values: dict[str, Any]) -> None:
        """The record is made from the command line."""
        if not self.initial:
            # As they were then: what is built on one path is taken back for the next.
            for name, value in values.items():
                kind = type(value)
                self.initial[name] = kind(value) if kind in (list, dict) else value

    def _add(self, kind: str, field: str, value: Any, file: str, line: int, function: str) -> None:
        if R.journal is not None:
            R.journal.container(self.events)
        self.events.append(Event(kind, field, value, file, line, function))

    def on_write(self, obj: Any, name: str, value: Any, frame: FrameType) -> None:
        """An attribute of the record is about to be set."""
        if name not in self.fields:
            if type(value) is list:
                self._lists[id(value)] = value
                self.on_append(value, value)
            return
        code = frame.f_code
        file, line, function = code.co_filename, frame.f_lineno, source_name(code.co_qualname)
        origin = self._origin(name, value)
        last = self.events[-1] if self.events else None
        if (
            last is not None
            and last.kind == "declared"
            and last.field == name
            and last.value is value
        ):
            return
        if origin is not None and origin[:2] != (file, line):
            previous = next((e for e in reversed(self.events) if e.field == name), None)
            if (
                previous is not None
                and (previous.file, previous.line) == origin[:2]
                and previous.value is value
            ):
                return
            self._add("declared", name, value, *origin)
            return
        self._add("write", name, value, file, line, function)

    def on_declare(self, function: Any, _name: str, args: tuple[Any, ...], rest: Any) -> None:
        """A call with keywords: a declaration if they name fields and the record is an argument."""
        kwargs, frame = rest
        if not self.fields.issuperset(kwargs) or not any(type(a) is R.record_class for a in args):
            return
        code = frame.f_code
        for field, value in kwargs.items():
            file, line, name = self._origin(field, value) or (
                code.co_filename,
                frame.f_lineno,
                source_name(code.co_qualname),
            )
            self._add("declared", field, value, file, line, name)

    def on_append(self, kept: list[Any], added: Sequence[Any]) -> None:
        """Something was added to a list: declarations, if the record keeps that list."""
        if id(kept) not in self._lists:
            return
        for element in added:
            if not is_declaration(element) or not self.fields.issuperset(element[1]):
                continue
            key = id(element[1])
            if key in self._applied:
                continue
            if R.journal is not None:
                R.journal.item(self._applied, key)
            self._applied[key] = element[1]
            for field, value in element[1].items():
                self._declared(field, value)

    def _declared(self, field: str, value: Any) -> None:
        last = next((e for e in reversed(self.events) if e.field == field), None)
        if last is not None and last.value is value:
            return
        place = self._origin(field, value)
        if place is None:
            frame = tree_frame()
            code = frame.f_code
            place = code.co_filename, frame.f_lineno, source_name(code.co_qualname)
        self._add("declared", field, value, *place)

    def on_display(self, display: dict[str, Any], frame: FrameType) -> None:
        """A dictionary that may be applied to the record later."""
        for key, value in display.items():
            if key in self.fields:
                code = frame.f_code
                known = self._displays.setdefault(key, [])
                known.append(
                    (value, code.co_filename, frame.f_lineno, source_name(code.co_qualname))
                )
                if len(known) > _KEPT_DISPLAYS:
                    del known[0]

    def displays(self) -> dict[str, list[Any]]:
        """The dictionaries seen so far, by field."""
        return {name: list(entries) for name, entries in self._displays.items()}

    def add_displays(self, seen: dict[str, list[Any]]) -> None:
        """Dictionaries that an earlier launch saw in what this one does not repeat."""
        for name, entries in seen.items():
            self._displays.setdefault(name, []).extend(entries)

    def _origin(self, field: str, value: Any) -> tuple[str, int, str] | None:
        for seen, file, line, function in reversed(self._displays.get(field, ())):
            if seen is value:
                return file, line, function
        return None
