"""Answers the cells of a matrix: in this process, or in several.

Cells that share a machine (release, target, environment) follow one another, so that its
interpreter is started once; a process takes one such group after the other.
"""

from __future__ import annotations

import math
import multiprocessing
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sgcheck.report.wording import effective_steps
from sgcheck.resolve import started
from sgcheck.resolve.resolution import FieldAnswer, Outcome, Resolution

if TYPE_CHECKING:
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.predict import Depth
    from sgcheck.sandbox.predictor import SandboxedPredictor
    from sgcheck.world.model_facts import ModelFacts
    from sgcheck.world.target import TargetSpec

WORTH_A_PROCESS = 16
"""Cells per process below which starting it costs more than it saves."""

KEPT_PREDICTORS = 2
OUTCOME = "outcome"
BACKENDS: Mapping[str, tuple[str, ...]] = {
    "main": (
        "moe_runner",
        "attention_prefill",
        "attention_decode",
        "fp4_gemm",
        "fp8_gemm",
        "quantization",
    ),
    "draft": ("moe_runner", "attention", "quantization"),
}
"""The effective backends, as every report calls them."""


@dataclass(frozen=True, slots=True)
class Release:
    """Which SGLang, and what is taken as installed beside it."""

    spec: str | None
    python: str | None = None
    offline: bool = False
    packages: tuple[tuple[str, str | bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """One launch of the matrix. `model` is what the user calls it, None for unknown."""

    release: Release
    target: TargetSpec
    model: str | None
    argv: tuple[str, ...]
    env: tuple[tuple[str, str | None], ...] = ()

    def machine(self) -> tuple[object, ...]:
        """Equal for settings that one interpreter can serve."""
        return self.release, self.target, self.env


@dataclass(frozen=True, slots=True)
class Solved:
    """What one setting resolves to: its outcome and the answers that were asked for, by name.

    An answer is None where there is no such field (or nothing has a value because it fails).
    `layers` are the names of the layers that were built, where the start was followed.
    """

    outcome: Outcome
    answers: Mapping[str, FieldAnswer | None] = field(default_factory=dict)
    layers: tuple[str, ...] = ()


class Solver:
    """Answers settings one after the other and keeps trees and models between them."""

    def __init__(self, names: Sequence[str], depth: Depth = "arguments") -> None:
        self._names = names
        self._depth = depth
        self._kept: dict[Release, SandboxedPredictor] = {}
        self._model = cache(_load_model)
        self._folder = cache(_load_folder)

    def ask(self, names: Sequence[str], depth: Depth = "arguments") -> None:
        """Which answers are kept from now on, and how far launches are followed."""
        self._names = names
        self._depth = depth

    def predictor(self, release: Release) -> SandboxedPredictor:
        """The predictor of a release; two are kept. Raises SourceError."""
        from sgcheck.sandbox.predictor import SandboxedPredictor
        from sgcheck.source import StderrProgress, open_tree

        if release not in self._kept:
            progress = StderrProgress()
            try:
                tree = open_tree(
                    release.spec,
                    python=release.python,
                    offline=release.offline,
                    progress=progress,
                )
            finally:
                progress.clear()
            while len(self._kept) >= KEPT_PREDICTORS:
                del self._kept[next(iter(self._kept))]
            self._kept[release] = SandboxedPredictor(tree, packages=dict(release.packages) or None)
        return self._kept[release]

    def launch(self, setting: Setting) -> Launch:
        """The launch, with the folders and files that its arguments name. Raises UsageError."""
        from sgcheck.resolve.launch import Launch, main_model_path, named_files, words_of

        model = self._model(setting.model)
        files = named_files(setting.argv)
        words = words_of(setting.argv, files)
        folders = {k: v for word in words for k, v in self._folder(word).items()}
        path = main_model_path(words)
        if path is not None and model.known and path not in folders:
            folders[path] = model
        elif path is not None and not model.known and path in folders:
            model = folders[path]
        return Launch(setting.argv, dict(setting.env), setting.target, model, folders, files)

    def solve(self, setting: Setting) -> Solved:
        """The answer to one setting."""
        predictor, launch = self.predictor(setting.release), self.launch(setting)
        if self._depth == "arguments" or not launch.model.known:
            resolution = predictor.check(launch)
        else:
            resolution = started.of_arguments(predictor.check(launch, depth="kernels"))
        answers = {name: _pick(resolution, name) for name in self._names}
        return Solved(resolution.outcome, answers, started.layers_of(resolution))


def _load_model(name: str | None) -> ModelFacts:
    from sgcheck.world.model_facts import load_model

    return load_model(name)


def _load_folder(word: str) -> dict[str, ModelFacts]:
    from sgcheck.resolve.launch import named_folders

    return named_folders((word,))


def _pick(resolution: Resolution, name: str) -> FieldAnswer | None:
    """The answer of a name (`main.moe_runner`, or a field), with its last steps only."""
    role, dot, backend = name.partition(".")
    if dot and backend not in BACKENDS.get(role, ()):
        return started.answer(resolution, name)
    if dot:
        answer = resolution.effective.get(role, {}).get(backend)
    else:
        answer = resolution.fields.get(name)
    return answer and replace(answer, because=tuple(effective_steps(answer)))


def solve_all(
    settings: Sequence[Setting],
    names: Sequence[str],
    jobs: int = 1,
    tick: Callable[[], None] = lambda: None,
    solver: Solver | None = None,
    depth: Depth = "arguments",
) -> list[Solved]:
    """The settings in their order; with `jobs` above 1 in up to so many processes.

    `tick` is called once per answered setting. Raises what `Solver` raises.
    """
    pieces = _pieces(settings, jobs)
    workers = min(jobs, len(pieces), max(len(settings) // WORTH_A_PROCESS, 1))
    found: dict[int, Solved] = {}
    if workers < 2:
        solver = solver or Solver(names, depth)
        for piece in pieces:
            for index in piece:
                found[index] = solver.solve(settings[index])
                tick()
    else:
        for index, solved in _in_processes(settings, pieces, names, workers, depth):
            found[index] = solved
            tick()
    return [found[index] for index in range(len(settings))]


def _pieces(settings: Sequence[Setting], jobs: int) -> list[list[int]]:
    """Indices of settings with one machine, releases together; none is longer than a job's share."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, setting in enumerate(settings):
        groups.setdefault(setting.machine(), []).append(index)
    releases = list(dict.fromkeys(setting.release for setting in settings))
    ordered = sorted(groups.values(), key=lambda g: releases.index(settings[g[0]].release))
    share = max(math.ceil(len(settings) / max(jobs, 1)), WORTH_A_PROCESS)
    return [group[at : at + share] for group in ordered for at in range(0, len(group), share)]


def _in_processes(
    settings: Sequence[Setting],
    pieces: Sequence[list[int]],
    names: Sequence[str],
    workers: int,
    depth: Depth,
) -> Iterator[tuple[int, Solved]]:
    """Answers as they come. A thread per process hands it one piece after the other."""
    todo: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, Solved] | BaseException | None] = queue.SimpleQueue()
    for piece in pieces:
        todo.put(piece)
    # Spawned, not forked: the same on every system, and no lock of this process comes along.
    context = multiprocessing.get_context("spawn")
    pools = [ProcessPoolExecutor(1, context, _start, (tuple(names), depth)) for _ in range(workers)]

    def feed(pool: ProcessPoolExecutor) -> None:
        try:
            while True:
                piece = todo.get_nowait()
                running = [(index, pool.submit(_solve, settings[index])) for index in piece]
                for index, future in running:
                    done.put((index, future.result()))
        except queue.Empty:
            done.put(None)
        except BaseException as error:
            done.put(error)

    try:
        for pool in pools:
            threading.Thread(target=feed, args=(pool,), daemon=True).start()
        while workers:
            item = done.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                workers -= 1
            else:
                yield item
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)


_solver: Solver | None = None


def _start(names: tuple[str, ...], depth: Depth) -> None:
    """Runs once in each process. Ctrl-C is the parent's to handle."""
    global _solver
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _solver = Solver(names, depth)


def _solve(setting: Setting) -> Solved:
    assert _solver is not None
    return _solver.solve(setting)
