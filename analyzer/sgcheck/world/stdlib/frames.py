"""`sys._getframe`: where a call of the tree comes from, as plain text and numbers."""

from __future__ import annotations

import sys
from types import FrameType, MappingProxyType
from typing import Any

from sgcheck.interp.access import FACES, frame_of_tree
from sgcheck.syntax.names import source_name
from sgcheck.world.files import SITE


class CodeFace:
    """What is shown of a code object."""

    def __init__(self, frame: FrameType) -> None:
        code = frame.f_code
        self.co_filename = f"{SITE}/{code.co_filename}"
        self.co_qualname = source_name(code.co_qualname)
        self.co_name = self.co_qualname.rpartition(".")[2]
        self.co_firstlineno = code.co_firstlineno


class FrameFace:
    """What is shown of a frame: no variable of anybody."""

    def __init__(self, frame: FrameType) -> None:
        self.f_code = CodeFace(frame)
        self.f_lineno = frame.f_lineno
        name = frame.f_globals.get("__name__")
        self.f_globals = MappingProxyType(
            {"__name__": str(name), "__file__": self.f_code.co_filename}
        )
        outer = frame_of_tree(frame.f_back)
        self._outer = outer

    @property
    def f_back(self) -> Any:
        return FrameFace(self._outer) if self._outer is not None else None


FACES.update((FrameFace, CodeFace))


def getframe(depth: Any = 0) -> FrameFace:
    """The frame `depth` calls of the tree further out. ValueError where the stack is not that deep."""
    frame = frame_of_tree(sys._getframe(1))
    for _ in range(int(depth)):
        frame = frame_of_tree(frame.f_back) if frame is not None else None
    if frame is None:
        raise ValueError("call stack is not deep enough")
    return FrameFace(frame)
