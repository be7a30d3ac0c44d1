"""Deployment files → SGLang launches with exact places.

`find_launches` reads files and folders, `read_launches` one text. Nothing in a file is executed, and
whatever is known only at run time is an unknown word with its source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgcheck.scan.model import Beside, Launch, ScanResult, Skipped, Suppression
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
        if found.path.stat().st_size > MAX_BYTES:
            if found.explicit:
                reason = f"larger than {MAX_BYTES // 1_000_000} MB"
                return Reading(skipped=(Skipped(found.shown, reason),))
            from sgcheck.scan.kinds import kind_of

            if kind_of(found.shown) is None:
                return Reading()
        with found.path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return Reading(skipped=(Skipped(found.shown, f"cannot be read: {error.strerror}"),))
    return read_launches(data, found.shown, beside=beside(found.path), explicit=found.explicit)


def beside(path: Path) -> Beside:
    """Reads the files that lie beside a file on disk, for `read_launches`."""
    return _Beside(path)


@dataclass(frozen=True, slots=True)
class _Beside:
    """Reads files by the names that a deployment file gives them, relative to its folder."""

    path: Path

    def __call__(self, name: str) -> str | None:
        if not name or "\0" in name or name.startswith("~"):
            return None
        target = self.path.parent / name
        try:
            if not target.is_file() or target.stat().st_size > MAX_BYTES:
                return None
            return target.read_text(encoding="utf-8", errors="replace")
        except (OSError, ValueError):
            return None
