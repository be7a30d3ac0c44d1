"""Notes to the user while a tree is looked for: lines, and on a terminal a size that counts up."""

from __future__ import annotations

import sys
from typing import Protocol, TextIO


class Progress(Protocol):
    """Takes notes for standard error. `transient` ones are overwritten by the next."""

    def __call__(self, text: str, /, *, transient: bool = False) -> None: ...


def silent(text: str, /, *, transient: bool = False) -> None:
    """A `Progress` that says nothing."""


class StderrProgress:
    """Lines on standard error; transient notes only where that is a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._pending = 0

    def __call__(self, text: str, /, *, transient: bool = False) -> None:
        if transient and not self._stream.isatty():
            return
        wipe = "\r" + " " * self._pending + "\r" if self._pending else ""
        self._stream.write(wipe + text + ("" if transient else "\n"))
        self._stream.flush()
        self._pending = len(text) if transient else 0

    def clear(self) -> None:
        """Wipe a transient note that nothing has overwritten."""
        if self._pending:
            self._stream.write("\r" + " " * self._pending + "\r")
            self._stream.flush()
            self._pending = 0
