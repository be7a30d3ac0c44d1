"""Iterators while paths are explored: how far one has got is part of the state that is taken back.

A native iterator moves on for good. What is run once more for another answer would find it further
on than the first run did, so `iter`, `zip`, `map`, … give `Walk` there, and a generator expression
`Stream`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakSet

from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape
from sgcheck.values.unknown import ASK, Unknown

SIZED = frozenset(
    {list, tuple, dict, set, frozenset, str, bytes, range, type({}.keys()), type({}.values())}
    | {type({}.items())}
)
"""What can be walked over any number of times."""


_START = 0
_STEPS = itertools.count(_START + 1)


def _settled(at: Any) -> int:
    """How far an iterator has got on this path."""
    found: int = ASK[-1].concrete(at) if issubclass(type(at), Unknown) else at
    return found


class Walk:
    """An iterator over elements that are all there, with a function for each and a test for each."""

    __slots__ = ("_at", "_function", "_test", "elements")

    def __init__(
        self,
        elements: Sequence[Any],
        function: Callable[[Any], Any] | None = None,
        test: Callable[[Any], Any] | None = None,
    ) -> None:
        self.elements = elements
        self._function = function
        self._test = test
        self._at: Any = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        at = _settled(self._at)
        while at < len(self.elements):
            element = self.elements[at]
            at += 1
            if self._test is None or self._test(element):
                self._go(at)
                return element if self._function is None else self._function(element)
        self._go(at)
        raise StopIteration

    def _go(self, at: int) -> None:
        if R.journal is not None:
            R.journal.attr(self, "_at")
        self._at = at


WALKING: WeakSet[Callable[..., Any]] = WeakSet()
"""The builtins that give a `Walk` of their own: `enumerate`, `reversed`, `zip`."""


class Stream:
    """Elements that are made one after the other. `again` makes the source once more, from its start."""

    __slots__ = ("_again", "_at", "_last", "_source")

    def __init__(
        self, source: Iterator[Any], again: Callable[[], Iterator[Any]] | None = None
    ) -> None:
        self._source = source
        self._again = again
        self._last = _START
        self._at: Any = _START

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._step()
        return next(self._source)

    def send(self, value: Any) -> Any:
        """As a generator's."""
        self._step()
        return self._source.send(value)  # type: ignore[attr-defined]

    def throw(self, *error: Any) -> Any:
        """As a generator's."""
        self._step()
        return self._source.throw(*error)  # type: ignore[attr-defined]

    def close(self) -> None:
        """As a generator's."""
        self._step()
        self._source.close()  # type: ignore[attr-defined]

    def _step(self) -> None:
        at = _settled(self._at)
        if at != self._last:
            # Another run had these elements, under other answers.
            if self._again is None or at != _START:
                raise Escape(Reason("not-modelled(a generator that is run again)"))
            self._source = self._again()
        # No two steps have one number: as many elements of another run are other elements.
        self._last = next(_STEPS)
        if R.journal is not None:
            R.journal.attr(self, "_at")
        self._at = self._last


def walked(value: Any) -> Any:
    """What `iter(value)` gives where paths are explored."""
    if type(value) is dict:
        ASK[-1].settle(value)
    if type(value) in SIZED:
        return Walk(tuple(value))
    return value if type(value) in (Walk, Stream) else Stream(iter(value))


def combined(native: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`enumerate`, `zip` or `reversed` where paths are explored."""
    for value in args:
        if type(value) is dict:
            ASK[-1].settle(value)
    made = native(*args, **kwargs)
    sized = all(type(value) in SIZED or type(value) is int for value in args)
    return Walk(tuple(made)) if sized else Stream(made)


def mapped(function: Callable[..., Any], sources: Sequence[Any]) -> Any:
    """`map` where paths are explored."""
    rows = combined(zip, tuple(sources), {"strict": False})
    if type(rows) is Walk:
        return Walk(rows.elements, lambda values: function(*values))
    return Stream(function(*values) for values in rows)


def filtered(test: Callable[[Any], Any], source: Any) -> Any:
    """`filter` where paths are explored."""
    walk = walked(source)
    if type(source) in SIZED:
        return Walk(walk.elements, test=test)
    return Stream(value for value in walk if test(value))
