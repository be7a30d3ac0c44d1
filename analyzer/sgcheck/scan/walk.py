"""The files below paths given by a user: ignore files respected, links to folders not followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sgcheck.errors import UsageError
from sgcheck.scan.model import Skipped

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_IGNORE_FILES = (".gitignore", ".ignore", ".sgcheckignore")
_NEVER = frozenset(
    [
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        "__pycache__",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
        "site-packages",
    ]
)
MAX_FILES = 200_000
_MAX_IGNORE_FILE = 1_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read; `explicit` when the user named it himself. `shown` is its path for people."""

    path: Path
    shown: str
    explicit: bool


@dataclass(slots=True)
class Walk:
    """All files of a scan in order, and what could not be entered."""

    files: list[Found] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Ignore:
    """The patterns of one folder; `above` leads from that folder to the one that is walked."""

    spec: GitIgnoreSpec
    above: tuple[str, ...] = ()

    def verdict(self, parts: Sequence[str], *, folder: bool) -> bool | None:
        """True or False when a pattern speaks of the path, None when none does."""
        inner = "/".join((*self.above, *parts))
        return self.spec.check_file(inner + "/" if folder else inner).include


def files_below(
    paths: Sequence[str | Path], *, exclude: Sequence[str] = (), respect_ignore: bool = True
) -> Walk:
    """The files that `paths` name: files themselves, and all files of folders.

    `exclude` are gitignore patterns relative to each folder given. Raises `UsageError` for a path
    that does not exist.
    """
    walk = Walk()
    seen: set[str] = set()
    for given in paths:
        if not os.fspath(given):
            raise UsageError("an empty name is no file or folder; give `.` for this folder")
        path = Path(given)
        try:
            mode = path.stat().st_mode
        except (OSError, ValueError) as error:
            if not _is_link(path):
                raise UsageError(
                    f"no such file or folder: {os.fspath(given)!r}; give files, folders, or - for "
                    "standard input"
                ) from error
            reason = _reason(error)
            walk.skipped.append(Skipped(_shown(path), f"cannot be read: {reason}"))
            continue
        if stat.S_ISDIR(mode):
            _Folder(path, walk, seen, exclude, respect_ignore).walk_all()
        elif stat.S_ISREG(mode):
            _add(path, walk, seen, explicit=True)
        else:
            walk.skipped.append(Skipped(_shown(path), "not a regular file"))
    return walk


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except (OSError, ValueError):
        return False


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _shown(path: Path) -> str:
    return path.as_posix()


def _add(path: Path, walk: Walk, seen: set[str], *, explicit: bool) -> None:
    shown = _shown(path)
    if shown not in seen:
        seen.add(shown)
        walk.files.append(Found(path, shown, explicit))


class _Folder:
    """Walks one folder."""

    def __init__(
        self, top: Path, walk: Walk, seen: set[str], exclude: Sequence[str], respect: bool
    ) -> None:
        self.top = top
        self.walk = walk
        self.seen = seen
        self.respect = respect
        self.outer: list[tuple[int, _Ignore]] = []
        if respect:
            self.outer += [(0, ignore) for ignore in _ignores_above(top)]
        if exclude:
            self.outer.append((0, _Ignore(_spec(exclude))))

    def walk_all(self) -> None:
        """Add all files that no pattern ignores, folders depth first, names in order."""
        stack: list[tuple[tuple[str, ...], list[tuple[int, _Ignore]]]] = [((), self.outer)]
        while stack:
            parts, ignores = stack.pop()
            folder = self.top.joinpath(*parts)
            if self.respect:
                found = [(len(parts), ignore) for ignore in _ignores_in(folder)]
                ignores = [*ignores, *found] if found else ignores
            below: list[tuple[tuple[str, ...], list[tuple[int, _Ignore]]]] = []
            for entry in self._entries(folder):
                inner = (*parts, entry.name)
                try:
                    # A folder reached by a link is not entered, so links cannot loop.
                    is_folder = entry.is_dir(follow_symlinks=False)
                    is_file = not is_folder and entry.is_file()
                except OSError as error:
                    self._skip(self.top.joinpath(*inner), f"cannot be read: {_reason(error)}")
                    continue
                if is_folder:
                    if entry.name not in _NEVER and not _ignored(ignores, inner, folder=True):
                        below.append((inner, ignores))
                elif is_file and not _ignored(ignores, inner, folder=False):
                    _add(self.top.joinpath(*inner), self.walk, self.seen, explicit=False)
                    if len(self.walk.files) > MAX_FILES:
                        self._skip(self.top, f"more than {MAX_FILES} files")
                        return
            stack.extend(reversed(below))

    def _skip(self, path: Path, reason: str) -> None:
        self.walk.skipped.append(Skipped(_shown(path), reason))

    def _entries(self, folder: Path) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as found:
                yield from sorted(found, key=lambda e: e.name)
        except OSError as error:
            self._skip(folder, f"cannot be entered: {_reason(error)}")


def _ignored(
    ignores: Sequence[tuple[int, _Ignore]], parts: tuple[str, ...], *, folder: bool
) -> bool:
    """Whether the last pattern that speaks of the path ignores it."""
    for depth, ignore in reversed(ignores):
        verdict = ignore.verdict(parts[depth:], folder=folder)
        if verdict is not None:
            return verdict
    return False


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


def _ignores_in(folder: Path, above: tuple[str, ...] = ()) -> list[_Ignore]:
    found: list[_Ignore] = []
    for name in _IGNORE_FILES:
        try:
            with (folder / name).open(encoding="utf-8", errors="replace") as file:
                lines = file.read(_MAX_IGNORE_FILE).splitlines()
            found.append(_Ignore(_spec(lines), above))
        except (OSError, ValueError):  # no such file, or a pattern that git would not take either
            continue
    return found


def _ignores_above(top: Path) -> list[_Ignore]:
    """The ignore files between the repository's root and `top`, outermost first."""
    try:
        inside = top.resolve()
    except (OSError, RuntimeError):
        return []
    found: list[_Ignore] = []
    current = inside
    while not (current / ".git").exists():
        if current.parent == current:
            return []
        current = current.parent
        above = inside.relative_to(current).parts
        found = [*_ignores_in(current, above), *found]
    return found
