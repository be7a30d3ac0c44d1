"""Plain data between the two processes, and in files: JSON, read by the type that is expected.

Whatever is decoded consists of the named records and of exact `str`, `int`, `float`, `bool`, `None`,
`bytes`, lists, tuples, sets and dictionaries: nothing of the other side's making comes along.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

_PLAIN = b"+"
_ESCAPED = b"~"


def encode(value: Any) -> bytes:
    """`value` as bytes. Raises TypeError or ValueError for what is no plain data."""
    try:
        return _PLAIN + msgspec.json.encode(value, enc_hook=_exact)
    except UnicodeEncodeError:
        # Words of a command line may hold bytes that are no text: JSON escapes them.
        return _ESCAPED + json.dumps(msgspec.to_builtins(value, enc_hook=_exact)).encode("ascii")


def _exact(value: Any) -> Any:
    """The plain value of a tree's own kind of text or number, which does not say anything itself."""
    for kind, made in _EXACT:
        if issubclass(type(value), kind):
            return made(value)
    raise TypeError(f"{type(value).__name__} is no plain data")


_EXACT: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__index__),
    (float, float.__pos__),
    (bytes, bytes.__bytes__),
)


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)


def decode(data: bytes | memoryview, type_: Any) -> Any:
    """What `encode` was given, as a `type_`. Raises ValueError for anything else."""
    kind, content = bytes(data[:1]), data[1:]
    try:
        if kind == _PLAIN:
            return _decoder(type_).decode(content)
        if kind == _ESCAPED:
            return msgspec.convert(json.loads(bytes(content)), type_)
    except (RecursionError, MemoryError) as error:
        raise ValueError(f"too deep or too large ({type(error).__name__})") from None
    raise ValueError("of no known form")
