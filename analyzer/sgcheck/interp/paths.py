"""The runs of a region: which decisions a run takes, how it ended, which run comes next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from sgcheck.interp.journal import Entry
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import Condition
from sgcheck.values.signals import EngineSignal, Escape

if TYPE_CHECKING:
    from sgcheck.interp.merge import Place


class PathOver(EngineSignal):
    """No path through this region goes on: all have ended and are recorded."""

    def __init__(self) -> None:
        super().__init__("path over")
        self.reason = Reason("path-over")


Decision = tuple[list[Condition], int]
"""What could be decided, and which of it a run took."""


class Frame(Struct):
    """The decisions of one run of one region, which begins with those of `prefix`.

    `numbered` is how many computed values had a number when the region began.
    """

    prefix: list[Decision]
    taken: list[Decision] = field(default_factory=list)
    numbered: int = 0

    def index(self, options: list[Condition]) -> int | None:
        """Which of `options` this run takes; None where earlier runs were asked something else."""
        position = len(self.taken)
        if position >= len(self.prefix):
            return 0
        known, index = self.prefix[position]
        same = len(known) == len(options) and all(
            a is b for a, b in zip(known, options, strict=True)
        )
        return index if same else None

    @property
    def unlike(self) -> bool:
        """Whether the run ended before it was asked all that the runs before it were asked."""
        return len(self.taken) < len(self.prefix)

    def give_up(self) -> Condition:
        """Take the whole prefix as decided; the condition under which nothing is known then."""
        self.taken = list(self.prefix)
        options, index = self.prefix[-1]
        return options[index]


class End(Struct):
    """How one run of a region ended normally."""

    condition: Condition
    value: Any
    redo: list[Entry]
    finals: dict[Place, Any]
    fresh: set[int]


class Loss(Struct):
    """A path that ended: with an error of the tree, or because the engine could not go on."""

    condition: Condition
    error: BaseException | None
    reason: Reason | None
    info: Any = None


def next_(taken: list[Decision]) -> list[Decision] | None:
    """The decisions with which the next run begins, in depth-first order."""
    for position in range(len(taken) - 1, -1, -1):
        options, index = taken[position]
        if index + 1 < len(options):
            return [*taken[:position], (options, index + 1)]
    return None


def not_repeated() -> Escape:
    """A run did not do again what an earlier one did up to the same decision."""
    return Escape(Reason("engine(a run that is not repeated)"))


def without_result(func: Callable[..., Any]) -> Callable[..., None]:
    """The same call, whose ends do not differ by what it gives."""

    def run(*args: Any, **kwargs: Any) -> None:
        func(*args, **kwargs)

    return run


def is_caught(error: BaseException, depth: int) -> bool:
    """Whether one of the `try` statements around a region would catch an error."""
    for types in R.tries[:depth]:
        if types is None:
            return True
        try:
            if issubclass(type(error), types()):
                return True
        except Exception:
            return True
    return False


def identities(objects: list[Any]) -> set[int]:
    return {id(obj) for obj in objects}


def class_names(cls: type) -> set[str]:
    return {name for base in cls.__mro__[:-1] for name in base.__dict__}
