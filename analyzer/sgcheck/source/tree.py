"""What every source tree can do, and the two trees that live in memory."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache

from sgcheck.errors import SourceError

PACKAGE = "sglang"
SERVER_ARGS = "sglang/srt/server_args.py"
UPSTREAM = "https://github.com/sgl-project/sglang"
MAX_FILE_BYTES = 16 * 1024 * 1024
"""No file of SGLang that can be analysed comes near this; what is larger is refused unread."""
MAX_FILES = 200_000


class Tree(ABC):
    """The text of one SGLang version. Paths are relative to the folder that holds `sglang/`.

    Only what lies under `sglang/` belongs to a tree; `__pycache__` does not. Paths use `/`, have no
    `.` or `..` parts and match letter case exactly on every system.
    """

    origin: str
    """"wheel", "checkout", "directory", "git", "installed" or "memory"."""

    @property
    @abstractmethod
    def version(self) -> str:
        """SGLang's version such as "0.5.23", or "unknown"."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """ "sha256:…" of everything that `read`, `version` and `metadata` can answer."""

    @property
    @abstractmethod
    def ref(self) -> str | None:
        """The upstream tag ("v0.5.23") or commit that permalinks name; None if unknown."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """The bytes of a file.

        Raises FileNotFoundError if the tree has no such file, and SourceError if it has one that
        must not or cannot be read (too large, damaged, a link that leaves the tree).
        """

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether the tree has a file or folder of that name."""

    @abstractmethod
    def listdir(self, path: str) -> list[str]:
        """The names directly below a folder ("" is the top), sorted.

        Raises FileNotFoundError if the tree has no such folder.
        """

    @abstractmethod
    def metadata(self) -> str | None:
        """The core metadata (METADATA) with the release's requirements; None if there is none."""

    def close(self) -> None:  # noqa: B027 - most trees keep nothing open
        """Give back what reading keeps open; a later `read` opens it again."""

    def permalink(self, path: str, line: int, end_line: int | None = None) -> str | None:
        """The address of a line (from 1) upstream; None unless the file there is the same."""
        ref = self.ref
        if ref is None or not self.matches_upstream(path):
            return None
        return link(ref, path, line, end_line)

    def matches_upstream(self, path: str) -> bool:
        """Whether the file is known to be the one that `ref` names upstream."""
        return is_clean(path) and path not in GENERATED and self.exists(path)

    def is_package(self, path: str) -> bool:
        """Whether a folder is a regular package (has an `__init__.py`).

        Many folders of SGLang, `sglang/srt` first, have none: those are namespace packages.
        """
        return self.exists(f"{path}/__init__.py")

    def holds_server_args(self) -> bool:
        """Whether there is anything to analyse."""
        return self.exists(SERVER_ARGS)


GENERATED = frozenset({"sglang/_version.py"})
"""Written when a release is built: in wheels, not in the repository."""


def link(ref: str, path: str, line: int, end_line: int | None = None) -> str:
    """The upstream address of `path` at `ref`; lines count from 1, `end_line` is included."""
    last = f"-L{end_line}" if end_line is not None and end_line != line else ""
    return f"{_address(ref, path)}#L{line}{last}"


@lru_cache(maxsize=4096)
def _address(ref: str, path: str) -> str:
    from urllib.parse import quote

    return f"{UPSTREAM}/blob/{quote(ref)}/python/{quote(path)}"


def is_clean(path: str) -> bool:
    """Whether a path names something under `sglang/` without detours."""
    parts = path.split("/")
    return (
        parts[0] == PACKAGE
        and "\0" not in path
        and not any(part in ("", ".", "..", "__pycache__") for part in parts)
    )


def absent(path: str) -> FileNotFoundError:
    """The error of `read` and `listdir` for a path that the tree does not have."""
    return FileNotFoundError(f"the SGLang tree has no {path!r}")


def too_large(what: str, size: int) -> SourceError:
    """The error of `read` for a file of `size` bytes that is over the limit."""
    return SourceError(
        f"{what} is {size} bytes long, more than the {MAX_FILE_BYTES} that sgcheck reads of one "
        "file; is this tree SGLang's?"
    )


KEPT_FOLDERS = 10_000
"""Answers about folders that one tree remembers."""


class Names:
    """The names of a tree's files, asked as a hierarchy of folders."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = frozenset(files)
        self._folders: dict[str, bool] = {}

    @cached_property
    def _text(self) -> str:
        # No name of a tree's file holds this separator.
        return "\0" + "\0".join(self.files)

    def is_folder(self, path: str) -> bool:
        """Whether a file lies somewhere below this path."""
        found = self._folders.get(path)
        if found is None:
            found = "\0" not in path and f"\0{path}/" in self._text
            if len(self._folders) < KEPT_FOLDERS:
                self._folders[path] = found
        return found

    def exists(self, path: str) -> bool:
        return path in self.files or self.is_folder(path)

    def listdir(self, path: str) -> list[str]:
        """As `Tree.listdir`."""
        if path and not self.is_folder(path):
            raise absent(path)
        prefix = f"{path}/" if path else ""
        start = len(prefix)
        return sorted(
            {name[start:].partition("/")[0] for name in self.files if name.startswith(prefix)}
        )


class MemoryTree(Tree):
    """A tree whose files are in memory."""

    origin = "memory"

    def __init__(
        self, files: Mapping[str, bytes], version: str = "0.0.0", metadata: str | None = None
    ) -> None:
        for path in files:
            if not is_clean(path):
                raise ValueError(f"{path!r} is no path under {PACKAGE}/")
        self._files = dict(files)
        self._names = Names(files)
        self._version = version
        self._metadata = metadata

    @property
    def version(self) -> str:
        return self._version

    @cached_property
    def digest(self) -> str:
        rows = ((path, sha256(content)) for path, content in self._files.items())
        return combined_digest(rows, self._version, self._metadata)

    @property
    def ref(self) -> str | None:
        return None

    def read(self, path: str) -> bytes:
        try:
            return self._files[path]
        except KeyError:
            raise absent(path) from None

    def exists(self, path: str) -> bool:
        return self._names.exists(path)

    def listdir(self, path: str) -> list[str]:
        return self._names.listdir(path)

    def metadata(self) -> str | None:
        return self._metadata


class OverlayTree(Tree):
    """Another tree with some files replaced or added."""

    def __init__(self, base: Tree, files: Mapping[str, bytes]) -> None:
        self._base = base
        self._top = MemoryTree(files)
        self.origin = base.origin

    @property
    def version(self) -> str:
        return self._base.version

    @cached_property
    def digest(self) -> str:
        parts = {"base": self._base.digest, "top": self._top.digest}
        rows = ((name, sha256(digest.encode())) for name, digest in parts.items())
        return combined_digest(rows, "overlay", None)

    @property
    def ref(self) -> str | None:
        return self._base.ref

    def read(self, path: str) -> bytes:
        try:
            return self._top.read(path)
        except FileNotFoundError:
            return self._base.read(path)

    def exists(self, path: str) -> bool:
        return self._top.exists(path) or self._base.exists(path)

    def listdir(self, path: str) -> list[str]:
        names: set[str] = set()
        missing = 0
        for tree in (self._top, self._base):
            try:
                names.update(tree.listdir(path))
            except FileNotFoundError:
                missing += 1
        if missing == 2:
            raise absent(path)
        return sorted(names)

    def metadata(self) -> str | None:
        return self._base.metadata()

    def close(self) -> None:
        self._base.close()

    def matches_upstream(self, path: str) -> bool:
        return not self._top.exists(path) and self._base.matches_upstream(path)


def memory_tree(
    files: Mapping[str, bytes], version: str = "0.0.0", metadata: str | None = None
) -> Tree:
    """A tree over `{path: content}`; raises ValueError for a path outside `sglang/`."""
    return MemoryTree(files, version, metadata)


def overlay(tree: Tree, files: Mapping[str, bytes]) -> Tree:
    """`tree` with some files replaced or added; its digest differs, its version does not."""
    return OverlayTree(tree, files)


def sha256(content: bytes) -> str:
    """The hexadecimal SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def combined_digest(rows: Iterable[tuple[str, str]], version: str, metadata: str | None) -> str:
    """One "sha256:…" of the (path, hexadecimal hash) rows in any order, version and metadata."""
    whole = hashlib.sha256()
    head = [("version", sha256(version.encode()))]
    if metadata is not None:
        head.append(("metadata", sha256(metadata.encode("utf-8", "surrogateescape"))))
    for path, content in [*head, *sorted(rows)]:
        whole.update(path.encode("utf-8", "surrogateescape") + b"\0" + content.encode() + b"\n")
    return f"sha256:{whole.hexdigest()}"
