"""The state that the guards share: one current interpreter at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sgcheck.interp.journal import Journal
from sgcheck.values.signals import LimitReached

STEP_BLOCK = 20_000
"""Steps (calls and loop turns) between two looks at the clock."""

WALL_FACTOR = 10.0
"""A launch that waits is ended after this many times the seconds that it may compute: a busy machine
that leaves it a tenth of a processor changes no answer."""

Trace = Callable[[Any, str, Any, Any], None]


class Runtime:
    """Mutable state read by every guard; see `RUNTIME`."""

    __slots__ = (
        "deadline",
        "fresh",
        "journal",
        "latest",
        "max_peak",
        "max_steps",
        "on_append",
        "on_construct",
        "on_declare",
        "on_display",
        "on_write",
        "peak",
        "record_class",
        "region",
        "steps_done",
        "steps_left",
        "tries",
    )

    def __init__(self) -> None:
        self.journal: Journal | None = None
        self.fresh: list[Any] = []
        self.record_class: type | None = None
        self.on_construct: Callable[[dict[str, Any]], None] | None = None
        self.on_write: Trace | None = None
        self.on_declare: Trace | None = None
        self.on_append: Callable[[list[Any], Any], None] | None = None
        self.on_display: Callable[[dict[str, Any], Any], None] | None = None
        self.region: Callable[..., Any] | None = None
        self.tries: list[Callable[[], tuple[Any, ...]] | None] = []
        self.max_steps = 50_000_000
        self.steps_done = 0
        self.steps_left = STEP_BLOCK
        self.deadline: float | None = None
        self.latest = 0.0
        self.peak: Callable[[], int] | None = None
        self.max_peak = 0

    def limits(self, *, steps: int = 50_000_000, seconds: float | None = 30.0) -> None:
        """Start counting afresh; `seconds` are processor time of this thread."""
        self.max_steps = steps
        self.steps_done = 0
        self.steps_left = STEP_BLOCK
        self.deadline = None
        if seconds is not None:
            self.deadline = time.thread_time() + seconds
            self.latest = time.monotonic() + seconds * WALL_FACTOR

    def more_time(self, seconds: float) -> None:
        """Put both ends off: what took the processor for `seconds` was no work of the launch."""
        if self.deadline is not None:
            self.deadline += seconds
            self.latest += seconds * WALL_FACTOR

    def out_of_time(self) -> bool:
        """Whether the thread has computed, or waited, for longer than allowed."""
        return self.deadline is not None and (
            time.thread_time() > self.deadline or time.monotonic() > self.latest
        )

    def step(self) -> None:
        """One step is done. Where every call counts, guards write this out."""
        self.steps_left -= 1
        if self.steps_left < 0:
            self.tick_slow()

    def tick_slow(self, steps: int = 0) -> None:
        """A block of steps is used up (and `steps` beyond it): check the bounds. Raises LimitReached."""
        self.steps_done += STEP_BLOCK + steps
        self.steps_left = STEP_BLOCK
        if self.steps_done > self.max_steps:
            self.steps_left = 0
            raise LimitReached("steps")
        if self.out_of_time():
            self.steps_left = 0
            raise LimitReached("time")
        if self.peak is not None and self.peak() > self.max_peak:
            self.steps_left = 0
            raise LimitReached("memory")


RUNTIME = Runtime()
