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
from sgcheck.review.watch import Run, watch
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
    _watched: tuple[ReviewLaunch, Run | None] | None = None

    def __post_init__(self) -> None:
        from sgcheck.sandbox.predictor import SandboxedPredictor

        self.release = Release(self.tree, SandboxedPredictor(self.tree))

    def resolve(self, each: ReviewLaunch) -> Resolution:
        """What a launch resolves to; a fault of sgcheck's own is an unknown outcome."""
        try:
            predictor = self.release.predictor
            if each.depth == "arguments" or not each.launch.model.known:
                return predictor.check(each.launch, explore=each.explore)
            return predictor.check(each.launch, explore=each.explore, depth=each.depth)
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

    def watch(self, each: ReviewLaunch) -> Run | None:
        """The lines of one launch (see `watch`); those of the last one are kept."""
        if self._watched is None or self._watched[0] is not each:
            self._watched = (each, watch(self.release.predictor, each))
        return self._watched[1]

    def borrow_from(self, other: Side) -> None:
        """Translate no file that the other tree has, too, and whose translation is kept."""
        from sgcheck.sandbox.predictor import SandboxedPredictor

        mine, theirs = self.release.made, other.release.made
        if isinstance(mine, SandboxedPredictor) and isinstance(theirs, SandboxedPredictor):
            mine.borrow_from(theirs)

    def flags(self, target: TargetSpec) -> FlagTable | None:
        """What the tree's own parser accepts; None where it could not be built."""
        return self.release.table(target)


def resolve_both(
    old: Side,
    new: Side,
    launches: Sequence[ReviewLaunch],
    *,
    elsewhere: Elsewhere | None = None,
    progress: Progress = silent,
) -> list[tuple[Resolution, Resolution]]:
    """Each launch on both trees, in order; on the old one in the other process if there is one.

    Launches of one machine follow each other while they are resolved, so that it is set up once.
    """
    order = sorted(range(len(launches)), key=lambda i: _machine(launches[i]))
    chunks = [order[at : at + CHUNK] for at in range(0, len(order), CHUNK)]
    found: dict[int, tuple[Resolution, Resolution]] = {}
    running = [
        elsewhere.resolve([launches[i] for i in chunk]) if elsewhere is not None else None
        for chunk in chunks
    ]
    news: list[list[Resolution]] = []
    for number, chunk in enumerate(chunks):
        progress(f"{number * CHUNK} of {len(launches)} launches resolved", transient=True)
        news.append([new.resolve(launches[i]) for i in chunk])
        if elsewhere is None:
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


class Elsewhere:
    """The other process, which has the old tree."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def resolve(self, launches: list[ReviewLaunch]) -> Future[list[Resolution]]:
        """What the launches resolve to there."""
        return self._pool.submit(_resolve_there, launches)

    def watch(self, launch: ReviewLaunch) -> Future[Run | None]:
        """The lines of a launch there."""
        return self._pool.submit(_watch_there, launch)


@contextmanager
def another_process(
    side: Side, launches: int, *, jobs: int | None = None
) -> Iterator[Elsewhere | None]:
    """A process for one tree; None where there is to be none, or the tree lives here only.

    Without `jobs`: where there are two cores and enough launches; else with 2 or more.
    """
    if jobs is None:
        jobs = 2 if launches >= WORTH_A_PROCESS and (os.cpu_count() or 1) > 1 else 1
    if jobs < 2 or side.spec is None:
        yield None
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(1, context, _start, (side.spec,))
    try:
        yield Elsewhere(pool)
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


def _watch_there(launch: ReviewLaunch) -> Run | None:
    assert _side is not None
    return _side.watch(launch)
