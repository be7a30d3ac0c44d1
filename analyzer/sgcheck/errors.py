"""The errors that a user can cause. Each carries one sentence: what, where, what to do."""

from __future__ import annotations

from collections.abc import Iterable


class SgcheckError(Exception):
    """Base of all errors shown to the user as one sentence on standard error (exit code 2)."""

    exit_code = 2


class UsageError(SgcheckError):
    """A wrong option, target, model or file given by the user."""


class SourceError(SgcheckError):
    """A source tree that cannot be had or read."""


class NothingToAnalyse(SgcheckError):
    """No launch, no resolution code: nothing that could be analysed (exit code 3)."""

    exit_code = 3


class WorkerEnded(SgcheckError):
    """The process that runs a tree's code ended before it answered; `code` is the reason's code."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the process that runs the tree's code gave no answer: {code}")
        self.code = code


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a sentence about an unknown name: the nearest known ones, else `otherwise`."""
    import difflib

    near = difflib.get_close_matches(name, sorted(known), n=3)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; {otherwise}" if otherwise else ""
