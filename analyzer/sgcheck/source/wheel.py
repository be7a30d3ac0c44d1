"""A release wheel, read in place.

Opening costs one `stat` when the wheel was seen before: its version, digest and METADATA, and (in
further files, for the first look at its names and into a file) the names and the places of its
entries, are remembered by size, times and inode.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from sgcheck.errors import SourceError
from sgcheck.source.cache import Memo, Signature, is_settled, signature
from sgcheck.source.metadata import header, is_sglang, upstream_tag
from sgcheck.source.tree import (
    MAX_FILE_BYTES,
    MAX_FILES,
    SERVER_ARGS,
    Names,
    Tree,
    absent,
    is_clean,
    too_large,
)

if TYPE_CHECKING:
    import zipfile

MAX_WHEEL_BYTES = 2 * 1024**3
_MEMO_FORMAT = 2
_STORED, _DEFLATED = 0, 8
_LOCAL_HEADER_BYTES = 30


class Entry(NamedTuple):
    """Where a file lies in the wheel; sizes and the offset are in bytes."""

    offset: int
    packed: int
    size: int
    method: int
    crc: int


class Head(NamedTuple):
    """What is known of a wheel without looking into it again."""

    version: str
    digest: str
    metadata: str
    holds_server_args: bool


class WheelTree(Tree):
    """The `sglang/` files of one wheel. Raises SourceError if it cannot be read as one of SGLang."""

    def __init__(self, path: Path, *, hint: str = "give another wheel") -> None:
        """`hint` ends the sentence of an error: what the user can do if the wheel is no good."""
        self.origin = "wheel"
        self.path = Path(os.path.realpath(path))
        self._hint = hint
        self._signature = self._stat()
        self._memo = Memo(self.path)
        self._head = self._known_head() or self._examine()
        self._index: Mapping[str, Entry] | None = None
        self._name_index: Names | None = None

    @property
    def version(self) -> str:
        return self._head.version

    @property
    def digest(self) -> str:
        return self._head.digest

    @cached_property
    def ref(self) -> str | None:
        return upstream_tag(self.version)

    def metadata(self) -> str | None:
        return self._head.metadata

    def holds_server_args(self) -> bool:
        return self._head.holds_server_args

    def exists(self, path: str) -> bool:
        return self._names.exists(path)

    def listdir(self, path: str) -> list[str]:
        return self._names.listdir(path)

    def read(self, path: str) -> bytes:
        entry = self._entries.get(path)
        if entry is None:
            raise absent(path)
        if max(entry.size, entry.packed) > MAX_FILE_BYTES:
            raise too_large(f"{path} in {self.path}", entry.size)
        try:
            with self.path.open("rb") as file:
                if signature(os.fstat(file.fileno())) != self._signature:
                    raise SourceError(f"{self.path} changed while it was read; run again.")
                return _unpack(file, entry)
        except (OSError, ValueError, zlib.error) as error:
            raise self._damaged(f"{path} cannot be read ({error})") from error

    # -- the index ---------------------------------------------------------------------------

    @property
    def _names(self) -> Names:
        if self._name_index is None:
            known = self._known_names() if self._index is None else None
            self._name_index = Names(self._entries if known is None else known)
        return self._name_index

    @property
    def _entries(self) -> Mapping[str, Entry]:
        if self._index is None:
            self._index = self._known_index()
        if self._index is None:
            with self._open_zip() as archive:
                self._index = self._read_index(archive)
            self._store_index(self._index)
        return self._index

    def _known_head(self) -> Head | None:
        known = self._known("head")
        if known is None:
            return None
        try:
            return Head(
                str(known["version"]),
                str(known["digest"]),
                str(known["metadata"]),
                bool(known["holds_server_args"]),
            )
        except KeyError:
            return None

    def _known_index(self) -> Mapping[str, Entry] | None:
        names = self._known_names()
        known = self._known("index")
        if names is None or known is None or known.get("digest") != self.digest:
            return None
        try:
            columns = [known[field] for field in Entry._fields]
            return dict(zip(names, map(Entry, *columns), strict=True))
        except (KeyError, TypeError, ValueError):
            return None

    def _known_names(self) -> list[str] | None:
        known = self._known("names")
        names = known.get("names") if known and known.get("digest") == self.digest else None
        return names.split("\n") if isinstance(names, str) and names else None

    def _known(self, name: str) -> dict[str, Any] | None:
        known = self._memo.load(name)
        if (
            known is not None
            and known.get("format") == _MEMO_FORMAT
            and known.get("signature") == list(self._signature)
        ):
            return known
        return None

    def _store(self, name: str, content: Mapping[str, Any]) -> None:
        if is_settled(self._signature):
            stamp = {"format": _MEMO_FORMAT, "signature": self._signature}
            self._memo.store(name, {**stamp, **content})

    def _store_index(self, index: Mapping[str, Entry]) -> None:
        columns = zip(*index.values(), strict=True)
        by_field = dict(zip(Entry._fields, columns, strict=True)) if index else {}
        self._store("names", {"digest": self.digest, "names": "\n".join(index)})
        self._store("index", {"digest": self.digest, **by_field})

    # -- the first look ----------------------------------------------------------------------

    def _examine(self) -> Head:
        with self._open_zip() as archive:
            index = self._read_index(archive)
            metadata = self._read_metadata(archive)
        try:
            with self.path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise self._unreadable(error) from error
        if self._stat() != self._signature:
            raise SourceError(f"{self.path} changed while it was read; run again.")
        if not is_sglang(header(metadata, "Name")):
            name = header(metadata, "Name") or "something unnamed"
            raise SourceError(f"{self.path} is a wheel of {name}, not of sglang; {self._hint}.")
        version = header(metadata, "Version")
        if version is None:
            raise self._damaged("its METADATA has no version")
        head = Head(version, f"sha256:{digest}", metadata, SERVER_ARGS in index)
        self._head = head
        self._store("head", head._asdict())
        self._store_index(index)
        return head

    def _open_zip(self) -> zipfile.ZipFile:
        import zipfile

        try:
            return zipfile.ZipFile(self.path)
        except OSError as error:
            raise self._unreadable(error) from error
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise self._damaged(str(error)) from error

    def _read_index(self, archive: zipfile.ZipFile) -> dict[str, Entry]:
        infos = archive.infolist()
        if len(infos) > MAX_FILES:
            raise self._damaged(f"it has {len(infos)} entries")
        seen: set[str] = set()
        index: dict[str, Entry] = {}
        for info in infos:
            name = info.filename
            if _is_hostile(info.orig_filename) or _is_hostile(name):
                raise self._damaged(f"it has an entry that leaves the archive: {name!r}")
            if name in seen:
                raise self._damaged(f"it has the entry {name!r} twice")
            seen.add(name)
            if info.flag_bits & 0x1:
                raise self._damaged(f"its entry {name!r} is encrypted")
            if info.compress_type not in (_STORED, _DEFLATED):
                raise self._damaged(f"its entry {name!r} has an unusual compression")
            if not info.is_dir() and is_clean(name):
                index[name] = Entry(
                    info.header_offset,
                    info.compress_size,
                    info.file_size,
                    info.compress_type,
                    info.CRC,
                )
        return index

    def _read_metadata(self, archive: zipfile.ZipFile) -> str:
        import zipfile

        found = [
            info
            for info in archive.infolist()
            if info.filename.endswith(".dist-info/METADATA") and info.filename.count("/") == 1
        ]
        if len(found) != 1:
            raise self._damaged("it has no METADATA" if not found else "it has several METADATA")
        if found[0].file_size > MAX_FILE_BYTES:
            raise self._damaged("its METADATA is too large")
        try:
            return archive.read(found[0]).decode("utf-8", "replace")
        except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
            raise self._damaged(f"its METADATA cannot be read ({error})") from error

    def _stat(self) -> Signature:
        try:
            stat = self.path.stat()
        except OSError as error:
            raise self._unreadable(error) from error
        if not S_ISREG(stat.st_mode):
            # Opening a named pipe would wait for somebody to write into it.
            raise self._damaged("it is not a regular file")
        if stat.st_size > MAX_WHEEL_BYTES:
            raise self._damaged(f"it is {stat.st_size} bytes long")
        return signature(stat)

    def _unreadable(self, error: OSError) -> SourceError:
        return SourceError(f"{self.path} cannot be read ({error.strerror or error}); {self._hint}.")

    def _damaged(self, reason: str) -> SourceError:
        return SourceError(f"{self.path} is no usable wheel: {reason}; {self._hint}.")


def _is_hostile(name: str) -> bool:
    parts = name.split("/")
    return (
        name.startswith("/")
        or "\\" in name
        or "\0" in name
        or "\n" in name
        or ".." in parts
        or "." in parts
        or "" in parts[:-1]
    )


def _unpack(file: BinaryIO, entry: Entry) -> bytes:
    """The content of an entry whose place the zip's central directory has told before."""
    file.seek(entry.offset)
    local = file.read(_LOCAL_HEADER_BYTES)
    if len(local) != _LOCAL_HEADER_BYTES or local[:4] != b"PK\x03\x04":
        raise ValueError("its local header is damaged")
    name_bytes = int.from_bytes(local[26:28], "little")
    extra_bytes = int.from_bytes(local[28:30], "little")
    file.seek(name_bytes + extra_bytes, os.SEEK_CUR)
    content = file.read(entry.packed)
    if len(content) != entry.packed:
        raise ValueError("the archive ends too early")
    if entry.method == _DEFLATED:
        content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, entry.size + 1)
    if len(content) != entry.size or zlib.crc32(content) != entry.crc:
        raise ValueError("its checksum is wrong")
    return content
