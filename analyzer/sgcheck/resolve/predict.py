"""Predict launches of one tree."""

from __future__ import annotations

import gc
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sgcheck.errors import NothingToAnalyse
from sgcheck.interp.explore import Explorer, Loss
from sgcheck.interp.opaque import OpaqueOperations
from sgcheck.resolve import answers
from sgcheck.resolve.explored import Explored, Snapshot, describe, explore
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.machine import Machine
from sgcheck.resolve.resolution import Outcome, Reason, Resolution, TreeInfo
from sgcheck.resolve.run import (
    SERVER_ARGS_MODULE,
    Run,
    failure_of,
    record_fields,
    run_launch,
    with_place,
)
from sgcheck.resolve.trace import Trace
from sgcheck.source.tree import SERVER_ARGS, Tree
from sgcheck.syntax.cache import CodeCache
from sgcheck.values.condition import TRUE, Space
from sgcheck.values.signals import EngineSignal

__all__ = ["Launch", "Predictor"]

MODEL_FLAGS = ("--model-path", "--model")
STAND_IN_MODEL = "/models/model"
"""The path that SGLang is given when the launch names no model."""

KEPT_MACHINES = 3
SECONDS = 60.0
STEPS = 100_000_000


class Predictor:
    """One SGLang tree, many launches; machines (interpreters after import) stay warm.

    `packages` changes the assumed installation: name to version, True (present) or False (absent).
    """

    def __init__(self, tree: Tree, *, packages: Mapping[str, str | bool] | None = None, cache: Path | None = None, eager: bool = False) -> None:
        self.tree = tree
        if not tree.exists(SERVER_ARGS):
            raise NothingToAnalyse(f"{tree.origin} {tree.version} has no {SERVER_ARGS}: nothing to analyse.")
        self.code = CodeCache(tree, cache if cache is not None else _cache_folder(), eager=eager)
        self.info = TreeInfo(tree.version, tree.origin, tree.digest, tree.ref)
        self._profile = _profile(tree, packages or {})
        self._machines: list[tuple[Any, Machine]] = []

    # -- predicting ----------------------------------------------------------------

    def check(self, launch: Launch, *, trace: bool = True) -> Resolution:
        """Predict one launch. Never raises for what the tree does; UsageError for a bad launch."""
        if not launch.target.modelled:
            return self._unmodelled(launch)
        machine = self._machine(launch)
        argv = launch_argv(launch)
        interpreter = machine.interpreter
        with interpreter.running(OpaqueOperations(), seconds=SECONDS, steps=STEPS):
            try:
                module = interpreter.module(SERVER_ARGS_MODULE)
            except EngineSignal as signal:
                reason = with_place(getattr(signal, "reason", Reason("engine")), signal.__traceback__)
                return self._nothing(launch, reason)
            except Exception as error:
                return self._unimportable(launch, error)
            fields = record_fields(module.ServerArgs)
        unknown = unknown_models(launch, argv)
        result = None
        if not unknown:
            result = self._known(machine, launch, argv, module, fields, trace)
        if result is None or result.outcome.status == "unknown":
            explored = self._explored(machine, launch, argv, module, fields, trace, unknown)
            result = explored
        self._settle(machine, launch)
        return result

    def _known(
        self, machine: Machine, launch: Launch, argv: list[str], module: Any, fields: dict[str, Any], trace: bool
    ) -> Resolution:
        """The fast way: run once; nothing may have to be decided."""
        world = machine.world
        recorder = Trace(frozenset(fields)) if trace else None
        kept = Snapshot()

        def keep(record: Any, run: Run) -> None:
            kept.values = run.values
            kept.events = list(recorder.events) if recorder is not None else []
            kept.records = list(world.log.records)
            kept.environment = dict(world.environ.content)

        with machine.interpreter.running(OpaqueOperations(), seconds=SECONDS, steps=STEPS), machine.interpreter.session():
            before = machine.env_for(launch)
            world.enter(launch, before, argv)
            run = run_launch(module, argv, recorder, keep)
            ends = [(TRUE, kept)] if run.status == "ok" else []
            losses = [] if run.status == "ok" else [Loss(TRUE, run.error, run.reason, run.failure or run.reason)]
            return answers.resolution(
                self, launch, argv, Explored(ends, losses), Space(), fields, recorder, before
            )

    def _explored(
        self,
        machine: Machine,
        launch: Launch,
        argv: list[str],
        module: Any,
        fields: dict[str, Any],
        trace: bool,
        unknown: dict[str, str],
    ) -> Resolution:
        """Every path of a launch in which something is not known."""
        world = machine.world
        recorder = Trace(frozenset(fields)) if trace else None
        explorer = Explorer(describe)
        with machine.interpreter.running(explorer, seconds=SECONDS, steps=STEPS), machine.interpreter.session():
            before = machine.env_for(launch)
            world.enter(launch, before, argv)
            world.forget_models(unknown, self.code.live_code())
            try:
                explored = explore(explorer, module, argv, recorder, world)
                return answers.resolution(
                    self, launch, argv, explored, explorer.space, fields, recorder, before
                )
            finally:
                world.forget_models({}, ())

    def _unimportable(self, launch: Launch, error: Exception) -> Resolution:
        failure = failure_of(error)
        reason = Reason("tree-not-importable", failure.file, failure.line, f"{failure.type}: {failure.message}")
        return self._nothing(launch, reason)

    def _settle(self, machine: Machine, launch: Launch) -> None:
        """Save new code; forget a machine whose modules have read what only this launch says."""
        self.code.save()

    def _machine(self, launch: Launch) -> Machine:
        key = (launch.target,)
        for index, (known, machine) in enumerate(self._machines):
            if known == key and machine.fits(launch.env):
                self._machines.append(self._machines.pop(index))
                return machine
        pins = {name: self._profile.version(name) or "" for name in ("torch", "transformers")}
        machine = Machine(self.code, launch.target, self._profile.for_cuda(launch.target.cuda), launch.env, pins)
        self._machines.append((key, machine))
        if len(self._machines) > KEPT_MACHINES:
            del self._machines[0]
            gc.collect()
        return machine

    def _unmodelled(self, launch: Launch) -> Resolution:
        return self._nothing(launch, Reason("target-not-modelled", detail=launch.target.arch))

    def _nothing(self, launch: Launch, reason: Reason) -> Resolution:
        return Resolution(
            self.info, launch.target.to_target(), launch.model.info(), tuple(launch.argv), Outcome("unknown", reason=reason)
        )


def _profile(tree: Tree, changes: Mapping[str, str | bool]) -> Any:
    from sgcheck_rules.packages import installed_profile

    profile = installed_profile(tree.metadata() or "", tree.version)
    for name, value in changes.items():
        if value is False:
            profile = profile.without_package(name)
        else:
            profile = profile.with_package(name if value is True else f"{name}=={value}")
    return profile


def _cache_folder() -> Path | None:
    from sgcheck.source.cache import cache_dir

    return cache_dir() / "code"


def launch_argv(launch: Launch) -> list[str]:
    """SGLang's arguments, with a model path where the launch names none."""
    argv = list(launch.argv)
    named = any(a == flag or a.startswith(flag + "=") for a in argv for flag in MODEL_FLAGS)
    if not named and "--config" not in argv:
        argv[:0] = ["--model-path", launch.model.path or STAND_IN_MODEL]
    return argv


_PATH_FLAG = re.compile(r"--[a-z0-9-]*(model-path|draft-model)|--model")


def unknown_models(launch: Launch, argv: list[str]) -> dict[str, str]:
    """Paths of models of which nothing is known, with the name of each in conditions."""
    found: dict[str, str] = {}
    for index, word in enumerate(argv):
        flag, given, value = word.partition("=")
        if not _PATH_FLAG.fullmatch(flag):
            continue
        path = value if given else argv[index + 1] if index + 1 < len(argv) else ""
        if not path or path in launch.folders or (launch.model.known and path == launch.model.path):
            continue
        if path.lower() in ("none", "dummy"):
            continue
        main = flag in MODEL_FLAGS
        if main and launch.model.known:
            continue
        found[path] = "model" if main else "draft model"
    return found
