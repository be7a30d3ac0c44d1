"""Unknowns while a start is followed: what an element of a tensor decides is assumed, and noted.

Weights have no values here, so a branch on one of their elements cannot be decided. The start is
followed as if it held; what runs then holds where that is so (`Running.assumed`).
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from sgcheck.interp.access import frame_of_tree
from sgcheck.interp.opaque import OpaqueOperations
from sgcheck.values.signals import Escape
from sgcheck.values.unknown import Unknown
from sgcheck.world.facade import ForeignObject
from sgcheck.world.tensors.recorder import Leaf

ASSUMED = ("tensor-value", "machine-fact")
"""Reasons of which either answer may hold: an element of a weight, a fact of the machine."""
Place = tuple[str, int]


class StartOperations(OpaqueOperations):
    """`asked` are the places where something of `ASSUMED` decided; each was answered with yes."""

    def __init__(self) -> None:
        self.asked: dict[Place, Unknown] = {}

    def truth(self, value: Unknown) -> bool:
        if value.reason.code not in ASSUMED:
            raise Escape(value.reason)
        frame = frame_of_tree(sys._getframe(1))
        if frame is None:
            raise Escape(value.reason)
        self.asked.setdefault((frame.f_code.co_filename, frame.f_lineno), value)
        return True

    def apply(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(func, ForeignObject | Leaf):
            return func(*args, **kwargs)  # a kernel is called whatever it is given
        return super().apply(func, args, kwargs)

    def set_attribute(self, value: Unknown, name: str, new: Any) -> None:
        """A foreign object keeps it: read again, it is not known."""

    def set_item(self, value: Unknown, key: Any, new: Any) -> None:
        """As `set_attribute`."""

    def iterate(self, value: Unknown) -> Iterator[Any]:
        """`a, b = f()`: as many unknowns as are unpacked. Raises Escape for any other loop."""
        frame: FrameType | None = sys._getframe(2)
        if frame is not None:
            count = _unpacked(frame)
            if count is not None:
                return iter([Unknown(value.reason, f"{value.label}[{i}]") for i in range(count)])
        raise Escape(value.reason)


def _unpacked(frame: FrameType) -> int | None:
    """How many values the instruction at which a frame stands unpacks."""
    code = frame.f_code.co_code
    at = frame.f_lasti
    if 0 <= at < len(code) - 1 and dis.opname[code[at]].startswith("UNPACK_SEQUENCE"):
        return code[at + 1]
    return None
