"""The sources of a tree, and what is kept of them by the tree's digest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sgcheck.errors import SourceError
from sgcheck.source.cache import write_atomically
from sgcheck.source.tree import PACKAGE, Tree


def sources(tree: Tree, suffixes: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Path and content of every file of the package with one of the suffixes that can be read."""
    pending = [PACKAGE]
    while pending:
        folder = pending.pop()
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in reversed(tree.listdir(folder)):
                path = f"{folder}/{name}"
                if name.endswith(suffixes):
                    with suppress(FileNotFoundError, SourceError):
                        yield path, tree.read(path)
                elif "." not in name:
                    pending.append(path)


class KeptFacts:
    """One file of JSON in `folder` (None: nothing is kept), named by a tree's digest."""

    def __init__(self, folder: Path | None, digest: str) -> None:
        name = f"{digest.removeprefix('sha256:')[:32]}.json"
        self._path = None if folder is None else folder / name

    def load(self) -> Mapping[str, Any]:
        """What was kept; nothing where it is not there or cannot be read."""
        if self._path is not None:
            with suppress(OSError, ValueError):
                found = json.loads(self._path.read_bytes())
                if isinstance(found, dict):
                    return found
        return {}

    def store(self, facts: Mapping[str, Any]) -> None:
        """Keep facts of plain values."""
        if self._path is not None:
            write_atomically(self._path, json.dumps(facts).encode("ascii"))
