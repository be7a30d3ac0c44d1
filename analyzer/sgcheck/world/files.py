"""The virtual file system: the model's folder, what the launch itself writes, what the host may have."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import EngineSignal, Escape
from sgcheck.values.unknown import Unknown
from sgcheck.world.host import CWD, FILE, FOLDER, Host

HOME = "/home/user"
TMP = "/tmp"
SITE = "/usr/local/lib/python3.12/dist-packages"
"""Where the tree seems to be installed."""


class UnknownFile(EngineSignal):
    """A file of an unknown model, or of the host, is read: `content` is what parsing it gives."""

    def __init__(self, content: Any, path: str, reason: Reason | None = None) -> None:
        super().__init__(path)
        self.content = content
        self.reason = reason or Reason("model-unknown", detail=path)


class Files:
    """Paths to bytes. Relative paths start at `CWD`; folders exist because files lie below them."""

    def __init__(self) -> None:
        self.content: dict[str, bytes | None] = {}
        self.folders: dict[str, bool] = {
            "/": True,
            HOME: True,
            TMP: True,
            CWD: True,
            "/dev": True,
            "/dev/shm": True,
        }

        self.unrecorded: dict[str, bool] = {}
        """Folders whose checkpoint brings Python code of which nothing is recorded."""
        self.asked = 0
        """How often a path was looked at."""
        self.tree: Any = None
        """The source tree (`read`, `exists`), shown below `SITE`."""
        self.unknown: Any = None
        """The models of which nothing is known (`unknown_model.UnknownModels`), or None."""
        self.host = Host()
        """What is assumed of all other paths."""
        self.mounted: dict[str, bool] = {}
        """The folders whose files are all known."""

    def _unknown(self, path: Any) -> str | None:
        if self.unknown is None:
            return None
        full = self.absolute(path)
        if full in self.content:
            return None
        return full if self.unknown.label(full) is not None else None

    def absolute(self, path: Any) -> str:
        """The normal absolute form of a path."""
        self.asked += 1
        text = path if isinstance(path, str) else str(path)
        return posixpath.normpath(posixpath.join(CWD, text)) if text else ""

    def mount(
        self, path: str, files: Mapping[str, bytes], listing: Mapping[str, int | None] | None = None
    ) -> None:
        """Put a folder's files at `path`; names of `listing` without content exist but cannot be read."""
        base = self.absolute(path)
        self._folder(base)
        self.mounted[base] = True
        for name in listing or ():
            self.content.setdefault(posixpath.join(base, name), None)
            self._folder(posixpath.dirname(posixpath.join(base, name)))
        for name, data in files.items():
            self.content[posixpath.join(base, name)] = data
            self._folder(posixpath.dirname(posixpath.join(base, name)))

    def lacks_code(self, path: Any) -> bool:
        """Whether the checkpoint at a path brings Python code of which nothing is recorded."""
        return self.absolute(path) in self.unrecorded

    def _folder(self, path: str) -> None:
        while path not in self.folders:
            if R.journal is not None:
                R.journal.item(self.folders, path)
            self.folders[path] = True
            path = posixpath.dirname(path)

    def _in_tree(self, path: Any) -> str | None:
        full = self.absolute(path)
        return (
            full[len(SITE) + 1 :] if self.tree is not None and full.startswith(SITE + "/") else None
        )

    def _on_host(self, full: str) -> Any:
        """What a path is on the host: `file`, `folder`, None, or a question whether it is there."""
        if any(full.startswith(base + "/") for base in self.mounted):
            return None
        found = self.host.kind(full)
        if found is not None:
            return found
        if self.host.device(full):
            return FOLDER
        return self.host.question(full) if self.host.inside(full) else None

    def isfile(self, path: Any) -> Any:
        inside = self._in_tree(path)
        if inside is not None:
            return inside.rpartition("/")[2].count(".") > 0 and self.tree.exists(inside)
        unknown = self._unknown(path)
        if unknown is not None:
            return (
                False if self.unknown.inside(unknown) == "" else self.unknown.file_exists(unknown)
            )
        full = self.absolute(path)
        if full in self.content:
            return True
        kind = None if full in self.folders else self._on_host(full)
        return kind if isinstance(kind, Unknown | bool) else kind == FILE

    def isdir(self, path: Any) -> Any:
        inside = self._in_tree(path)
        if inside is not None:
            return not self.isfile(path) and self.tree.exists(inside)
        unknown = self._unknown(path)
        if unknown is not None and self.unknown.inside(unknown) == "":
            return True
        full = self.absolute(path)
        if full in self.folders:
            return True
        kind = None if full in self.content else self._on_host(full)
        return kind if isinstance(kind, Unknown | bool) else kind == FOLDER

    def exists(self, path: Any) -> Any:
        inside = self._in_tree(path)
        if inside is not None:
            return self.tree.exists(inside)
        unknown = self._unknown(path)
        if unknown is not None:
            return self.unknown.file_exists(unknown)
        full = self.absolute(path)
        if full in self.content or full in self.folders:
            return True
        kind = self._on_host(full)
        return kind if isinstance(kind, Unknown | bool) else kind is not None

    def listdir(self, path: Any) -> list[str]:
        """Names below a folder, sorted. Raises FileNotFoundError or NotADirectoryError."""
        base = self.absolute(path)
        inside = self._in_tree(path)
        if inside is not None:
            return sorted(self.tree.listdir(inside))
        if self._unknown(path) is not None:
            raise Escape(Reason("model-unknown", detail="the files of the model's folder"))
        if base not in self.folders and self.isdir(path) is True:
            return self.host.listing(base)
        if base not in self.folders:
            kind = NotADirectoryError if base in self.content else FileNotFoundError
            raise kind(
                2 if kind is FileNotFoundError else 20, "No such file or directory", str(path)
            )
        prefix = base.rstrip("/") + "/"
        names = {
            p[len(prefix) :].split("/")[0]
            for p in (*self.content, *self.folders)
            if p.startswith(prefix) and p != prefix
        }
        return sorted(n for n in names if n)

    def read(self, path: Any) -> bytes | None:
        """Content of a file; None when it exists but its content is not at hand."""
        full = self.absolute(path)
        inside = self._in_tree(path)
        if inside is not None:
            data: bytes = self.tree.read(inside)
            return data
        unknown = self._unknown(path)
        if unknown is not None:
            raise UnknownFile(self.unknown.content(unknown), unknown)
        if full not in self.content:
            if full in self.folders:
                raise IsADirectoryError(21, "Is a directory", str(path))
            kind = self._on_host(full)
            if kind == FOLDER:
                raise IsADirectoryError(21, "Is a directory", str(path))
            if kind is not None:
                reason = Reason("host-file-unknown", detail=full)
                raise UnknownFile(Unknown(reason, f"the content of {full}"), full, reason)
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return self.content[full]

    def read_text(self, path: Any) -> str:
        """Content of a text file. Raises FileNotFoundError."""
        data = self.read(path)
        if data is None:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return data.decode("utf-8")

    def write(self, path: Any, data: bytes) -> None:
        full = self.absolute(path)
        if R.journal is not None:
            R.journal.item(self.content, full)
        self.content[full] = data
        self._folder(posixpath.dirname(full))

    def makedirs(self, path: Any) -> None:
        self._folder(self.absolute(path))

    def remove(self, path: Any) -> None:
        full = self.absolute(path)
        if full not in self.content:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        if R.journal is not None:
            R.journal.container(self.content)
        del self.content[full]
