"""The cache folder, and what is kept of files and trees (see `kept` for how).

Everything here works without the cache, only slower: a folder that cannot be written costs
repeated work, never an error. Only fetching a release needs it (see `releases`).
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sgcheck.source.kept import keep, kept

ENVIRONMENT_NAME = "SGCHECK_CACHE_DIR"
MAX_MEMOS = 64
FILES_OF_ONE = 3
"""Memos of so many files or folders stay; each has at most so many of them."""
RACY_NS = 2_000_000_000
"""A file that changed less than this before it was hashed may change again unseen by its times."""

Signature = tuple[int, int, int, int]
"""Size in bytes, modification and status-change times in ns, inode."""


def cache_dir() -> Path:
    """The folder for fetched releases and derived data; it need not exist yet."""
    chosen = os.environ.get(ENVIRONMENT_NAME)
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return platformdirs.user_cache_path("sgcheck")


def signature(stat: os.stat_result) -> Signature:
    """What changes whenever the content of a file may have."""
    return (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)


def is_settled(sign: Signature) -> bool:
    """Whether a later change to the file is sure to change its signature."""
    return time.time_ns() - max(sign[1], sign[2]) > RACY_NS


class Memo:
    """What is remembered of one file or folder of the disk, by name ("head", "index", …)."""

    def __init__(self, of: Path) -> None:
        import hashlib

        key = hashlib.sha256(os.fsencode(of)).hexdigest()[:32]
        self._of = os.fsdecode(of)
        self._stem = cache_dir() / "trees" / key

    def _path(self, name: str) -> Path:
        return self._stem.with_name(f"{self._stem.name}.{name}.json")

    def load(self, name: str) -> dict[str, Any] | None:
        """What `store` was given, or None if nothing (or nothing readable) is there."""
        try:
            stored = json.loads(bytes(kept(self._path(name)) or b""))
        except (ValueError, RecursionError):
            return None
        if isinstance(stored, dict) and stored.get("of") == self._of:
            return stored
        return None

    def store(self, name: str, content: Mapping[str, Any]) -> None:
        """Remember `content`, which JSON must be able to hold."""
        text = json.dumps({"of": self._of, **content}, separators=(",", ":"))
        if keep(self._path(name), text.encode()):
            _forget_oldest(self._stem.parent)


def _forget_oldest(folder: Path) -> None:
    with contextlib.suppress(OSError):
        memos = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        for path in memos[: -FILES_OF_ONE * MAX_MEMOS]:
            path.unlink(missing_ok=True)


class KeptFacts:
    """One file of JSON in `folder` (None: nothing is kept), named by a tree's digest."""

    def __init__(self, folder: Path | None, digest: str) -> None:
        name = f"{digest.removeprefix('sha256:')[:32]}.json"
        self._path = None if folder is None else folder / name

    def load(self) -> Mapping[str, Any]:
        """What was kept; nothing where it is not there or cannot be read."""
        if self._path is not None:
            with contextlib.suppress(ValueError, RecursionError):
                found = json.loads(bytes(kept(self._path) or b""))
                if isinstance(found, dict):
                    return found
        return {}

    def store(self, facts: Mapping[str, Any]) -> None:
        """Keep facts of plain values."""
        if self._path is not None:
            keep(self._path, json.dumps(facts).encode("ascii"))
