"""The sources of a tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from sgcheck.errors import SourceError
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
