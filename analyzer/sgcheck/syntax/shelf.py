"""Translated code of one tree, as bytes: what was kept, and what is translated when it is asked for.

A pack is named by the tree's digest, the translator's version and the running Python, so nothing
in it is ever stale; it is sealed (see `source.kept`), and one that cannot be read or written only
costs time. Nothing here is unmarshalled: that is done where the code runs.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from sgcheck.source.kept import keep, kept
from sgcheck.syntax import translation
from sgcheck.syntax.pack import Found, Pack, Piece, Table, packed, unpacked
from sgcheck.syntax.registration import registers
from sgcheck.syntax.translation import Translated
from sgcheck.syntax.version import VERSION

_FORMAT = 8
MOST_TEXTS = 20_000
MOST_OF_TEXTS = 16 * 1024 * 1024
MOST_NAMES = 100_000
"""Bounds on what is kept beside the modules: the tree chooses how much it asks for."""


class Source(Protocol):
    """The part of a tree that translating needs."""

    @property
    def digest(self) -> str: ...

    def read(self, path: str) -> bytes: ...

    def exists(self, path: str) -> bool: ...


class Translating(Protocol):
    """What translates: `syntax.translation`, here or in a process of its own."""

    def module(
        self, source: bytes, path: str, name: str, is_package: bool, *, eager: bool, branching: bool
    ) -> Translated: ...

    def expression(self, text: str) -> bytes: ...

    def generated(self, text: str) -> bytes: ...


class Codes(Protocol):
    """Where `CodeCache` has its bytes from: a shelf, or a channel to one."""

    def pack(self) -> Pack: ...

    def find(self, name: str) -> Found: ...

    def module(self, name: str, path: str, is_package: bool) -> Translated: ...

    def expression(self, text: str) -> bytes: ...

    def generated(self, text: str) -> bytes: ...

    def registers(self, name: str) -> bool: ...

    def save(self) -> None: ...


class Shelf:
    """The pack of one tree."""

    def __init__(
        self,
        tree: Source,
        folder: Path | None,
        *,
        eager: bool = False,
        branching: bool = False,
        translating: Translating = translation,
    ) -> None:
        self.tree = tree
        self.eager = eager
        self.branching = branching
        self._translating = translating
        self._lender: Shelf | None = None
        self._dirty = False
        self._path = folder / self._pack_name() if folder is not None else None
        self._content: memoryview | None = None
        self._pack = self._load()

    def _pack_name(self) -> str:
        tag = f"{_FORMAT}-{VERSION}-{sys.implementation.cache_tag}-{sys.hexversion:x}-{self.eager:d}{self.branching:d}"
        return hashlib.sha256(f"{tag}-{self.tree.digest}".encode()).hexdigest()[:32] + ".pack"

    def _load(self) -> Pack:
        found = kept(self._path) if self._path is not None else None
        if found is None:
            return Pack()
        try:
            pack = unpacked(found)
        except ValueError:
            return Pack()
        self._content = found
        return pack

    def pack(self) -> Pack:
        """All that there is."""
        return self._pack

    def content(self) -> Piece:
        """The same as bytes."""
        if self._content is None:
            self._content = memoryview(packed(self._pack))
        return self._content

    def save(self) -> None:
        """Write what is new. Failing to is no error: the next run translates again."""
        if self._dirty and self._path is not None:
            self._dirty = False
            keep(self._path, self.content())

    def _changed(self) -> None:
        self._dirty = True
        self._content = None

    def find(self, name: str) -> Found:
        """The file of a dotted module name, or None if the tree has no such module."""
        files = self._pack.files
        if name in files:
            return files[name]
        base = name.replace(".", "/")
        found: Found = None
        if self.tree.exists(f"{base}/__init__.py"):
            found = (f"{base}/__init__.py", True)
        elif self.tree.exists(f"{base}.py"):
            found = (f"{base}.py", False)
        elif self.tree.exists(base):
            found = (None, True)
        if len(files) < MOST_NAMES:
            files[name] = found
            self._changed()
        return found

    def module(self, name: str, path: str, is_package: bool) -> Translated:
        """The code of a module: kept, taken from another tree, or translated now."""
        pack = self._pack
        if self.find(name) != (path, is_package):
            raise ValueError(f"{name} is not at {path}")
        if path in pack.code:
            return Translated(bytes(pack.code[path]), bytes(pack.conditions[path]))
        found = self._borrowed(path) or self._translating.module(
            self.tree.read(path),
            path,
            name,
            is_package,
            eager=self.eager,
            branching=self.branching,
        )
        if found.refusal is None:
            pack.code[path], pack.conditions[path] = found.code, found.conditions
            self._changed()
        return found

    def registers(self, name: str) -> bool:
        """Whether the top level of a module registers something (see `syntax.registration`)."""
        table = self._pack.registering
        if name in table:
            return table[name]
        found = self.find(name)
        known = found is not None and found[0] is not None and registers(self.tree.read(found[0]))
        if len(table) < MOST_NAMES:
            table[name] = known
            self._changed()
        return known

    def expression(self, text: str) -> bytes:
        """The code of one expression. Raises SyntaxError."""
        return self._text(self._pack.expressions, text, self._translating.expression)

    def generated(self, text: str) -> bytes:
        """The code of a text that the standard library wrote itself. Raises SyntaxError."""
        return self._text(self._pack.generated, text, self._translating.generated)

    def _text(self, table: Table, text: str, make: Callable[[str], bytes]) -> bytes:
        found = table.get(text)
        if found is not None:
            return bytes(found)
        made = make(text)
        if len(table) < MOST_TEXTS and sum(map(len, table)) + len(text) < MOST_OF_TEXTS:
            table[text] = made
            self._changed()
        return made

    def borrow_from(self, lender: Shelf) -> None:
        """Take over what another tree's files of the same path and content were translated to."""
        if (lender.eager, lender.branching) == (self.eager, self.branching):
            self._lender = lender

    def _borrowed(self, path: str) -> Translated | None:
        """The code of a file that the lender has translated, if it is the same one here."""
        lender = self._lender
        if lender is None or path not in lender._pack.code:
            return None
        if lender.tree.read(path) != self.tree.read(path):
            return None
        theirs = lender._pack
        return Translated(bytes(theirs.code[path]), bytes(theirs.conditions[path]))
