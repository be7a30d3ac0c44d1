"""Answers kept between runs: what a launch of a tree resolves to, and the flags of a tree's parser.

An entry's name is a digest of everything that the answer depends on: the tree's content, the engine (every
file of `sgcheck` and `sgcheck_rules`), the running Python, and the question itself. So a changed tree, engine
or launch never meets an old answer. Entries are plain data, sealed (see `source.kept`) and read by the type
that is expected; whatever cannot be read or written only costs time.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgcheck.resolve.started import roles_of
from sgcheck.sandbox.codec import decode, encode
from sgcheck.source.kept import keep, kept

if TYPE_CHECKING:
    from sgcheck.resolve.resolution import Resolution

KEPT_ENTRIES = 4000
KEPT_ENGINES = 3
LIBRARIES = ("msgspec", "packaging", "typing_extensions")
_FORMAT = "3"
_LOWEST_LEVEL = 1
MOST_BYTES = 128 * 1024 * 1024
"""Of one entry, unpacked."""


class Store:
    """The answers of one tree. `extra` is what else they depend on, as text."""

    def __init__(self, folder: Path, tree: str, extra: str = "") -> None:
        self._folder = folder / engine_digest()[:16]
        self._seed = f"{_FORMAT}\0{sys.hexversion:x}\0{engine_digest()}\0{tree}\0{extra}\0"
        self._written = 0

    def _path(self, kind: str, question: object) -> Path:
        # Questions are frozen records of texts, numbers and bytes: their repr holds all of them.
        key = f"{self._seed}{kind}\0{question!r}"
        digest = hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()
        return self._folder / f"{digest[:40]}.answer"

    def get(self, kind: str, question: object, type_: Any) -> Any | None:
        """What `put` was given for an equal question, as a `type_`, or None."""
        found = kept(self._path(kind, question))
        if found is None:
            return None
        try:
            unpacking = zlib.decompressobj()
            written = unpacking.decompress(found, MOST_BYTES)
            return decode(written, type_) if unpacking.eof else None
        except (zlib.error, ValueError):
            return None

    def put(self, kind: str, question: object, answer: object) -> None:
        """Keep an answer, unless it holds something that cannot be written down."""
        try:
            written = encode(answer)
        except (TypeError, ValueError, RecursionError):
            return
        content = zlib.compress(written, _LOWEST_LEVEL)
        self._written += keep(self._path(kind, question), content)

    def tidy(self) -> None:
        """Drop the oldest entries, and those of engines that were not used lately."""
        if not self._written:
            return
        self._written = 0
        _drop_oldest(list(_entries(self._folder)), KEPT_ENTRIES)
        for folder in _oldest(list(_entries(self._folder.parent)))[:-KEPT_ENGINES]:
            if folder != self._folder:
                _drop_oldest(list(_entries(folder)), 0)
                with contextlib.suppress(OSError):
                    folder.rmdir()


def is_lasting(resolution: Resolution) -> bool:
    """Whether another run would come to the same answer, however fast the computer is."""
    reasons = [resolution.outcome.reason, *(case.reason for case in resolution.outcome.cases)]
    reasons += [answer.reason for answer in resolution.fields.values()]
    if resolution.running is not None:
        reasons.append(resolution.running.reason)
        cells = [
            c for _, role in roles_of(resolution) for r in role.layers for c in r.cells.values()
        ]
        reasons += [cell.reason for cell in cells]
    codes = [reason.code for reason in reasons if reason is not None]
    return not any(code.startswith(("limit(", "internal-fault", "worker-ended(")) for code in codes)


def _entries(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from folder.iterdir()


def _oldest(paths: list[Path]) -> list[Path]:
    def age(path: Path) -> int:
        try:
            return path.stat().st_mtime_ns
        except OSError:
            return 0

    return sorted(paths, key=age)


def _drop_oldest(paths: list[Path], kept: int) -> None:
    if len(paths) <= kept:
        return
    for path in _oldest(paths)[: len(paths) - kept]:
        with contextlib.suppress(OSError):
            path.unlink()


@lru_cache(maxsize=1)
def engine_digest() -> str:
    """A digest over the files of sgcheck and its rules: names, sizes and times of change.

    The libraries that interpreted code may use stand in it with the times of their folders.
    """
    import sgcheck
    import sgcheck_rules

    digest = hashlib.sha256()
    for name in LIBRARIES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            digest.update(f"{name} {Path(spec.origin).stat().st_mtime_ns}".encode())
    for package in (sgcheck, sgcheck_rules):
        assert package.__file__ is not None
        top = os.path.dirname(package.__file__)  # noqa: PTH120
        for row in sorted(_stamps(top)):
            digest.update(repr(row).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _stamps(folder: str, inside: str = "") -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as found:
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _stamps(entry.path, f"{inside}{entry.name}/")
            else:
                stat = entry.stat()
                yield f"{inside}{entry.name}", stat.st_size, stat.st_mtime_ns
