"""The patterns of ignore files, which are as much anybody's as the files that they leave out."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sgcheck.files import NotRegular, TooLarge, read_regular
from sgcheck.scan.model import Skipped

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ignore", ".sgcheckignore")
MAX_BYTES = 1_000_000
MAX_PATTERNS = 20_000
MAX_SECONDS = 10.0
"""Processor time for matching the names of one scan."""
_STARS_OF_A_SEGMENT, _STARS = 3, 5
_STARS_IN_A_ROW = re.compile(r"\*+")


def is_tame(pattern: str) -> bool:
    """Whether matching a pattern takes bounded time: each `*` multiplies it by the length of the name."""
    segments = [_STARS_IN_A_ROW.sub("*", part) for part in pattern.split("/")]
    stars = [part.count("*") for part in segments]
    return max(stars) <= _STARS_OF_A_SEGMENT and sum(stars) <= _STARS


@dataclass(frozen=True, slots=True)
class Ignore:
    """The patterns of one folder; `above` leads from that folder to the one that is walked."""

    spec: GitIgnoreSpec
    above: tuple[str, ...] = ()

    def verdict(self, parts: Sequence[str], *, folder: bool) -> bool | None:
        """True or False when a pattern speaks of the path, None when none does."""
        inner = "/".join((*self.above, *parts))
        return self.spec.check_file(inner + "/" if folder else inner).include


@dataclass(slots=True)
class Ignores:
    """Reads ignore files and asks them, within bounds; what was not read or asked is in `skipped`."""

    skipped: list[Skipped] = field(default_factory=list)
    patterns: int = 0
    seconds: float = 0.0
    spent: bool = False

    def spec(self, lines: Iterable[str], where: str) -> GitIgnoreSpec:
        """The patterns that can be matched in bounded time. Raises ValueError as pathspec does."""
        from pathspec import GitIgnoreSpec

        kept = [line for line in lines if line.strip() and not line.startswith("#")]
        tame = [line for line in kept if is_tame(line)]
        if len(tame) < len(kept):
            self._say(where, f"{len(kept) - len(tame)} of its patterns have too many wildcards")
        room = MAX_PATTERNS - self.patterns
        if len(tame) > room:
            self._say(where, f"more than {MAX_PATTERNS} patterns in all; the others do not count")
        self.patterns += min(len(tame), room)
        return GitIgnoreSpec.from_lines(tame[:room])

    def of_folder(self, folder: Path, above: tuple[str, ...] = ()) -> list[Ignore]:
        """The ignore files of a folder."""
        found: list[Ignore] = []
        for name in IGNORE_FILES:
            path = folder / name
            try:
                text = read_regular(path, MAX_BYTES).decode("utf-8", "replace")
                spec = self.spec(text.splitlines(), path.as_posix())
            except (NotRegular, TooLarge) as error:
                self._say(path.as_posix(), f"cannot be read: {error.strerror}")
            except (OSError, ValueError):
                continue  # no such file, or a pattern that git would not take either
            else:
                if len(spec):
                    found.append(Ignore(spec, above))
        return found

    def above(self, top: Path) -> list[Ignore]:
        """The ignore files between the repository's root and `top`, outermost first."""
        try:
            inside = top.resolve()
        except (OSError, RuntimeError):
            return []
        found: list[Ignore] = []
        current = inside
        while not (current / ".git").exists():
            if current.parent == current:
                return []
            current = current.parent
            found = [*self.of_folder(current, inside.relative_to(current).parts), *found]
        return found

    def ignored(
        self, ignores: Sequence[tuple[int, Ignore]], parts: tuple[str, ...], *, folder: bool
    ) -> bool:
        """Whether the last pattern that speaks of the path ignores it."""
        if not ignores or self.spent:
            return False
        begin = time.process_time()
        verdict = None
        for depth, ignore in reversed(ignores):
            verdict = ignore.verdict(parts[depth:], folder=folder)
            if verdict is not None:
                break
        self.seconds += time.process_time() - begin
        if self.seconds > MAX_SECONDS:
            self.spent = True
            self._say("/".join(parts), "ignore files take too long; from here on they do not count")
        return bool(verdict)

    def _say(self, where: str, reason: str) -> None:
        self.skipped.append(Skipped(where, reason))
