"""`os.environ`: the environment of the launch, never the caller's own.

Modules are imported once and serve many launches. So the environment keeps apart what their bodies
read and write (`Imported`, which belongs to the machine) and what a launch itself changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.values.kinds import is_a
from sgcheck.values.signals import Escape
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import ASK, Unknown

_MISSING = object()
REMOVED = None
"""Stands for a variable that an import removed."""


class MaybeUnset(Unknown):
    """A variable that may be unset, where nothing can be decided."""

    __slots__ = ()


class Environ(MutableMapping[str, str]):
    """A mapping of strings.

    `reads` are the variables that module bodies have looked at before a launch could change them,
    with what they found; `late_reads` the same of modules imported in the midst of a launch.
    `imported` is what module bodies have written, `changed` are the names that the launch has.
    """

    def __init__(self, content: dict[str, str]) -> None:
        self.content: dict[str, Any] = dict(content)
        self.reads: dict[str, Any] = {}
        self.late_reads: dict[str, Any] = {}
        self.imported: dict[str, Any] = {}
        self.changed: set[str] = set()
        self.mixed = False
        self.looked: dict[str, Any] | None = None
        """Where it is a dictionary: what is read goes into it (None: not set)."""
        self.listed = 0
        """How often all names were asked for."""
        self._launched = self._importing = self._past = False
        self._known_late: dict[str, Any] = {}
        self._base: dict[str, Any] = {}
        self._start: dict[str, Any] = {}

    # -- imports and launches --------------------------------------------------------

    @contextmanager
    def module_body(self, *, past: bool | None = None) -> Iterator[None]:
        """The body of a module runs. `past`: Python would have run it before the launch began.

        Inside another body, `past` is that body's unless it is given.
        """
        before = self._importing, self._past
        self._past = past if past is not None else self._past and self._importing
        self._importing = True
        try:
            yield
        finally:
            self._importing, self._past = before

    @property
    def importing(self) -> bool:
        """Whether the body of a module runs."""
        return self._importing

    @property
    def bodies_are_past(self) -> bool:
        """Whether what runs now belongs before the launch: the first imports, and what they name."""
        return not self._launched or (self._importing and self._past)

    def enter(self, env: Mapping[str, str]) -> None:
        """A launch begins, in the environment `env` changed by what the first imports wrote."""
        if not self._launched:
            self._launched = True
            self._base = dict(self.imported)
        if R.journal is not None:
            R.journal.container(self.content)
        self.content.clear()
        self.content.update(env)
        self.imported = {}
        self.changed = set()
        self._known_late = dict(self.late_reads)
        self.replay(self._base)
        self._start = dict(self.content)

    def replay(self, writes: Mapping[str, Any]) -> None:
        """An import whose effects are known happens again."""
        for name, value in writes.items():
            if R.journal is not None:
                R.journal.container(self.content)
            self.imported[name] = value
            if value is REMOVED:
                self.content.pop(name, None)
            else:
                self.content[name] = value

    def fits(self, env: Mapping[str, str], unknown: Collection[str] = ()) -> bool:
        """Whether module bodies would have read the same in another launch's environment.

        What they read must not be among the variables that are `unknown` there.
        """
        found = {**self.late_reads, **self.reads}
        if not found.keys().isdisjoint(unknown):
            return False
        if self.mixed or any(issubclass(type(value), Unknown) for value in found.values()):
            return False
        return all(env.get(name) == value for name, value in found.items())

    def outdated(self) -> bool:
        """Whether modules of earlier launches have read what this launch has set differently."""
        for name in self.changed:
            if name in self._known_late:
                now, then = self.content.get(name), self._known_late[name]
                if issubclass(type(now), Unknown) or issubclass(type(then), Unknown) or now != then:
                    return True
        return False

    # -- reading and writing ---------------------------------------------------------

    def _current(self, key: str) -> Any:
        past = self._past and key in self.changed
        found = (self._start if past else self.content).get(key, _MISSING)
        if self.looked is not None:
            self.looked[key] = None if found is _MISSING else found
        return found

    def _look(self, key: str) -> Any:
        value = self._current(key)
        if self._importing and key not in self.imported:
            found = None if value is _MISSING else value
            if self._past or not self._launched:
                self.reads.setdefault(key, found)
            elif self.late_reads.setdefault(key, found) is not found:
                other = self.late_reads[key]
                self.mixed = self.mixed or issubclass(type(found), Unknown) or other != found
        return value

    def __getitem__(self, key: Any) -> Any:
        if issubclass(type(key), Unknown):
            raise Escape(key.reason)
        if not issubclass(type(key), str):
            raise TypeError(f"str expected, not {type(key).__name__}")
        value = self._look(key)
        if value is _MISSING:
            raise KeyError(key)
        if issubclass(type(value), MaybeUnset):
            raise Escape(value.reason)
        if issubclass(type(value), Choice):
            # Set on some paths only.
            return ASK[-1].present(self.content, key, value)
        return value

    def get(self, key: Any, default: Any = None) -> Any:
        if not issubclass(type(key), str):
            return self[key]
        value = self._look(key)
        if issubclass(type(value), Choice):
            return ASK[-1].defaulted(value, default)
        return default if value is _MISSING else value

    def __contains__(self, key: object) -> bool:
        if not is_a(key, str):
            return False
        value = self._look(key)
        if issubclass(type(value), Choice):
            there = ASK[-1].binary("in", key, {key: value})
            return bool(ASK[-1].truth(there) if issubclass(type(there), Unknown) else there)
        if issubclass(type(value), MaybeUnset):
            raise Escape(value.reason)
        return value is not _MISSING

    def _about_to_write(self, key: str, value: Any) -> None:
        if self._importing:
            self.imported[key] = value
        else:
            self.changed.add(key)

    def __setitem__(self, key: str, value: str) -> None:
        if not issubclass(type(key), str) or not issubclass(type(value), str | Unknown):
            wrong = key if not issubclass(type(key), str) else value
            raise TypeError(f"str expected, not {type(wrong).__name__}")
        self._about_to_write(key, value)
        if R.journal is not None:
            R.journal.item(self.content, key)
        self.content[key] = value

    def __delitem__(self, key: str) -> None:
        known = self.content.get(key, _MISSING)
        is_there = (
            key in self if issubclass(type(known), Choice | MaybeUnset) else known is not _MISSING
        )
        if not is_there:
            raise KeyError(key)
        self._about_to_write(key, REMOVED)
        if R.journal is not None:
            R.journal.container(self.content)
        del self.content[key]

    def __iter__(self) -> Iterator[str]:
        self.listed += 1
        # What may be unset is there on some paths only: whoever walks over all must know which.
        return iter(
            [
                k
                for k, v in self.content.items()
                if not issubclass(type(v), Choice | MaybeUnset) or k in self
            ]
        )

    def __len__(self) -> int:
        return len(list(iter(self)))

    def copy(self) -> dict[str, Any]:
        return {name: self[name] for name in self}

    def __repr__(self) -> str:
        self.listed += 1
        return f"environ({self.content!r})"
