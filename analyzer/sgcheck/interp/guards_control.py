"""Guards of control flow: loops, conditions, `with`, `try`, `match`."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

from sgcheck.interp import constructors
from sgcheck.interp.guards_items import fresh
from sgcheck.interp.iterators import SIZED
from sgcheck.interp.runtime import RUNTIME
from sgcheck.values.kinds import is_a
from sgcheck.values.signals import EngineSignal, Escape
from sgcheck.values.unknown import ASK, Unknown

R = RUNTIME


def tick() -> None:
    """One turn of a loop."""
    R.steps_left -= 1
    if R.steps_left < 0:
        R.tick_slow()


_REVERSED: type = type(reversed([]))


def each(value: Any) -> Any:
    """What a comprehension runs over; every element counts as a turn of a loop."""
    kind = type(value)
    if kind in SIZED or kind is _REVERSED:
        if kind is dict and R.region is not None:
            ASK[-1].settle(value)
        length = operator.length_hint(value)
        R.steps_left -= length
        if R.steps_left < 0:
            R.tick_slow(-R.steps_left)
        return value if length < LONG else counted(value)
    return counted(value)


LONG = 100_000
"""From this length on a comprehension looks at the clock while it runs."""


def counted(value: Any) -> Iterator[Any]:
    """The elements of anything iterable, each counted."""
    return _counted(iter(value))


def _counted(elements: Iterator[Any]) -> Iterator[Any]:
    for element in elements:
        R.steps_left -= 1
        if R.steps_left < 0:
            R.tick_slow()
        yield element


_COLLECTIONS: dict[str, type] = {"list": list, "set": set, "dict": dict}


def comprehension(thunk: Callable[[], Any], kind: str) -> Any:
    """A comprehension: over something that is not known it gives something that is not known.

    What it has to decide is decided in it, so that its results can be joined again.
    """

    def made() -> Any:
        try:
            return fresh(thunk())
        except Escape as escape:
            return ASK[-1].computed(escape, _COLLECTIONS[kind])

    return made() if R.region is None else R.region(made, (), {})


def _tried(thunk: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        try:
            return thunk()
        except Escape as escape:
            return ASK[-1].computed(escape)

    return run


def any_of(thunk: Callable[[], Any]) -> Any:
    """`any(generator)`, decided as a whole."""
    if R.region is not None:
        return condition(_tried(lambda: any(thunk())))
    return any(thunk())


def all_of(thunk: Callable[[], Any]) -> Any:
    """`all(generator)`, decided as a whole."""
    if R.region is not None:
        return condition(_tried(lambda: all(thunk())))
    return all(thunk())


def condition(thunk: Callable[[], Any]) -> Any:
    """A test made of several parts. Where it depends on unknowns it is one decision."""
    if R.region is not None:
        return R.region(thunk, (), {})
    return thunk()


def negation(value: Any) -> Any:
    """`not value`, which stays a question where the value is one."""
    if issubclass(type(value), Unknown):
        return ASK[-1].unary("not", value)
    return not value


def own_test(value: Any) -> Any:
    """The test of an `if` whose ways cannot be joined: decided here."""
    if issubclass(type(value), Unknown):
        return ASK[-1].truth(value)
    return value


MAX_TURNS = 1000
"""Elements of a loop that is gone through to its end although it may have been left before."""


def stop(source: Any, *left: Any) -> bool:
    """Whether a loop over `source` ends here: it has been left for sure, or that must be decided now."""
    for flag in left:
        if flag is True:
            return True
        if issubclass(type(flag), Unknown) and not _may_go_on(source):
            return bool(ASK[-1].truth(flag))
    return False


def _may_go_on(source: Any) -> bool:
    """Whether taking further elements changes nothing and comes to an end."""
    return (
        issubclass(type(source), list | tuple | str | dict | set | frozenset | range)
        and (len(source) <= MAX_TURNS)
    ) or type(source).__name__ in ("dict_keys", "dict_values", "dict_items")


def branch(test: Any, then: Callable[[], None], other: Callable[[], None] | None) -> None:
    """An `if` statement whose ways are joined again behind it."""
    if issubclass(type(test), Unknown):
        ASK[-1].branch(test, then, other)
    elif test:
        then()
    elif other is not None:
        other()


def with_manager(manager: Any) -> Any:
    """The manager of a `with` statement."""
    if issubclass(type(manager), Unknown):
        return constructors.UnknownManager(manager)
    return Manager(manager)


class Manager:
    """A context manager that swallows nothing of what the engine raises."""

    __slots__ = ("_exit", "_manager")

    def __init__(self, manager: Any) -> None:
        kind = type(manager)
        if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
            raise TypeError(
                f"{kind.__name__!r} object does not support the context manager protocol"
            )
        self._manager = manager
        self._exit = kind.__exit__

    def __enter__(self) -> Any:
        return type(self._manager).__enter__(self._manager)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        if issubclass(type(error), EngineSignal):
            return False
        return self._exit(self._manager, kind, error, trace)


def finishing() -> None:
    """The beginning of a `finally`: what the engine raised goes on at once."""
    error = sys.exc_info()[1]
    if is_a(error, EngineSignal):
        raise error


def enter_try(types: Callable[[], tuple[Any, ...]] | None) -> None:
    """Entering the body of a `try`. `types` are what its handlers catch (None: everything)."""
    R.tries.append(types)


def leave_try() -> None:
    """Leaving it, however."""
    if R.tries:
        R.tries.pop()


def match_subject(value: Any) -> Any:
    """The subject of a `match`: patterns cannot meet an unknown."""
    if issubclass(type(value), Unknown):
        return ASK[-1].concrete(value)
    return value
