"""A record of every change to an object, so that it can be taken back or made again.

It serves two purposes: the next launch of a batch starts from the state that the import left,
and the exploration of an unknown runs the same function once for each answer.

Entries are `(kind, object, key, old)`; `MISSING` stands for "was not there".
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape
from sgcheck.values.unknown import ASK


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return self._leaked() if len(ASK) > 1 else "MISSING"

    def _leaked(self, *args: Any) -> Any:
        # It must never be seen by code of the tree: better no answer than a wrong one.
        raise Escape(Reason("engine(absent value read)"))

    __iter__ = __len__ = __call__ = __getitem__ = __bool__ = __format__ = __str__ = _leaked
    __deepcopy__ = __copy__ = __reduce_ex__ = _leaked
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __mul__ = __int__ = __index__ = _leaked

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._leaked()


MISSING = _Missing()

ATTR, ITEM, COPY, CALL, TYPE, SPACE, CELL, NAME = range(8)

Entry = tuple[int, Any, Any, Any]

_object_getattribute = object.__getattribute__


def instance_dict(obj: Any) -> dict[str, Any] | None:
    """An object's own dictionary, without asking the object."""
    try:
        found = _object_getattribute(obj, "__dict__")
    except AttributeError:
        return None
    return found if issubclass(type(found), dict) else None


class Journal:
    """Changes since the journal was opened, oldest first."""

    __slots__ = ("_copied", "entries")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._copied: set[int] = set()

    def mark(self) -> int:
        """A position to which `undo` can return."""
        self._copied.clear()
        return len(self.entries)

    # -- recording -----------------------------------------------------------------

    def attr(self, obj: Any, name: str) -> None:
        """About to set or delete an attribute."""
        if name == "__class__":
            self.entries.append((CALL, _Reclassed(obj), None, type(obj)))
            return
        if issubclass(type(obj), type):
            self.entries.append((TYPE, obj, name, obj.__dict__.get(name, MISSING)))
            return
        space = instance_dict(obj)
        if space is not None and (name in space or not _is_slot(obj, name)):
            self.entries.append((SPACE, space, name, space.get(name, MISSING)))
            return
        try:
            old = _object_getattribute(obj, name)
        except AttributeError:
            old = MISSING
        self.entries.append((ATTR, obj, name, old))

    def item(self, mapping: dict[Any, Any], key: Any) -> None:
        """About to set a key of a dictionary (not to delete one: see `container`)."""
        self.entries.append((ITEM, mapping, key, mapping.get(key, MISSING)))
        # A change of the whole after this key must come after it when both are made again.
        self._copied.discard(id(mapping))

    def space(self, names: dict[str, Any], key: str) -> None:
        """About to set an attribute in an instance's dictionary."""
        self.entries.append((SPACE, names, key, names.get(key, MISSING)))

    def module_name(self, names: dict[str, Any], key: str) -> None:
        """About to set a name of a module."""
        self.entries.append((NAME, names, key, names.get(key, MISSING)))

    def cell(self, cell: Any) -> None:
        """About to assign a local variable that a nested function shares."""
        self.entries.append((CELL, cell, None, cell_content(cell)))

    def container(self, obj: Any) -> None:
        """About to change a list, dict, set or deque in any way."""
        key = id(obj)
        if key in self._copied:
            return
        self._copied.add(key)
        self.entries.append((COPY, obj, None, content(obj)))

    def call(self, undo: Callable[[Any], None], old: Any) -> None:
        """A change that `undo(old)` takes back."""
        self.entries.append((CALL, undo, None, old))

    # -- going back and forth --------------------------------------------------------

    def undo(self, mark: int) -> list[Entry]:
        """Take back everything after `mark`. Returns entries that `redo` makes again."""
        entries = self.entries
        redo: list[Entry] = []
        while len(entries) > mark:
            kind, obj, key, old = entries.pop()
            redo.append((kind, obj, key, _swap(kind, obj, key, old)))
        self._copied.clear()
        redo.reverse()
        return redo

    def redo(self, entries: list[Entry]) -> None:
        """Make changes again that `undo` took back; they can be undone once more."""
        for kind, obj, key, new in entries:
            self.entries.append((kind, obj, key, _swap(kind, obj, key, new)))
        self._copied.clear()


class _Reclassed:
    """Gives an object another class again; returns the one that it had."""

    __slots__ = ("obj",)

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def __call__(self, cls: type) -> type:
        current = type(self.obj)
        object.__setattr__(self.obj, "__class__", cls)
        return current


def _is_slot(obj: Any, name: str) -> bool:
    for cls in type(obj).__mro__:
        found = cls.__dict__.get(name, MISSING)
        if found is not MISSING:
            return type(found).__name__ == "member_descriptor"
    return False


def content(obj: Any) -> Any:
    """A shallow copy of what a container holds."""
    if issubclass(type(obj), list):
        return list(obj)
    if issubclass(type(obj), dict):
        return dict(obj)
    if issubclass(type(obj), set):
        return set(obj)
    if issubclass(type(obj), deque):
        return deque(obj, obj.maxlen)
    if issubclass(type(obj), bytearray):
        return bytes(obj)
    raise TypeError(f"no container: {type(obj).__name__}")


def _restore(obj: Any, content: Any) -> None:
    if issubclass(type(obj), list | bytearray):
        list.__setitem__(obj, slice(None), content) if issubclass(
            type(obj), list
        ) else obj.__setitem__(slice(None), content)
    elif issubclass(type(obj), OrderedDict):
        OrderedDict.clear(obj)
        OrderedDict.update(obj, content)
    elif issubclass(type(obj), dict):
        dict.clear(obj)
        dict.update(obj, content)
    elif issubclass(type(obj), set):
        set.clear(obj)
        set.update(obj, content)
    else:
        deque.clear(obj)
        deque.extend(obj, content)


def cell_content(cell: Any) -> Any:
    """What a variable of an enclosing function holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _swap(kind: int, obj: Any, key: Any, value: Any) -> Any:
    """Put `value` in place and return what stood there."""
    if kind in (ITEM, SPACE, NAME):
        # An OrderedDict keeps its order apart: dict's own methods would leave it behind.
        plain: type[dict[Any, Any]] = OrderedDict if issubclass(type(obj), OrderedDict) else dict
        current = dict.get(obj, key, MISSING)
        if value is MISSING:
            plain.pop(obj, key, None)
        else:
            plain.__setitem__(obj, key, value)
        return current
    if kind == COPY:
        current = content(obj)
        _restore(obj, value)
        return current
    if kind == TYPE:
        current = obj.__dict__.get(key, MISSING)
        if value is MISSING:
            if key in obj.__dict__:
                type.__delattr__(obj, key)
        else:
            type.__setattr__(obj, key, value)
        return current
    if kind == CELL:
        current = cell_content(obj)
        if value is MISSING:
            if current is not MISSING:
                del obj.cell_contents
        else:
            obj.cell_contents = value
        return current
    if kind == ATTR:
        return _swap_slot(obj, key, value)
    return obj(value)


def _swap_slot(obj: Any, key: str, value: Any) -> Any:
    try:
        current = _object_getattribute(obj, key)
    except AttributeError:
        current = MISSING
    for cls in type(obj).__mro__:
        slot: Any = cls.__dict__.get(key)
        if type(slot).__name__ == "member_descriptor":
            # What cannot be set was not set either.
            with suppress(AttributeError, TypeError):
                if value is not MISSING:
                    slot.__set__(obj, value)
                elif current is not MISSING:
                    slot.__delete__(obj)
            return current
    return current
