"""What a start calls outside the tree: kernels, with the line of the tree that calls them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct, field

from sgcheck.interp.access import frame_of_tree
from sgcheck.values.unknown import Unknown

_DEPTH = 3


class Call(Struct, frozen=True):
    """One call of a kernel. `storages` are the identities of the memory that it is given."""

    name: str
    file: str | None
    line: int | None
    function: str | None
    storages: frozenset[int] = field(default_factory=frozenset)


class Recorder:
    """Collects calls while it is listening."""

    def __init__(self) -> None:
        self._lists: list[list[Call]] = []
        self.starting = False
        """Whether a start is followed: what kernels give is then modelled."""

    @contextmanager
    def listening(self) -> Iterator[list[Call]]:
        """Calls of the block, in order."""
        calls: list[Call] = []
        self._lists.append(calls)
        try:
            yield calls
        finally:
            self._lists.remove(calls)

    @property
    def active(self) -> bool:
        return bool(self._lists)

    def add(self, call: Call) -> None:
        """A call, for everybody who listens."""
        for calls in self._lists:
            calls.append(call)


RECORDER = Recorder()


def record(name: str, args: Any, kwargs: Any) -> None:
    """Note a call of a kernel."""
    if not RECORDER.active:
        return
    file, line, function = _place()
    found: set[int] = set()
    _storages((args, kwargs), found, _DEPTH)
    RECORDER.add(Call(name, file, line, function, frozenset(found)))


def _place() -> tuple[str | None, int | None, str | None]:
    """The innermost line of the tree that is running."""
    frame = frame_of_tree(sys._getframe(2))
    if frame is None:
        return None, None, None
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname


def _storages(value: Any, found: set[int], depth: int) -> None:
    kind = type(value)
    storage = getattr(value, "_storage", None) if hasattr(kind, "untyped_storage") else None
    if storage is not None:
        found.add(id(storage))
    elif issubclass(type(value), Unknown):
        found.add(id(value))
    elif depth and type(value) in (list, tuple):
        for part in value:
            _storages(part, found, depth - 1)
    elif depth and type(value) is dict:
        for part in value.values():
            _storages(part, found, depth - 1)
    elif depth and hasattr(value, "__dict__") and not callable(value):
        for part in list(vars(value).values())[:50]:
            _storages(part, found, depth - 2)


class Leaf:
    """Something outside the tree that can be called: the call is recorded, its result is not known."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Leaf:
        if name.startswith("__"):
            raise AttributeError(name)
        return Leaf(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from sgcheck.world.facade import not_modelled

        record(self._name, args, kwargs)
        return not_modelled(f"{self._name}()")
