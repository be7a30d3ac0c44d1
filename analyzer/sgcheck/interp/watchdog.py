"""Bounds on time and memory for what the guards cannot count: long work inside one native call.

Steps are counted everywhere (see `runtime`). In addition, where the system has them, timers
interrupt Python code (comprehensions, regular expressions, loops of the standard library) that has
computed, or waited, for too long, the kernel refuses memory beyond an allowance, and another timer
ends the process when nothing else gets through. Where the system has none of these, the guards' own
bounds on sizes remain.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sgcheck.interp import runtime
from sgcheck.interp.runtime import RUNTIME
from sgcheck.values.signals import LimitReached

MEMORY = 1 << 30
"""Bytes that running a tree may take beyond what the process already has."""
LAST_RESORT = 10.0
"""Seconds of processor time beyond the limit after which the process is ended."""

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in the unit in which the system tells the peak."""

_depth = 0
_sizes: int | None = None


def prepare() -> None:
    """Open what tells this process's size, which cannot be opened any more behind the walls."""
    global _sizes
    with suppress(OSError):
        _sizes = os.open("/proc/self/statm", os.O_RDONLY)


def _pages() -> int:
    if _sizes is not None:
        return int(os.pread(_sizes, 64, 0).split()[0])
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[0])


@contextmanager
def watched(seconds: float | None) -> Iterator[None]:
    """Inside, code of the tree runs, for `seconds` of processor time.

    May raise LimitReached anywhere inside.
    """
    global _depth
    if _depth or seconds is None:
        yield
        return
    _depth += 1
    undo: list[Any] = []
    try:
        _limit_memory(undo)
        _set_timers(seconds, undo)
        yield
    finally:
        _depth -= 1
        for step in reversed(undo):
            step()


def _limit_memory(undo: list[Any]) -> None:
    try:
        import resource
    except ImportError:
        return
    if not sys.platform.startswith("linux"):
        # Elsewhere the kernel does not refuse: the guards look at the peak from time to time.
        RUNTIME.peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        RUNTIME.max_peak = RUNTIME.peak() + MEMORY // _RSS_UNIT
        undo.append(lambda: setattr(RUNTIME, "peak", None))
        return
    try:
        size = _pages() * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = size + MEMORY
        if soft != resource.RLIM_INFINITY:
            wanted = min(wanted, soft)
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
        undo.append(lambda: resource.setrlimit(resource.RLIMIT_AS, (soft, hard)))
    except (OSError, ValueError):
        return


def _set_timers(seconds: float, undo: list[Any]) -> None:
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        return
    # A little later than the guards' own deadlines; again and again, in case one is swallowed.
    late = seconds * 1.1 + 0.1
    _interrupt(signal.ITIMER_PROF, signal.SIGPROF, late, undo)
    _interrupt(signal.ITIMER_REAL, signal.SIGALRM, late * runtime.WALL_FACTOR, undo)
    if not signal.getitimer(signal.ITIMER_VIRTUAL)[0]:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds + LAST_RESORT)
        undo.append(lambda: signal.setitimer(signal.ITIMER_VIRTUAL, 0))


def _interrupt(timer: int, number: signal.Signals, seconds: float, undo: list[Any]) -> None:
    """Raise LimitReached in the main thread once the timer has run out, unless somebody uses it."""
    if signal.getitimer(timer)[0]:
        return

    def stop(number: int, frame: Any) -> None:
        raise LimitReached("time")

    before = signal.signal(number, stop)
    signal.setitimer(timer, seconds, 1.0)

    def disarm() -> None:
        signal.setitimer(timer, 0)
        # A signal that is under way (to another thread, say) would end the process: it is dropped.
        signal.signal(number, signal.SIG_IGN)
        signal.signal(number, before if before is not None else signal.SIG_DFL)

    undo.append(disarm)
