"""Translating in a process of its own, which no code of a tree has ever run in.

So what is kept as a tree's translated code is what its text says, whatever the tree does, and may serve
another tree that has the same file.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from sgcheck.errors import WorkerEnded
from sgcheck.resolve.resolution import Reason
from sgcheck.sandbox.codec import decode, encode
from sgcheck.sandbox.process import Process
from sgcheck.sandbox.protocol import Setup
from sgcheck.syntax import translation
from sgcheck.syntax.translation import Translated


class Text(Struct, frozen=True, array_like=True):
    """What is to be translated: a module's `source`, or a `text`."""

    what: Literal["module", "expression", "generated"]
    source: bytes = b""
    text: str = ""
    path: str = ""
    name: str = ""
    is_package: bool = False
    eager: bool = False
    branching: bool = False


class Outcome(Struct, frozen=True, array_like=True):
    """Code, or the exception that translating ends with."""

    code: bytes = b""
    module: Translated | None = None
    kind: str = ""
    message: str = ""


class NotTranslated(Exception):
    """An exception of the translator: the name of its type, and what it says."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def translated(content: memoryview) -> bytes:
    """In the worker: the answer to one call."""
    asked: Text = decode(content, Text)
    if asked.what == "module":
        made = translation.module(
            asked.source,
            asked.path,
            asked.name,
            asked.is_package,
            eager=asked.eager,
            branching=asked.branching,
        )
        return encode(Outcome(module=made))
    step = translation.expression if asked.what == "expression" else translation.generated
    try:
        return encode(Outcome(code=step(asked.text)))
    except Exception as error:
        return encode(Outcome(kind=type(error).__name__, message=str(error)))


class Translator:
    """In the parent: translates through the process, which is started when it is first needed."""

    def __init__(self) -> None:
        self._process: Process | None = None

    def _ask(self, text: Text) -> Outcome:
        if self._process is None:
            self._process = Process("translate", Setup("translate"))
        try:
            outcome: Outcome = decode(self._process.call(encode(text)), Outcome)
        except (WorkerEnded, ValueError):
            self._process.stop()
            self._process = None
            raise
        return outcome

    def module(
        self, source: bytes, path: str, name: str, is_package: bool, *, eager: bool, branching: bool
    ) -> Translated:
        """As `translation.module`. What ends the process is refused."""
        text = Text("module", source, "", path, name, is_package, eager, branching)
        try:
            made = self._ask(text).module
        except WorkerEnded as end:
            return Translated(refusal=Reason(end.code, path, detail="while it was translated"))
        assert made is not None
        return made

    def expression(self, text: str) -> bytes:
        """As `translation.expression`. Raises NotTranslated."""
        return self._code(Text("expression", text=text))

    def generated(self, text: str) -> bytes:
        """As `translation.generated`. Raises NotTranslated."""
        return self._code(Text("generated", text=text))

    def _code(self, text: Text) -> bytes:
        try:
            outcome = self._ask(text)
        except WorkerEnded as end:
            raise NotTranslated("ValueError", str(end)) from None
        if outcome.kind:
            raise NotTranslated(outcome.kind, outcome.message)
        return outcome.code

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.stop()
            self._process = None
