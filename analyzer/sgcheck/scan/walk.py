"""The files below paths given by a user: ignore files respected, links to folders not followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sgcheck.errors import UsageError
from sgcheck.scan.ignoring import Ignore, Ignores, is_tame
from sgcheck.scan.model import Skipped
from sgcheck.scan.near import is_inside

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

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
MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read; `explicit` when the user named it himself. `shown` is its path for people.

    `root` is the folder that is scanned: beyond it no file that this one names is read.
    """

    path: Path
    shown: str
    explicit: bool
    root: Path


@dataclass(slots=True)
class Walk:
    """All files of a scan in order, and what could not be entered."""

    files: list[Found] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


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
            _add(path, walk, seen, path.parent, explicit=True)
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


def _add(path: Path, walk: Walk, seen: set[str], root: Path, *, explicit: bool) -> None:
    shown = _shown(path)
    if shown not in seen:
        seen.add(shown)
        walk.files.append(Found(path, shown, explicit, root))


class _Folder:
    """Walks one folder."""

    def __init__(
        self, top: Path, walk: Walk, seen: set[str], exclude: Sequence[str], respect: bool
    ) -> None:
        self.top = top
        self.walk = walk
        self.seen = seen
        self.respect = respect
        self.real = os.path.realpath(top)
        self.ignores = Ignores(walk.skipped)
        self.outer: list[tuple[int, Ignore]] = []
        if respect:
            self.outer += [(0, ignore) for ignore in self.ignores.above(top)]
        if exclude:
            self.outer.append((0, Ignore(self._excluded(exclude))))

    def walk_all(self) -> None:
        """Add all files that no pattern ignores, folders depth first, names in order."""
        stack: list[tuple[tuple[str, ...], list[tuple[int, Ignore]]]] = [((), self.outer)]
        while stack:
            parts, ignores = stack.pop()
            folder = self.top.joinpath(*parts)
            if self.respect:
                found = [(len(parts), ignore) for ignore in self.ignores.of_folder(folder)]
                ignores = [*ignores, *found] if found else ignores
            below: list[tuple[tuple[str, ...], list[tuple[int, Ignore]]]] = []
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
                    if entry.name in _NEVER or self._ignored(ignores, inner, folder=True):
                        continue
                    if len(inner) > MAX_DEPTH:
                        self._skip(folder, f"more than {MAX_DEPTH} folders deep")
                        break
                    below.append((inner, ignores))
                elif is_file and not self._ignored(ignores, inner, folder=False):
                    if entry.is_symlink() and not is_inside(os.path.realpath(entry), self.real):
                        reason = "a link that leaves the scanned folder"
                        self._skip(self.top.joinpath(*inner), reason)
                        continue
                    path = self.top.joinpath(*inner)
                    _add(path, self.walk, self.seen, self.top, explicit=False)
                    if len(self.walk.files) > MAX_FILES:
                        self._skip(self.top, f"more than {MAX_FILES} files")
                        return
            stack.extend(reversed(below))

    def _ignored(
        self, ignores: list[tuple[int, Ignore]], parts: tuple[str, ...], *, folder: bool
    ) -> bool:
        return self.ignores.ignored(ignores, parts, folder=folder)

    @staticmethod
    def _excluded(patterns: Sequence[str]) -> GitIgnoreSpec:
        from pathspec import GitIgnoreSpec

        for pattern in patterns:
            if not is_tame(pattern):
                raise UsageError(
                    f"the pattern {pattern!r} of files to leave out has too many wildcards; write several"
                )
        try:
            return GitIgnoreSpec.from_lines(patterns)
        except ValueError as error:
            raise UsageError(f"a pattern of files to leave out is none: {error}") from error

    def _skip(self, path: Path, reason: str) -> None:
        self.walk.skipped.append(Skipped(_shown(path), reason))

    def _entries(self, folder: Path) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as found:
                yield from sorted(found, key=lambda e: e.name)
        except OSError as error:
            self._skip(folder, f"cannot be entered: {_reason(error)}")
