"""Frames through a pair of pipes: a letter, a length, and so many bytes."""

from __future__ import annotations

import os
import select
import time
from typing import NamedTuple

HEADER_BYTES = 9
MAX_TO_WORKER = 1 << 30
MAX_TO_PARENT = 64 * 1024 * 1024
"""Bytes of one frame: the answer to a launch of a whole release has some 200,000."""
_AT_ONCE = 1 << 20


class Frame(NamedTuple):
    """What was sent: a letter that says what it is, and its content."""

    kind: bytes
    content: memoryview


class ChannelEnded(Exception):
    """The other side is gone, or sends what is no frame, or nothing for too long. `why` is a word."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Channel:
    """One side. `longest` bounds the frames that come in."""

    def __init__(self, read: int, write: int, longest: int) -> None:
        self.read_end = read
        self.write_end = write
        self._longest = longest

    def send(self, kind: bytes, *parts: bytes | memoryview) -> None:
        """Send one frame. Raises ChannelEnded."""
        length = sum(map(len, parts))
        head = kind + length.to_bytes(HEADER_BYTES - 1, "little")
        if length < _AT_ONCE:
            parts = (head + b"".join(parts),)
        else:
            parts = (head, *parts)
        try:
            for part in parts:
                left = memoryview(part)
                while left:
                    left = left[os.write(self.write_end, left[:_AT_ONCE]) :]
        except OSError:
            raise ChannelEnded("gone") from None

    def receive(self, latest: float | None = None) -> Frame:
        """The next frame; `latest` is a moment of `time.monotonic`. Raises ChannelEnded."""
        head = self._take(HEADER_BYTES, latest)
        length = int.from_bytes(head[1:], "little")
        if length > self._longest:
            raise ChannelEnded("too-much")
        return Frame(bytes(head[:1]), self._take(length, latest))

    def _take(self, length: int, latest: float | None) -> memoryview:
        found = bytearray()
        while len(found) < length:
            if latest is not None and not self._comes(latest):
                raise ChannelEnded("too-late")
            try:
                some = os.read(self.read_end, min(length - len(found), _AT_ONCE))
            except OSError:
                raise ChannelEnded("gone") from None
            if not some:
                raise ChannelEnded("gone")
            found += some
        return memoryview(found).toreadonly()

    def _comes(self, latest: float) -> bool:
        left = latest - time.monotonic()
        if left <= 0:
            return False
        poll = select.poll()
        poll.register(self.read_end, select.POLLIN)
        return bool(poll.poll(left * 1000))

    def close(self) -> None:
        """Close both ends."""
        for end in (self.read_end, self.write_end):
            try:
                os.close(end)
            except OSError:
                continue


class WorkerFault(Exception):
    """A fault of sgcheck's own in the worker; `kind` is the exception's type there, a note its traceback."""

    def __init__(self, kind: str, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        if trace:
            self.add_note(f"In the worker:\n{trace}")
