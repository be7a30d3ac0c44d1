"""What the two processes say to each other.

The parent sends SETUP once, and a CALL after the other. The worker answers READY, and each call with
a RESULT, an ERROR of the user's, or a FAULT of sgcheck's; in between it may ask a QUESTION about the tree,
which is answered with a GIVEN or a DENIED.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

SETUP, CALL, GIVEN, DENIED = b"S", b"C", b"G", b"D"
READY, QUESTION, RESULT, ERROR, FAULT = b"R", b"Q", b"A", b"E", b"F"

Role: TypeAlias = Literal["predict", "translate"]


class Setup(Struct, frozen=True):
    """What a worker is for. All but `role` is about the tree of a predicting one."""

    role: Role
    origin: str = ""
    version: str = ""
    digest: str = ""
    ref: str | None = None
    metadata: str | None = None
    requirements: tuple[tuple[str, str | None], ...] = ()
    packages: dict[str, str | bool] = {}
    once: bool = False


class Question(Struct, frozen=True, array_like=True):
    """What a worker may ask of the tree: `text` is a path, a module's name, or an expression."""

    what: Literal[
        "read",
        "exists",
        "listdir",
        "upstream",
        "pack",
        "find",
        "module",
        "expression",
        "generated",
        "registers",
    ]
    text: str = ""
    path: str = ""
    is_package: bool = False
    eager: bool = False
    branching: bool = False


class Denial(Struct, frozen=True, array_like=True):
    """An exception of the other side: its name, and what it says."""

    kind: str
    message: str
    trace: str = ""
