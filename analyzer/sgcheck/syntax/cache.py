"""Translated code, cached by content: one pack a tree, one marshalled entry a module.

A pack is keyed by the tree's digest, the translator's version and the running Python, so nothing
in it is ever stale; it is replaced atomically, and a pack that cannot be read or written only
costs time.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, Protocol

from sgcheck.resolve.resolution import Reason
from sgcheck.syntax.conditions import Conditions, conditions_of
from sgcheck.syntax.pack import Piece, Table, read_pack, write_pack
from sgcheck.syntax.version import VERSION
from sgcheck.values.signals import Escape

_FORMAT = 6


class Source(Protocol):
    """The part of a tree that the cache needs."""

    @property
    def digest(self) -> str: ...

    def read(self, path: str) -> bytes: ...

    def exists(self, path: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """Where a dotted name lies in the tree; `path` is None for a folder without `__init__.py`."""

    path: str | None
    is_package: bool


class CodeCache:
    """Code and conditions of one tree's modules."""

    def __init__(
        self, tree: Source, folder: Path | None, *, eager: bool = False, branching: bool = False
    ) -> None:
        self.tree = tree
        self.eager = eager
        self.branching = branching
        self._root = "sglang"
        self._files: dict[str, tuple[str | None, bool] | None] = {}
        self._code: Table = {}
        self._conditions: Table = {}
        self._expressions: dict[str, bytes] = {}
        self._generated: dict[str, bytes] = {}
        self._live: dict[str, CodeType] = {}
        self._live_expressions: dict[str, CodeType] = {}
        self._read: dict[str, Conditions] = {}
        self._lender: CodeCache | None = None
        self._dirty = False
        self._path = folder / self._pack_name() if folder is not None else None
        self._load()

    def _pack_name(self) -> str:
        tag = f"{_FORMAT}-{VERSION}-{sys.implementation.cache_tag}-{sys.hexversion:x}-{self.eager:d}{self.branching:d}"
        return hashlib.sha256(f"{tag}-{self.tree.digest}".encode()).hexdigest()[:32] + ".pack"

    def _load(self) -> None:
        if self._path is None:
            return
        try:
            plain, (code, conditions) = read_pack(self._path, 2)
            self._files, self._expressions, self._generated = plain
            self._code, self._conditions = code, conditions
        except (OSError, ValueError, EOFError, TypeError, AttributeError):
            self._files, self._expressions, self._generated = {}, {}, {}

    def save(self) -> None:
        """Write what is new. Failing to is no error: the next run translates again."""
        if not self._dirty or self._path is None:
            return
        self._dirty = False
        plain = self._files, self._expressions, self._generated
        with suppress(OSError):
            write_pack(self._path, plain, (self._code, self._conditions))

    # -- modules -------------------------------------------------------------------

    def find(self, name: str) -> ModuleFile | None:
        """The file of a dotted module name, or None if the tree has no such module."""
        if name in self._files:
            found = self._files[name]
            return ModuleFile(*found) if found is not None else None
        base = name.replace(".", "/")
        answer: tuple[str | None, bool] | None = None
        if self.tree.exists(f"{base}/__init__.py"):
            answer = (f"{base}/__init__.py", True)
        elif self.tree.exists(f"{base}.py"):
            answer = (f"{base}.py", False)
        elif self.tree.exists(base):
            answer = (None, True)
        self._files[name] = answer
        self._dirty = True
        return ModuleFile(*answer) if answer is not None else None

    def code(self, name: str, file: ModuleFile) -> CodeType:
        """The translated code of a module. Raises Escape when it cannot be translated."""
        assert file.path is not None
        live = self._live.get(file.path)
        if live is not None:
            return live
        packed = self._code.get(file.path)
        if packed is None:
            packed = self._borrowed(file.path) or self._translate(name, file)
        code: CodeType = marshal.loads(packed)
        self._live[file.path] = code
        return code

    def borrow_from(self, lender: CodeCache) -> None:
        """Take over what another tree's files of the same path and content were translated to."""
        if (lender.eager, lender.branching) == (self.eager, self.branching):
            self._lender = lender

    def _borrowed(self, path: str) -> Piece | None:
        """The code of a file that the lender has translated, if it is the same one here."""
        lender = self._lender
        packed = lender._code.get(path) if lender is not None else None
        if lender is None or packed is None or lender.tree.read(path) != self.tree.read(path):
            return None
        self._code[path] = packed
        self._conditions[path] = lender._conditions[path]
        self._dirty = True
        return packed

    def _translate(self, name: str, file: ModuleFile) -> bytes:
        # Only what was never read before is translated: most launches need no translator.
        import ast

        from sgcheck.syntax import translate

        assert file.path is not None
        try:
            source = self.tree.read(file.path)
            parsed = ast.parse(source, filename=file.path)
            conditions = conditions_of(parsed, source)
            translator = translate.Translator(
                name, file.is_package, eager=self.eager, branching=self.branching
            )
            translator.plain_text = _is_plain(source)
            module = translator.module(parsed)
            try:
                code = compile(module, file.path, "exec", dont_inherit=True, optimize=0)
            except TypeError:
                # Some rarely made node has no place of its own yet.
                fixed = ast.fix_missing_locations(module)
                code = compile(fixed, file.path, "exec", dont_inherit=True, optimize=0)
        except translate.TranslationRefused as refusal:
            raise Escape(Reason("source-refused", file.path, refusal.line, str(refusal))) from None
        except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
            line = getattr(problem, "lineno", None)
            detail = problem.msg if isinstance(problem, SyntaxError) else str(problem)
            raise Escape(Reason("source-unreadable", file.path, line, detail)) from None
        packed = marshal.dumps(code)
        self._code[file.path] = packed
        self._conditions[file.path] = marshal.dumps(
            (conditions.texts, conditions.by_line, conditions.fields, conditions.options)
        )
        self._read[file.path] = conditions
        self._dirty = True
        return packed

    def expression(self, text: str) -> CodeType:
        """The translated code of one expression (a string annotation). Raises SyntaxError."""
        live = self._live_expressions.get(text)
        if live is not None:
            return live
        packed = self._expressions.get(text)
        if packed is None:
            import ast

            from sgcheck.syntax import translate

            parsed = ast.parse(text.strip(), mode="eval")
            body = translate.Translator(self._root, False).expression(parsed.body)
            code = compile(ast.Expression(body), "<annotation>", "eval", dont_inherit=True)
            packed = self._expressions[text] = marshal.dumps(code)
            self._dirty = True
        result: CodeType = marshal.loads(packed)
        self._live_expressions[text] = result
        return result

    def generated(self, text: str, check: Callable[[str], None]) -> CodeType:
        """The code of a text that the standard library wrote itself: compiled, not translated.

        Names of the tree's stand in it: `check` refuses what is not as the library would write it.
        """
        packed = self._generated.get(text)
        if packed is None:
            check(text)
            code = compile(text, "<string>", "exec", dont_inherit=True)
            self._generated[text] = marshal.dumps(code)
            self._dirty = True
            return code
        result: CodeType = marshal.loads(packed)
        return result

    def live_code(self) -> list[CodeType]:
        """The code of all modules that have run."""
        return list(self._live.values())

    def conditions(self, path: str) -> Conditions:
        """The conditions by line of a module whose code was asked for before."""
        found = self._read.get(path)
        if found is None:
            packed = self._conditions.get(path)
            found = Conditions(*marshal.loads(packed)) if packed is not None else Conditions()
            self._read[path] = found
        return found


def _is_plain(source: bytes) -> bool:
    """Whether no identifier can be reserved: ASCII as it stands, and without that word."""
    head = b"\n".join(source.split(b"\n", 2)[:2])
    return source.isascii() and b"coding" not in head and b"__builtins__" not in source


Loader = Callable[[str], Any]
