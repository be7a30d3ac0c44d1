"""Translated code as one piece of bytes: an index in front says where each entry lies.

A launch needs few of the entries; those that nobody asks for are neither copied nor unpacked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

Piece: TypeAlias = "bytes | memoryview"
Table: TypeAlias = "dict[str, Piece]"
Found: TypeAlias = tuple[str | None, bool] | None
"""Path of a module's file (None: a folder without `__init__.py`), whether it is a package; or nothing."""

_LENGTH_BYTES = 8


@dataclass(slots=True)
class Pack:
    """What is kept of one tree: modules by their file, the rest by its text."""

    files: dict[str, Found] = field(default_factory=dict)
    code: Table = field(default_factory=dict)
    conditions: Table = field(default_factory=dict)
    expressions: Table = field(default_factory=dict)
    generated: Table = field(default_factory=dict)
    registering: dict[str, bool] = field(default_factory=dict)
    """Modules by name, and whether their top level registers something."""

    def tables(self) -> tuple[Table, ...]:
        """The entries that are bytes."""
        return self.code, self.conditions, self.expressions, self.generated


class _Index(msgspec.Struct, array_like=True, frozen=True):
    files: dict[str, Found]
    spans: tuple[dict[str, tuple[int, int]], ...]
    registering: dict[str, bool]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Index).decode


def packed(pack: Pack) -> bytes:
    """A pack as bytes."""
    spans: list[dict[str, tuple[int, int]]] = []
    pieces: list[Piece] = []
    end = 0
    for table in pack.tables():
        places = {}
        for key, piece in table.items():
            begin, end = end, end + len(piece)
            places[key] = begin, end
            pieces.append(piece)
        spans.append(places)
    index = _encode(_Index(pack.files, tuple(spans), pack.registering))
    return b"".join([len(index).to_bytes(_LENGTH_BYTES, "little"), index, *pieces])


def unpacked(data: bytes | memoryview) -> Pack:
    """The pack that `packed` made `data` of. Raises ValueError for anything else."""
    whole = memoryview(data)
    start = _LENGTH_BYTES + int.from_bytes(whole[:_LENGTH_BYTES], "little")
    if len(whole) < start:
        raise ValueError("the index is cut off")
    index = _decode(whole[_LENGTH_BYTES:start])
    pack = Pack(index.files, registering=index.registering)
    if len(index.spans) != len(pack.tables()):
        raise ValueError("the index is another one")
    pieces = whole[start:]
    for table, places in zip(pack.tables(), index.spans, strict=True):
        for key, (begin, end) in places.items():
            if not 0 <= begin <= end <= len(pieces):
                raise ValueError("entries are cut off")
            table[key] = pieces[begin:end]
    return pack
