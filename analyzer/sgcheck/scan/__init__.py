"""Deployment files → SGLang launches with exact places.

`find_launches` reads files and folders, `read_launches` one text. Nothing in a file is executed, and
whatever is known only at run time is an unknown word with its source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgcheck.files import TooLarge, read_regular
from sgcheck.scan.kinds import kind_of
from sgcheck.scan.model import Launch, ScanResult, Skipped, Suppression
from sgcheck.scan.near import Near
from sgcheck.scan.reading import MAX_BYTES, Reading, decode, nothing_beside, read_launches
from sgcheck.scan.walk import Found, files_below

__all__ = [
    "Launch",
    "Reading",
    "ScanConfig",
    "ScanResult",
    "Skipped",
    "beside",
    "decode",
    "find_launches",
    "nothing_beside",
    "read_launches",
]


@dataclass(frozen=True, slots=True)
class ScanConfig:
    """Settings of a scan: gitignore patterns to leave out, whether ignore files count, processes."""

    exclude: tuple[str, ...] = ()
    respect_ignore: bool = True
    jobs: int = 1


def find_launches(paths: Sequence[str | Path], *, config: ScanConfig | None = None) -> ScanResult:
    """The launches of files and folders, in the order of the paths and then by place.

    Raises `UsageError` for a path that does not exist. What cannot be read is in `skipped`.
    """
    config = config or ScanConfig()
    walk = files_below(paths, exclude=config.exclude, respect_ignore=config.respect_ignore)
    launches: list[Launch] = []
    skipped: list[Skipped] = list(walk.skipped)
    ignored: dict[str, tuple[Suppression, ...]] = {}
    for found, reading in _readings(walk.files, config.jobs):
        launches += reading.launches
        skipped += reading.skipped
        if reading.suppressions:
            ignored[found.shown] = reading.suppressions
    return ScanResult(tuple(launches), tuple(skipped), ignored, len(walk.files))


def _readings(files: Sequence[Found], jobs: int) -> Iterable[tuple[Found, Reading]]:
    if jobs > 1 and len(files) > 50:
        from concurrent.futures import ProcessPoolExecutor

        with ProcessPoolExecutor(jobs) as pool:
            yield from zip(files, pool.map(read_file, files, chunksize=16), strict=True)
        return
    for found in files:
        yield found, read_file(found)


def read_file(found: Found) -> Reading:
    """The launches of one file on disk; a fault of the file system is a skip with its reason."""
    try:
        data = read_regular(found.path, MAX_BYTES)
    except OSError as error:
        if isinstance(error, TooLarge):
            if not found.explicit and kind_of(found.shown) is None:
                return Reading()
            return Reading(skipped=(Skipped(found.shown, str(error.strerror)),))
        return Reading(skipped=(Skipped(found.shown, f"cannot be read: {error.strerror}"),))
    near = beside(found.path, found.root)
    return read_launches(data, found.shown, beside=near, explicit=found.explicit)


def beside(path: Path, root: Path | None = None) -> Near:
    """Reads the files that lie beside a file on disk, for `read_launches`; none beyond `root` (its folder)."""
    return Near(path, path.parent if root is None else root)
