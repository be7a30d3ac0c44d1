"""The order in which many launches are answered: those for one machine together, the output in line."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from queue import Empty, Queue
from typing import Generic, TypeVar

Line = TypeVar("Line")
Result = TypeVar("Result")

WINDOW = 512
"""The most lines that are read ahead; their answers wait in memory for those before them."""


@dataclass(slots=True)
class _Pending(Generic[Line]):
    number: int
    line: Line


def in_order(
    lines: Iterable[Line],
    group: Callable[[Line], tuple[Hashable, ...]],
    answer: Callable[[Line], Result],
    window: int = WINDOW,
) -> Iterator[Result]:
    """The answers in the order of the lines, each as soon as it and those before it are there.

    Lines that are at hand already (the input never has to wait for an answer) may be answered
    before their turn, so that the work that lines of one `group` share is done once. Groups whose
    first parts are the same follow each other.
    """
    queue: Queue[Line | _End] = Queue(window)
    threading.Thread(target=_read, args=(lines, queue), daemon=True).start()
    pending: dict[tuple[Hashable, ...], deque[_Pending[Line]]] = {}
    done: dict[int, Result] = {}
    ended: _End | None = None
    read = given = 0
    last: tuple[Hashable, ...] = ()
    while True:
        while ended is None and read - given < window:
            try:
                item = queue.get(block=not pending)
            except Empty:
                break
            if isinstance(item, _End):
                ended = item
            else:
                pending.setdefault(group(item), deque()).append(_Pending(read, item))
                read += 1
        if not pending:
            assert ended is not None
            if ended.error is not None:
                raise ended.error
            return
        last = max(pending, key=partial(_turn, pending, last))
        chosen = pending[last].popleft()
        if not pending[last]:
            del pending[last]
        done[chosen.number] = answer(chosen.line)
        while given in done:
            yield done.pop(given)
            given += 1


def _turn(
    pending: Mapping[tuple[Hashable, ...], deque[_Pending[Line]]],
    last: tuple[Hashable, ...],
    group: tuple[Hashable, ...],
) -> tuple[int, int]:
    """How soon a group comes: by what it shares with the last one, then in the order of the lines."""
    return _shared(group, last), -pending[group][0].number


def _shared(left: tuple[Hashable, ...], right: tuple[Hashable, ...]) -> int:
    """How many parts from the first on are the same."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


@dataclass(slots=True)
class _End:
    """The input is at its end, or cannot be read any further."""

    error: BaseException | None = None


def _read(lines: Iterable[Line], queue: Queue[Line | _End]) -> None:
    try:
        for line in lines:
            queue.put(line)
        queue.put(_End())
    except BaseException as error:
        queue.put(_End(error))
