"""The names of the environment variables that a tree's sources speak of."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from sgcheck.findings.sources import sources
from sgcheck.source.cache import KeptFacts
from sgcheck.source.tree import Tree

_NAME = re.compile(rb"\bSGL(?:ANG)?_[A-Z0-9_]*[A-Z0-9]\b")
_PREFIX = re.compile(rb"""["'](SGL(?:ANG)?_[A-Z0-9_]*_)["'{]""")
_OLD_PREFIX = re.compile(rb"""startswith\(["']SGL_["']\)""")
_SUFFIXES = (".py", ".sh", ".toml", ".cu", ".cuh", ".cc", ".cpp", ".h")


class KnownNames:
    """The `SGLANG_*` and `SGL_*` names of one tree. `prefixes` begin names that code puts together.

    `renames` says that the tree reads every `SGL_X` as `SGLANG_X`.
    """

    def __init__(
        self, names: frozenset[str], prefixes: tuple[str, ...] = (), *, renames: bool = False
    ) -> None:
        self.names = names
        self.prefixes = prefixes
        self.renames = renames

    def knows(self, name: str) -> bool:
        """Whether the tree's sources hold the name, its new form, or the beginning of its kind."""
        if name in self.names or name.startswith(self.prefixes):
            return True
        new = self.new_name(name)
        return new is not None and (new in self.names or new.startswith(self.prefixes))

    def new_name(self, name: str) -> str | None:
        """The name that the tree makes of an old one, None where it leaves it."""
        if not self.renames or not name.startswith("SGL_"):
            return None
        return "SGLANG_" + name.removeprefix("SGL_")

    def nearest(self, name: str) -> str | None:
        """The name that resembles a wrong one most, if any does."""
        import difflib

        found = difflib.get_close_matches(name, sorted(self.names), n=1, cutoff=0.85)
        return found[0] if found else None


@lru_cache(maxsize=16)
def _kept(digest: str, tree: Tree, folder: Path | None) -> KnownNames:
    facts = KeptFacts(folder, digest)
    data = facts.load()
    with suppress(KeyError, TypeError):
        renames = bool(data["renames"])
        return KnownNames(frozenset(data["names"]), tuple(data["prefixes"]), renames=renames)
    known = _read(tree)
    kept = {"names": sorted(known.names), "prefixes": list(known.prefixes)}
    facts.store({**kept, "renames": known.renames})
    return known


def known_names(tree: Tree, folder: Path | None = None) -> KnownNames:
    """The names in all sources of a tree; kept in `folder` by the tree's digest."""
    return _kept(tree.digest, tree, folder)


def _read(tree: Tree) -> KnownNames:
    names: set[bytes] = set()
    prefixes: set[bytes] = set()
    renames = False
    for _, content in sources(tree, _SUFFIXES):
        if b"SGL" in content:
            names.update(_NAME.findall(content))
            prefixes.update(_PREFIX.findall(content))
            renames = renames or _OLD_PREFIX.search(content) is not None
    whole = {b"SGLANG_", b"SGL_"}
    return KnownNames(
        frozenset(name.decode() for name in names),
        tuple(sorted(prefix.decode() for prefix in prefixes - whole)),
        renames=renames,
    )
