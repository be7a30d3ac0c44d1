"""A tree that lies on the disk as files: a checkout, an unpacked release, an installation."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgcheck.errors import SourceError
from sgcheck.files import read_regular
from sgcheck.source import metadata as meta
from sgcheck.source.cache import Memo, Signature, is_settled, signature
from sgcheck.source.tree import (
    MAX_FILE_BYTES,
    MAX_FILES,
    PACKAGE,
    Tree,
    absent,
    combined_digest,
    is_clean,
    sha256,
    too_large,
)

if TYPE_CHECKING:
    from sgcheck.source.git import Blob

_MEMO_FORMAT = 1
_HIDDEN = "__pycache__"


class DirectoryTree(Tree):
    """The files below one `sglang` package folder.

    The disk may change while it is read. What was read once and what the digest speaks of are
    compared, so that nothing derived from new content is ever filed under an old digest.
    """

    def __init__(self, package: Path, origin: str, dist_info: Path | None = None) -> None:
        """`package` is the `sglang` folder, `dist_info` the folder with its METADATA, if known."""
        self.origin = origin
        self._package = Path(os.path.realpath(package))
        self._dist_info = dist_info or _find_dist_info(self._package)
        self._folders: dict[str, list[str] | None] = {}
        self._hashes_read: dict[str, str] = {}
        self._hashes: dict[str, str] | None = None

    # -- files -------------------------------------------------------------------------------

    def exists(self, path: str) -> bool:
        if not is_clean(path):
            return path == ""
        folder, *rest = path.split("/")
        for name in rest:
            if name not in (self._list(folder) or ()):
                return False
            folder = f"{folder}/{name}"
        return True

    def listdir(self, path: str) -> list[str]:
        if not path:
            return [PACKAGE]
        names = self._list(path) if self.exists(path) else None
        if names is None:
            raise absent(path)
        return list(names)

    def _list(self, path: str) -> list[str] | None:
        """The names in a folder that exists, sorted; None if it is a file or leaves the tree."""
        if path not in self._folders:
            place = self._place(path)
            names = None
            if self._is_inside(place):
                with contextlib.suppress(NotADirectoryError):
                    names = _names(place)
            self._folders[path] = names
        return self._folders[path]

    def read(self, path: str) -> bytes:
        if not self.exists(path):
            raise absent(path)
        place = self._place(path)
        if not self._is_inside(place):
            raise SourceError(
                f"{place} is a link that leaves the tree; sgcheck does not follow it."
            )
        try:
            with _open_now(place) as file:
                about = os.fstat(file.fileno())
                if not stat.S_ISREG(about.st_mode):
                    raise absent(path)
                if about.st_size > MAX_FILE_BYTES:
                    raise too_large(str(place), about.st_size)
                content = file.read(MAX_FILE_BYTES + 1)
        except (FileNotFoundError, IsADirectoryError):
            raise absent(path) from None
        except OSError as error:
            raise _unreadable(place, error) from error
        self._note_read(place, content)
        return content

    def _note_read(self, place: Path, content: bytes) -> None:
        real = os.path.relpath(os.path.realpath(place), self._package)
        found = sha256(content)
        expected = self._hashes_read.setdefault(real, found)
        if self._hashes is not None:
            expected = self._hashes.get(real, expected)
        if found != expected:
            raise SourceError(f"{place} changed while sgcheck was reading it; run again.")

    def _place(self, path: str) -> Path:
        return self._package / path.removeprefix(PACKAGE).removeprefix("/")

    def _is_inside(self, place: Path) -> bool:
        real = os.path.realpath(place)
        return real == str(self._package) or real.startswith(f"{self._package}{os.sep}")

    # -- version and metadata ----------------------------------------------------------------

    @cached_property
    def version(self) -> str:
        if self._metadata_file and (stated := meta.header(self._metadata_file, "Version")):
            return stated
        for path in meta.VERSION_FILES:
            if self.exists(path) and (literal := meta.literal_version(self.read(path))):
                return literal
        if self._project and (stated := meta.project_version(self._project)):
            return stated
        if self._head:
            from sgcheck.source.git import Repository

            repository = Repository(self._package)
            return repository.version_by_tags(self._head[0]) or meta.UNKNOWN
        return meta.UNKNOWN

    def metadata(self) -> str | None:
        if self._metadata_file is not None:
            return self._metadata_file
        return meta.core_metadata(self._project, self.version) if self._project else None

    @cached_property
    def _metadata_file(self) -> str | None:
        return _read_text(self._dist_info / "METADATA") if self._dist_info else None

    @cached_property
    def _project(self) -> dict[str, Any] | None:
        text = _read_text(self._package.parent / "pyproject.toml")
        return meta.read_project(text) if text is not None else None

    # -- upstream ----------------------------------------------------------------------------

    @cached_property
    def ref(self) -> str | None:
        if self._recorded is not None:
            return meta.upstream_tag(self.version)
        if self._head is None:
            return None
        from sgcheck.source.git import Repository

        return Repository(self._package).upstream_ref(self._head[0])

    def matches_upstream(self, path: str) -> bool:
        if not super().matches_upstream(path):
            return False
        try:
            content = self.read(path)
        except (FileNotFoundError, SourceError):
            return False
        if self._recorded is not None:
            return self._recorded.get(path) == hashlib.sha256(content).digest()
        if self._head is None:
            return False
        blob = self._head[1].get(path.removeprefix(f"{PACKAGE}/"))
        return blob is not None and not blob.is_link and _blob_name(content, blob.oid) == blob.oid

    @cached_property
    def _recorded(self) -> dict[str, bytes] | None:
        """The SHA-256 of each file as released, if the release's RECORD lies beside the package."""
        text = _read_text(self._dist_info / "RECORD") if self._dist_info else None
        if text is None:
            return None
        import base64
        import csv

        found = {}
        for row in csv.reader(text.splitlines()):
            if len(row) >= 2 and row[1].startswith("sha256="):
                hashed = row[1].removeprefix("sha256=")
                with contextlib.suppress(ValueError):
                    found[row[0]] = base64.urlsafe_b64decode(hashed + "=" * (-len(hashed) % 4))
        return found

    @cached_property
    def _head(self) -> tuple[str, dict[str, Blob]] | None:
        """The commit that is checked out and its files, if the folder is `python/sglang` of it."""
        if not _may_be_in_git(self._package):
            return None
        from sgcheck.source.git import Repository

        repository = Repository(self._package)
        try:
            commit = repository.commit("HEAD")
            if repository.prefix() != f"python/{PACKAGE}/":
                return None
            return commit, repository.blobs(f"{commit}:python/{PACKAGE}")
        except SourceError:
            return None

    # -- digest ------------------------------------------------------------------------------

    @cached_property
    def digest(self) -> str:
        hashes, links = self._hash_all()
        for real, found in self._hashes_read.items():
            if hashes.get(real, found) != found:
                raise SourceError(
                    f"{self._package / real} changed while sgcheck was reading it; run again."
                )
        self._hashes = hashes
        rows = [*hashes.items(), *((f"{path}@", sha256(target)) for path, target in links.items())]
        return combined_digest(
            ((f"{PACKAGE}/{path}", found) for path, found in rows), self.version, self.metadata()
        )

    def _hash_all(self) -> tuple[dict[str, str], dict[str, bytes]]:
        """The hash of each regular file and the target of each link, by path below the package."""
        memo = Memo(self._package)
        known = memo.load("files") or {}
        rows = known.get("rows") if known.get("format") == _MEMO_FORMAT else None
        before: dict[str, list[Any]] = rows if isinstance(rows, dict) else {}
        after: dict[str, list[Any]] = {}
        hashes: dict[str, str] = {}
        links: dict[str, bytes] = {}
        for count, entry in enumerate(_walk(self._package)):
            if count > MAX_FILES:
                raise SourceError(f"{self._package} has over {MAX_FILES} files; is this SGLang?")
            path = _below(entry, self._package)
            if entry.is_symlink():
                links[path] = os.fsencode(Path(entry.path).readlink())
                continue
            sign = signature(entry.stat(follow_symlinks=False))
            row = before.get(path)
            if isinstance(row, list) and row[1:] == list(sign) and isinstance(row[0], str):
                hashes[path] = row[0]
                after[path] = row
            else:
                hashes[path], settled = _hash_file(Path(entry.path), sign)
                if settled:
                    after[path] = [hashes[path], *sign]
        if after != before:
            memo.store("files", {"format": _MEMO_FORMAT, "rows": after})
        return hashes, links


def _below(entry: os.DirEntry[str], top: Path) -> str:
    return entry.path[len(str(top)) + 1 :]


def _walk(top: Path) -> Iterator[os.DirEntry[str]]:
    """All regular files and all links below a folder; links are not followed."""
    waiting = [str(top)]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        yield entry
                    elif entry.is_dir(follow_symlinks=False):
                        if entry.name != _HIDDEN:
                            waiting.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        yield entry
        except OSError as error:
            raise _unreadable(Path(folder), error) from error


def _hash_file(place: Path, sign: Signature) -> tuple[str, bool]:
    """The hash of a file, and whether its signature will tell of the next change."""
    try:
        with _open_now(place) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            unchanged = signature(os.fstat(file.fileno())) == sign
    except OSError as error:
        raise _unreadable(place, error) from error
    return found, unchanged and is_settled(sign)


def _open_now(place: Path) -> BufferedReader:
    # A named pipe would otherwise block until somebody writes to it.
    return os.fdopen(os.open(place, os.O_RDONLY | os.O_NONBLOCK), "rb")


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.name != _HIDDEN)
    except NotADirectoryError:
        raise
    except OSError as error:
        raise _unreadable(folder, error) from error


def _unreadable(place: Path, error: OSError) -> SourceError:
    return SourceError(f"{place} cannot be read ({error.strerror or error}).")


def _read_text(place: Path) -> str | None:
    try:
        return read_regular(place, MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def _find_dist_info(package: Path) -> Path | None:
    """The one `sglang-*.dist-info` beside a package; None if there is none or several."""
    try:
        found = [
            folder
            for folder in package.parent.glob(f"{PACKAGE}-*.dist-info")
            if (folder / "METADATA").is_file()
        ]
    except OSError:
        return None
    return found[0] if len(found) == 1 else None


def _may_be_in_git(package: Path) -> bool:
    return any((folder / ".git").exists() for folder in package.parents)


def _blob_name(content: bytes, like: str) -> str:
    algorithm = "sha256" if len(like) == 64 else "sha1"
    blob = hashlib.new(algorithm, b"blob %d\0" % len(content), usedforsecurity=False)
    blob.update(content)
    return blob.hexdigest()
