"""Releases in the cache: `<cache>/releases/<version>/` with the wheel and what was fetched."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from pathlib import Path
from typing import NamedTuple

from sgcheck.errors import SourceError
from sgcheck.source.cache import cache_dir
from sgcheck.source.metadata import release_number
from sgcheck.source.progress import Progress, StderrProgress
from sgcheck.source.wheel import WheelTree

RECORD = "fetched.json"
"""Beside each wheel: its SHA-256 as it was when it was fetched and verified."""


SWAP_TRIES = 20
SWAP_S = 0.05


class CachedRelease(NamedTuple):
    """A release that needs no network any more; `size` in bytes."""

    version: str
    path: Path
    size: int


def releases_dir() -> Path:
    """The folder of the fetched releases; it need not exist yet."""
    return cache_dir() / "releases"


def list_cached() -> list[CachedRelease]:
    """The fetched releases, oldest first."""
    found = []
    with contextlib.suppress(OSError):
        for folder in releases_dir().iterdir():
            path = wheel_in(folder) if release_number(folder.name) else None
            if path is not None:
                with contextlib.suppress(OSError):
                    found.append(CachedRelease(folder.name, path, path.stat().st_size))
    return sorted(found, key=lambda release: by_number(release.version))


def by_number(version: str) -> tuple[tuple[int, ...], tuple[int, int]]:
    """A sort key for release numbers: 0.5.4rc1 < 0.5.4 < 0.5.4.post3 < 0.5.10."""
    match = re.match(r"[\d.]*\d", version)
    numbers = tuple(map(int, match.group().split("."))) if match else ()
    suffix = re.search(r"(a|b|rc|\.post)(\d+)$", version)
    stages = {"a": -3, "b": -2, "rc": -1, ".post": 1}
    stage = (stages[suffix.group(1)], int(suffix.group(2))) if suffix else (0, 0)
    return (numbers, stage)


def wheel_in(folder: Path) -> Path | None:
    """The wheel in a release's folder."""
    return min(folder.glob("sglang-*.whl"), default=None)


def fetch(
    version: str,
    *,
    offline: bool = False,
    refresh: bool = False,
    progress: Progress | None = None,
) -> Path:
    """The path of a release's wheel in the cache, fetched through pip if it is not there.

    `refresh` fetches it again; `offline` never does. `progress` takes the notes (default: standard
    error). Raises SourceError if the release does not exist or cannot be had.
    """
    return fetch_tree(version, offline=offline, refresh=refresh, progress=progress).path


def fetch_tree(
    version: str,
    *,
    offline: bool = False,
    refresh: bool = False,
    progress: Progress | None = None,
) -> WheelTree:
    """As `fetch`, opened."""
    number = release_number(version)
    if number is None:
        raise SourceError(f"{version!r} is no SGLang release number such as 0.5.23.")
    folder = releases_dir() / number
    note = progress or StderrProgress()
    existed = folder.exists()
    if not refresh:
        try:
            tree = _open_cached(folder)
        except SourceError as error:
            if offline:
                raise
            note(str(error))
            tree = None
        if tree is not None:
            return tree
    if offline:
        cached = ", ".join(release.version for release in list_cached())
        raise SourceError(
            f"SGLang {number} is not in the cache ({releases_dir()}) and nothing is fetched offline; "
            f"run `sgcheck fetch {number}` once with a network"
            + (f", or use a cached release: {cached}." if cached else ".")
        )
    from sgcheck.source.download import download

    # What was there before is either to be refreshed or was found to be no good.
    try:
        download(number, folder, replace=existed, progress=note)
    finally:
        if isinstance(note, StderrProgress):
            note.clear()
    for _ in range(SWAP_TRIES):
        tree = _open_cached(folder)
        if tree is not None:
            return tree
        time.sleep(SWAP_S)  # another process is replacing it by its own
    raise SourceError(f"{folder} vanished while it was fetched; run again.")


def _open_cached(folder: Path) -> WheelTree | None:
    path = wheel_in(folder)
    if path is None:
        return None
    hint = f"delete {folder} and run again with a network"
    tree = WheelTree(path, hint=hint)
    try:
        expected = json.loads((folder / RECORD).read_bytes())["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        expected = None
    if tree.digest != expected or tree.version != folder.name:
        raise SourceError(f"{path} is no longer the wheel that was fetched; {hint}.")
    return tree


def writable_releases_dir() -> Path:
    """`releases_dir`, made if need be; raises SourceError where that is not possible."""
    folder = releases_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK | os.X_OK)
        reason = "no permission"
    except OSError as error:
        writable, reason = False, error.strerror or str(error)
    if not writable:
        raise SourceError(
            f"the cache folder {folder} cannot be written ({reason}); set SGCHECK_CACHE_DIR to one "
            "that can, or give --sglang a wheel or directory."
        )
    return folder
