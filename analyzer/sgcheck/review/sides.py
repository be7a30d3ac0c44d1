"""The two trees of a review, each with its predictor, and the launches resolved on both."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgcheck.findings.flags import FlagTable
from sgcheck.findings.resolving import Release
from sgcheck.resolve.resolution import Outcome, Reason, Resolution
from sgcheck.review.model import ReviewLaunch
from sgcheck.source import Progress, Tree, open_tree, silent

if TYPE_CHECKING:
    from sgcheck.world.target import TargetSpec

CHUNK = 8
WORTH_A_PROCESS = 12
"""Launches below which starting a process costs more than it saves."""


@dataclass(slots=True)
class Side:
    """One tree. `spec` is what opens it again in another process; None: it lives here only."""

    tree: Tree
    spec: str | None = None
    release: Release = field(init=False)

    def __post_init__(self) -> None:
        from sgcheck.resolve.predict import Predictor

        self.release = Release(self.tree, Predictor(self.tree))

    def resolve(self, each: ReviewLaunch) -> Resolution:
        """What a launch resolves to; a fault of sgcheck's own is an unknown outcome."""
        try:
            return self.release.predictor.check(each.launch, explore=each.explore)
        except Exception as error:
            reason = Reason("internal-fault", detail=f"{type(error).__name__}: {error}"[:200])
            launch = each.launch
            return Resolution(
                self.release.predictor.info,
                launch.target.to_target(),
                launch.model.info(),
                launch.argv,
                Outcome("unknown", reason=reason),
            )

    def borrow_from(self, other: Side) -> None:
        """Translate no file that the other tree has, too, and whose translation is kept."""
        mine, theirs = self.release.predictor, other.release.predictor
        mine.code.borrow_from(theirs.code)
        mine.branching_code.borrow_from(theirs.branching_code)

    def flags(self, target: TargetSpec) -> FlagTable | None:
        """What the tree's own parser accepts; None where it could not be built."""
        return self.release.table(target)


def resolve_both(
    old: Side,
    new: Side,
    launches: Sequence[ReviewLaunch],
    *,
    jobs: int | None = None,
    progress: Progress = silent,
) -> list[tuple[Resolution, Resolution]]:
    """Each launch on both trees, in order. `jobs` 2 or more: the old tree in a process of its own.

    Launches of one machine follow each other while they are resolved, so that it is set up once.
    Without `jobs`: two processes where there are two cores and enough launches.
    """
    order = sorted(range(len(launches)), key=lambda i: _machine(launches[i]))
    chunks = [order[at : at + CHUNK] for at in range(0, len(order), CHUNK)]
    if jobs is None:
        jobs = 2 if len(launches) >= WORTH_A_PROCESS and (os.cpu_count() or 1) > 1 else 1
    found: dict[int, tuple[Resolution, Resolution]] = {}
    with _elsewhere(old if jobs > 1 else None) as submit:
        running = [submit([launches[i] for i in chunk]) if submit else None for chunk in chunks]
        news: list[list[Resolution]] = []
        for number, chunk in enumerate(chunks):
            progress(f"{number * CHUNK} of {len(launches)} launches resolved", transient=True)
            news.append([new.resolve(launches[i]) for i in chunk])
            if submit is None:
                olds = [old.resolve(launches[i]) for i in chunk]
                found.update(zip(chunk, zip(olds, news[-1], strict=True), strict=True))
        for number, (chunk, future) in enumerate(zip(chunks, running, strict=True)):
            if future is None:
                continue
            progress(f"{number * CHUNK} of {len(launches)} launches compared", transient=True)
            found.update(zip(chunk, zip(future.result(), news[number], strict=True), strict=True))
    return [found[i] for i in range(len(launches))]


def _machine(each: ReviewLaunch) -> tuple[object, ...]:
    target = each.launch.target
    env = sorted((name, value or "") for name, value in each.launch.env.items())
    return (target.arch, target.gpu_name or "", target.count or 0, target.cuda or "", env)


class _Submit:
    """Sends chunks of launches to the other process."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self.pool = pool

    def __call__(self, launches: list[ReviewLaunch]) -> Future[list[Resolution]]:
        return self.pool.submit(_resolve_there, launches)


@contextmanager
def _elsewhere(side: Side | None) -> Iterator[_Submit | None]:
    """A process for one tree; None where it is to be resolved here."""
    if side is None or side.spec is None:
        yield None
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(1, context, _start, (side.spec,))
    try:
        yield _Submit(pool)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


_side: Side | None = None


def _start(spec: str) -> None:
    """Runs once in the other process. Ctrl-C is the parent's to handle."""
    global _side
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _side = Side(open_tree(spec, offline=True, progress=silent), spec)


def _resolve_there(launches: list[ReviewLaunch]) -> list[Resolution]:
    assert _side is not None
    return [_side.resolve(each) for each in launches]
