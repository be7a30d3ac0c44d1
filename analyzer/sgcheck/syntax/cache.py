"""Translated code of one tree as code objects, made of the bytes of a shelf (see `syntax.shelf`)."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import msgspec

from sgcheck.syntax.conditions import Conditions
from sgcheck.syntax.pack import Pack
from sgcheck.syntax.shelf import Codes, Shelf, Source
from sgcheck.values.signals import Escape


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """Where a dotted name lies in the tree; `path` is None for a folder without `__init__.py`."""

    path: str | None
    is_package: bool


class CodeCache:
    """Code and conditions of one tree's modules. `codes` (default: a shelf in `folder`) has the bytes."""

    def __init__(
        self,
        tree: Source,
        folder: Path | None = None,
        *,
        eager: bool = False,
        branching: bool = False,
        codes: Codes | None = None,
    ) -> None:
        self.tree = tree
        self.eager = eager
        self.branching = branching
        self.codes: Codes = codes or Shelf(tree, folder, eager=eager, branching=branching)
        self._pack: Pack = self.codes.pack()
        self._live: dict[str, CodeType] = {}
        self._live_expressions: dict[str, CodeType] = {}
        self._read: dict[str, Conditions] = {}

    def save(self) -> None:
        """Keep what is new."""
        self.codes.save()

    def find(self, name: str) -> ModuleFile | None:
        """The file of a dotted module name, or None if the tree has no such module."""
        files = self._pack.files
        if name not in files:
            files[name] = self.codes.find(name)
        found = files[name]
        return ModuleFile(*found) if found is not None else None

    def code(self, name: str, file: ModuleFile) -> CodeType:
        """The translated code of a module. Raises Escape when it cannot be translated."""
        path = file.path
        assert path is not None
        live = self._live.get(path)
        if live is not None:
            return live
        packed = self._pack.code.get(path)
        if packed is None:
            made = self.codes.module(name, path, file.is_package)
            if made.refusal is not None:
                raise Escape(made.refusal) from None
            packed = self._pack.code[path] = made.code
            self._pack.conditions[path] = made.conditions
        code: CodeType = marshal.loads(packed)
        self._live[path] = code
        return code

    def registers(self, name: str) -> bool:
        """Whether a module's top level registers something with another (see `registration`)."""
        known = self._pack.registering.get(name)
        if known is None:
            known = self._pack.registering[name] = self.codes.registers(name)
        return known

    def expression(self, text: str) -> CodeType:
        """The translated code of one expression (a string annotation). Raises SyntaxError."""
        live = self._live_expressions.get(text)
        if live is not None:
            return live
        packed = self._pack.expressions.get(text)
        if packed is None:
            packed = self._pack.expressions[text] = self.codes.expression(text)
        code: CodeType = marshal.loads(packed)
        self._live_expressions[text] = code
        return code

    def generated(self, text: str, check: Callable[[str], None]) -> CodeType:
        """The code of a text that the standard library wrote itself: compiled, not translated.

        Names of the tree's stand in it: `check` refuses what is not as the library would write it.
        """
        packed = self._pack.generated.get(text)
        if packed is None:
            check(text)
            packed = self._pack.generated[text] = self.codes.generated(text)
        code: CodeType = marshal.loads(packed)
        return code

    def live_code(self) -> list[CodeType]:
        """The code of all modules that have run."""
        return list(self._live.values())

    def conditions(self, path: str) -> Conditions:
        """The conditions by line of a module whose code was asked for before."""
        found = self._read.get(path)
        if found is None:
            packed = self._pack.conditions.get(path)
            found = _decode(packed) if packed is not None else Conditions()
            self._read[path] = found
        return found


_decode = msgspec.msgpack.Decoder(Conditions).decode
