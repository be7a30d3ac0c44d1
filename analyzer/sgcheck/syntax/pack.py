"""One file of many marshalled pieces: an index in front says where each lies.

A launch needs few of the pieces; those that nobody asks for are neither copied nor unpacked.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Piece = bytes | memoryview
Table = dict[str, Piece]

_LENGTH_BYTES = 8


def read_pack(path: Path, tables: int) -> tuple[Any, list[Table]]:
    """What `write_pack` was given: the plain content, and so many tables of pieces.

    Raises OSError where the file cannot be read, ValueError, EOFError or TypeError where it is no pack.
    """
    data = path.read_bytes()
    size = int.from_bytes(data[:_LENGTH_BYTES], "little")
    start = _LENGTH_BYTES + size
    if len(data) < start:
        raise ValueError("the index is cut off")
    plain, places = marshal.loads(data[_LENGTH_BYTES:start])
    if len(places) != tables:
        raise ValueError("the index is another one")
    pieces = memoryview(data)[start:]
    found: list[Table] = []
    for spans in places:
        if any(end > len(pieces) for _, end in spans.values()):
            raise ValueError("pieces are cut off")
        found.append({key: pieces[begin:end] for key, (begin, end) in spans.items()})
    return plain, found


def write_pack(path: Path, plain: Any, tables: Iterable[Mapping[str, Piece]]) -> None:
    """Replace the file at once. Raises OSError, and leaves nothing behind then."""
    import tempfile

    places: list[dict[str, tuple[int, int]]] = []
    pieces: list[Piece] = []
    end = 0
    for table in tables:
        spans = {}
        for key, piece in table.items():
            begin, end = end, end + len(piece)
            spans[key] = begin, end
            pieces.append(piece)
        places.append(spans)
    index = marshal.dumps((plain, places))
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".pack-")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(len(index).to_bytes(_LENGTH_BYTES, "little"))
            out.write(index)
            out.writelines(pieces)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
