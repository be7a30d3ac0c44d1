"""The runs of a region: which decisions a run takes, how it ended, which run comes next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sgcheck.interp import merge
from sgcheck.interp.journal import Entry
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import Condition
from sgcheck.values.signals import EngineSignal


class PathOver(EngineSignal):
    """No path through this region goes on: all have ended and are recorded."""

    def __init__(self) -> None:
        super().__init__("path over")
        self.reason = Reason("path-over")


@dataclass(slots=True)
class Frame:
    """The decisions of one run of one region."""

    prefix: list[int]
    taken: list[tuple[list[Condition], int]] = field(default_factory=list)


@dataclass(slots=True)
class End:
    """How one run of a region ended normally."""

    condition: Condition
    value: Any
    redo: list[Entry]
    finals: dict[merge.Place, Any]
    fresh: set[int]


@dataclass(slots=True)
class Loss:
    """A path that ended: with an error of the tree, or because the engine could not go on."""

    condition: Condition
    error: BaseException | None
    reason: Reason | None
    info: Any = None


def next_(taken: list[tuple[list[Condition], int]]) -> list[int] | None:
    """The choices of the next run in depth-first order."""
    indexes = [index for _, index in taken]
    for position in range(len(taken) - 1, -1, -1):
        options, index = taken[position]
        if index + 1 < len(options):
            return [*indexes[:position], index + 1]
    return None


def is_caught(error: BaseException, depth: int) -> bool:
    """Whether one of the `try` statements around a region would catch an error."""
    for types in R.tries[:depth]:
        if types is None:
            return True
        try:
            if isinstance(error, types()):
                return True
        except Exception:
            return True
    return False


def identities(objects: list[Any]) -> set[int]:
    return {id(obj) for obj in objects}


def class_names(cls: type) -> set[str]:
    return {name for base in cls.__mro__[:-1] for name in base.__dict__}
