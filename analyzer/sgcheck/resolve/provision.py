"""What a predictor has beside the tree: translated code, and what the release requires."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sgcheck.resolve.installation import required_by
from sgcheck.source.cache import cache_dir
from sgcheck.syntax.shelf import Codes, Shelf

if TYPE_CHECKING:
    from sgcheck.source.tree import Tree
    from sgcheck_rules.packages import Requirements


class Provision(Protocol):
    """Where it comes from: this process's cache folder, or another process."""

    def codes(self, *, eager: bool, branching: bool) -> Codes: ...

    def requirements(self) -> Requirements: ...


class OnDisk:
    """Provision of a tree from the cache folder (default: sgcheck's own)."""

    def __init__(self, tree: Tree, folder: Path | None = None) -> None:
        self._tree = tree
        self._folder = folder if folder is not None else cache_dir() / "code"

    def codes(self, *, eager: bool, branching: bool) -> Codes:
        """The shelf of translated code."""
        return Shelf(self._tree, self._folder, eager=eager, branching=branching)

    def requirements(self) -> Requirements:
        """What the tree's METADATA requires."""
        return required_by(self._tree, self._folder / "requirements")
