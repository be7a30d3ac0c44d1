"""Reading many files in several processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from sgcheck.syntax.rule_model import ModuleRules
from sgcheck.syntax.rules import read_rules


def pooled(todo: Mapping[str, bytes], jobs: int | None) -> Iterator[tuple[str, ModuleRules]]:
    """Rules of each file as it is done, largest files first.

    Ends early, without an error, where processes cannot be had or die: what is missing is for
    the caller to read. Processes are spawned, never forked, so that all systems behave alike.
    """
    workers = min(jobs or os.cpu_count() or 1, len(todo))
    if workers < 2:
        return
    by_size = sorted(todo, key=lambda path: -len(todo[path]))
    try:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            running = {pool.submit(read_rules, todo[path], path): path for path in by_size}
            for future in as_completed(running):
                yield running[future], future.result()
    except (BrokenProcessPool, OSError, NotImplementedError, AssertionError, ImportError):
        # No semaphores, no processes, or this is itself a daemonic child.
        return
