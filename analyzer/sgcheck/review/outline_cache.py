"""Outlines kept on disk, under a name that is a hash of everything they follow from.

An entry that cannot be read or written counts as absent: the file is read again.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

import msgspec

from sgcheck.review import outline
from sgcheck.review.outline import Function
from sgcheck.source.cache import cache_dir
from sgcheck.source.kept import keep, kept


@cache
def _reader() -> bytes:
    """Changes whenever the reader does, or the Python whose `ast` it uses."""
    source = Path(outline.__file__).read_bytes()
    return hashlib.sha256(f"{sys.version_info[:3]}".encode() + source).digest()


def _entry(file: str, content: bytes) -> Path:
    digest = hashlib.sha256(_reader())
    digest.update(file.encode("utf-8", "surrogateescape") + b"\0")
    digest.update(content)
    name = digest.hexdigest()
    return cache_dir() / "outlines" / name[:2] / f"{name[2:40]}.outline"


def load(file: str, content: bytes) -> list[Function] | None:
    """The functions of a file that was read before, in their order; None if it was not."""
    try:
        packed = kept(_entry(file, content))
        return msgspec.msgpack.decode(packed or b"", type=list[Function])
    except ValueError:
        return None


def store(file: str, content: bytes, functions: list[Function]) -> None:
    """Keep the functions of a file."""
    keep(_entry(file, content), msgspec.msgpack.encode(functions))
