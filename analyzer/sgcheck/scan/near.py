"""The files that a deployment file names, read where they lie inside of what is scanned.

A scanned file may be anybody's, and what it names reaches the report. So no absolute name is followed, none
that leaves the scanned folder, by `..` or by a link, and nothing that is no regular file. Each name that was
not followed is kept with its reason.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from sgcheck.files import NotRegular, TooLarge, read_regular

MAX_BYTES = 4_000_000
"""What one scanned file is read with, all files that it names together."""
MAX_FILES = 100
_SHOWN = 200
_NOT_WORTH_SAYING = 50


@dataclass(slots=True)
class Near:
    """Reads files by the names that the file at `path` gives them, relative to its folder.

    `root` is the folder beyond which nothing is read. `refused` has the names that were not followed.
    """

    path: Path
    root: Path
    refused: dict[str, str] = field(default_factory=dict)
    _texts: dict[str, str | None] = field(default_factory=dict)
    _left: int = MAX_BYTES

    def __call__(self, name: str) -> str | None:
        """The text of a file; None where there is none or it may not be read."""
        if name not in self._texts:
            if len(self._texts) >= MAX_FILES:
                self._refuse(name, f"more than {MAX_FILES} files are named")
                return None
            self._texts[name] = self._read(name)
        return self._texts[name]

    def _read(self, name: str) -> str | None:
        if not name or "\0" in name:
            return None
        if name.startswith(("/", "~")) or Path(name).is_absolute():
            self._refuse(name, "an absolute name: only files of the scanned folder are read")
            return None
        try:
            root = os.path.realpath(self.root)
            folder = os.path.realpath(self.path.parent)
            target = os.path.realpath(os.path.join(folder, name))  # noqa: PTH118
            if not is_inside(target, root):
                leaves = is_inside(os.path.normpath(os.path.join(folder, name)), root)  # noqa: PTH118
                way = "it is a link that leaves" if leaves else "it lies outside of"
                self._refuse(name, f"{way} the scanned folder")
                return None
            data = read_regular(target, self._left)
        except NotRegular as error:
            self._refuse(name, str(error.strerror))
        except TooLarge:
            size = f"{MAX_BYTES // 1_000_000} MB"
            self._refuse(name, f"with the other files that are named it is larger than {size}")
        except (OSError, ValueError):
            pass
        else:
            self._left -= len(data)
            return data.decode("utf-8", "replace")
        return None

    def _refuse(self, name: str, reason: str) -> None:
        if len(self.refused) < _NOT_WORTH_SAYING:
            self.refused.setdefault(name[:_SHOWN], reason)


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it; both without links and detours."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
