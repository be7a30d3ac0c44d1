"""Predict launches of one tree."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from sgcheck.errors import NothingToAnalyse
from sgcheck.interp.opaque import OpaqueOperations
from sgcheck.interp.paths import Loss
from sgcheck.resolve import answers, host_files, situations, stand_ins
from sgcheck.resolve.explored import Explored, Snapshot, describe, explore
from sgcheck.resolve.initialise import ALGORITHM, once, select
from sgcheck.resolve.installation import changed, installation
from sgcheck.resolve.launch import Launch, launch_argv, unknown_models
from sgcheck.resolve.machine import Machine
from sgcheck.resolve.performing import nothing
from sgcheck.resolve.provision import OnDisk, Provision
from sgcheck.resolve.resolution import FieldAnswer, Reason, Resolution, TreeInfo
from sgcheck.resolve.run import (
    SERVER_ARGS_MODULE,
    Run,
    failure_of,
    record_fields,
    run_launch,
    stopped,
)
from sgcheck.resolve.trace import Trace
from sgcheck.source.tree import SERVER_ARGS, Tree
from sgcheck.syntax.cache import CodeCache
from sgcheck.syntax.conditions import Conditions
from sgcheck.values.condition import TRUE, Condition, Space
from sgcheck.values.signals import EngineSignal

if TYPE_CHECKING:
    from sgcheck.interp.explore import Explorer
    from sgcheck.resolve.why import WhyReport

__all__ = ["Launch", "Predictor"]

Report = Callable[..., Any]
T = TypeVar("T")
Depth: TypeAlias = Literal["arguments", "kernels"]
"""How far a launch is followed: through its arguments, or down to what runs."""
_FINAL = ("limit(", "refused(", "source-", "tree-")  # exploring gets no further
KEPT_MACHINES = 6
COLLECTED_MACHINES = 4
"""Machines that are closed before the garbage collector, which takes long, looks for their memory."""
SECONDS = 60.0
STEPS = 100_000_000


class Predictor:
    """One SGLang tree, many launches; machines (interpreters after import) stay warm.

    `packages` changes the assumed installation: name to version, True (present) or False (absent).
    `seconds` of processor time and `steps` (calls and turns of loops) bound what one run of the tree
    may take; beyond them the answer is unknown(limit). With `once` nothing that a launch changes is
    taken back: the next one starts anew.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        packages: Mapping[str, str | bool] | None = None,
        cache: Path | None = None,
        provision: Provision | None = None,
        eager: bool = False,
        seconds: float = SECONDS,
        steps: int = STEPS,
        stand_in: str | None = None,
        once: bool = False,
    ) -> None:
        self.tree = tree
        self._once = once
        self._limits: dict[str, Any] = {"seconds": seconds, "steps": steps}
        self.stand_in = stand_in
        if not tree.holds_server_args():
            raise NothingToAnalyse(
                f"{tree.origin} {tree.version} has no {SERVER_ARGS}: nothing to analyse."
            )
        kept = self._provision = provision or OnDisk(tree, cache)
        self.code = CodeCache(tree, eager=eager, codes=kept.codes(eager=eager, branching=False))
        self.info = TreeInfo(tree.version, tree.origin, tree.digest, tree.ref)
        self._profile = installation(kept.requirements(), tree.version, packages or {})
        self._machines: list[tuple[Any, Machine]] = []
        self._closed, self._spent = 0, list[Machine]()
        self.untouched: dict[str, tuple[Any, bool, FieldAnswer]] = {}
        """Answers for fields at their default, by name, with that default and whether they say why."""
        how: dict[str, Any] = {"packages": packages, "provision": kept, "eager": eager}
        self._sides: list[Predictor] = []
        self._pin = self._profile.version("transformers") or ""
        if stand_in is None:
            again = partial(Predictor, tree, **how, **self._limits)
            self._sides = stand_ins.sides(self, self._pin, again)

    @cached_property
    def branching_code(self) -> CodeCache:
        """The code that explores, read when a launch first needs it."""
        eager = self.code.eager
        codes = self._provision.codes(eager=eager, branching=True)
        return CodeCache(self.tree, eager=eager, branching=True, codes=codes)

    def conditions(self, path: str) -> Conditions:
        """The conditions of a file's lines, from whichever code has been translated."""
        found = self.code.conditions(path)
        return found if found.by_line or found.fields else self.branching_code.conditions(path)

    # -- predicting ----------------------------------------------------------------

    def check(
        self,
        launch: Launch,
        *,
        trace: bool = True,
        explore: bool = True,
        depth: Depth = "arguments",
    ) -> Resolution:
        """Predict one launch. Never raises for what the tree does; UsageError for a bad launch.

        Without `explore` a launch is run once: what would have to be decided on a model of which
        nothing is known is answered with unknown, in the time of a known one.
        """
        if self._sides:
            results = [
                side.check(launch, trace=trace, explore=explore, depth=depth)
                for side in self._sides
            ]
            return stand_ins.agreed(results, stand_ins.reason(self._pin, self._sides))
        report: Report = answers.resolution
        if depth == "kernels":
            from sgcheck.start import report as start

            report = start.resolution
        try:
            result: Resolution = self.report(launch, report, trace=trace, explore=explore)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            result = self._nothing(launch, stopped(error))
        reasons = [result.outcome.reason, *(case.reason for case in result.outcome.cases)]
        if any(reason is not None and reason.code.startswith("limit(") for reason in reasons):
            # Whatever was interrupted may have left its interpreter half changed.
            for _, machine in self._machines:
                machine.close()
            self._machines.clear()
        self._settle()
        return result

    def report(
        self, launch: Launch, report: Report, *, trace: bool = False, explore: bool = True
    ) -> Any:
        """What `report` makes of all paths of a launch (see `answers.resolution`).

        A `Resolution` comes back, whatever `report` makes, where nothing at all can be said.
        """
        if not launch.target.modelled:
            return self._unmodelled(launch)
        if self._sides:
            return self._sides[-1].report(launch, report, trace=trace, explore=explore)
        argv = launch_argv(launch)
        if situations.are_several(launch):
            self._once = False
            return situations.resolution(self, launch, argv, trace, explore, report)
        return self.run(launch, argv, trace, explore, report=report)

    def run(
        self,
        launch: Launch,
        argv: list[str],
        trace: bool,
        explore: bool,
        *,
        report: Report = answers.resolution,
        space: Space | None = None,
        given: Condition = TRUE,
    ) -> Any:
        """One situation of a launch: what `report` makes of it (see `answers.resolution`).

        A failure that a file of the host decides is looked at again with the file there. Where `given` holds, with conditions of `space`. A `Resolution` comes back, whatever `report`
        makes, where the tree cannot be entered at all.
        """

        def once(launch: Launch, report: Report) -> Any:
            return self._run(launch, argv, trace, explore, report=report, space=space, given=given)

        return host_files.settled(once, launch, report)

    def _run(
        self,
        launch: Launch,
        argv: list[str],
        trace: bool,
        explore: bool,
        *,
        report: Report,
        space: Space | None,
        given: Condition,
    ) -> Any:
        """One situation with what is assumed of the host (`launch.host`)."""
        unknown = unknown_models(launch, argv)
        if not unknown or not explore:
            undecided = Reason("")

            def settled(_: Any, launch: Any, argv: Any, explored: Explored, *rest: Any) -> Any:
                nonlocal undecided
                undecided = explored.undecided() or Reason("")
                return report(self, launch, argv, explored, *rest)

            result = self._known(launch, argv, trace, unknown, report=settled)
            if isinstance(result, Resolution) and result.outcome.stage is None:
                undecided = result.outcome.reason or undecided
            if not explore or not undecided.code or undecided.code.startswith(_FINAL):
                return result
        return self._explored(launch, argv, trace, unknown, report=report, space=space, given=given)

    def _entry(self, machine: Machine, launch: Launch, explorer: Explorer | None = None) -> Any:
        """The module of `ServerArgs`, or the reason (or error) why it cannot be had."""
        if machine.entry is not None:
            return machine.entry
        with machine.interpreter.running(explorer or OpaqueOperations(), **self._limits):
            try:
                if machine.fields is None:
                    machine.forget_environment(launch.unknown_env)
                module = machine.interpreter.module(SERVER_ARGS_MODULE)
                if machine.fields is None:
                    machine.record = module.ServerArgs
                    machine.fields = record_fields(module.ServerArgs)
                    machine.parser.install(module.ServerArgs)
                if not callable(module.prepare_server_args):
                    raise TypeError("prepare_server_args is no function")
                machine.entry = module
                return module
            except (EngineSignal, RecursionError, MemoryError) as signal:
                return stopped(signal)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                failure = failure_of(error)
                text = f"{failure.type}: {failure.message}"
                return Reason("tree-not-importable", failure.file, failure.line, text)

    def perform(self, operation: Callable[..., T], *arguments: Any) -> T:
        """An operation on plain data (see `sandbox.operations`), here and now."""
        return operation(self, *arguments)

    def why(self, launch: Launch, field: str) -> WhyReport:
        """The prediction and every place that can write one field (see `resolve.why`)."""
        from sgcheck.resolve.why import why

        return why(self, launch, field)

    def watched(self, launch: Launch, watcher: Callable[[Trace], Any]) -> Any:
        """Run a launch once more with a tracer on its lines; returns what `watcher` made."""
        if self._sides:
            return self._sides[-1].watched(launch, watcher)
        if launch.has_unknowns:
            return None
        machine = self._machine(launch)
        module = self._entry(machine, launch)
        if isinstance(module, Reason):
            return None
        recorder = Trace(frozenset(machine.fields or {}))
        watch = watcher(recorder)
        argv = launch_argv(launch)
        interpreter, world = machine.interpreter, machine.world
        with (
            interpreter.running(OpaqueOperations(), **self._limits),
            interpreter.session(),
        ):
            world.enter(launch, machine.env_for(launch), argv)
            before = sys.gettrace()
            sys.settrace(watch.on_call)
            try:
                run_launch(module, argv, recorder)
            finally:
                sys.settrace(before)
            # The session takes its changes back: the events are needed afterwards.
            recorder.events = list(recorder.events)
        return watch

    def asked(self, launch: Launch, question: Callable[[Any, Callable[[str], Any]], Any]) -> Any:
        """What `question` makes of the module of `ServerArgs` on this machine; nothing is resolved.

        It is handed the module, and a function that gives other modules of the tree by name.
        A `Reason` where the module cannot be had, or where the tree's own code does not get to an
        answer. Objects of the tree must not leave `question`.
        """
        machine = self._machine(launch)
        module = self._entry(machine, launch)
        if isinstance(module, Reason):
            return module
        with (
            machine.interpreter.running(OpaqueOperations(), **self._limits),
            machine.interpreter.session(),
        ):
            machine.world.enter(launch, machine.env_for(launch), [])
            try:
                return question(module, machine.interpreter.module)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                return stopped(error)

    def _known(
        self,
        launch: Launch,
        argv: list[str],
        trace: bool,
        unknown: dict[str, str],
        *,
        alone: bool = False,
        report: Report = answers.resolution,
    ) -> Any:
        """The fast way: run once; nothing may have to be decided.

        `alone`: with modules that have served no other launch. `report` is given what came of it.
        """
        machine = self._machine(launch, alone=alone)
        if self._once:
            self._machines.clear()
        module = self._entry(machine, launch)
        if isinstance(module, Reason):
            return self._nothing(launch, module)
        world = machine.world
        fields = machine.fields or {}
        recorder = Trace(frozenset(fields), quiet=not trace)
        kept = Snapshot()

        def keep(record: Any, run: Run) -> None:
            kept.values = run.values
            kept.events = list(recorder.events)

        with (
            machine.interpreter.running(OpaqueOperations(), **self._limits),
            machine.interpreter.session(last=self._once) as journal,
        ):
            before = machine.env_for(launch)
            world.enter(launch, before, argv)
            code = self.code.live_code() if unknown else ()
            world.forget_models(unknown, code, launch.model.given)
            machine.parser.begin(journal, recorder if trace else None)
            try:
                run = run_launch(module, argv, recorder, keep)
                kept.records = list(world.log.records)
                kept.environment = dict(world.environ.content)
                if run.status == "ok":
                    load = machine.interpreter.module
                    kept.selected = select(
                        load, run.record, run.values.get(ALGORITHM), once(describe)
                    )
            finally:
                world.forget_models({}, ())
            outdated = world.environ.outdated()
            if run.status == "ok":
                explored = Explored([(TRUE, kept)], [])
            else:
                loss = Loss(TRUE, run.error, run.reason, run.failure or run.reason)
                explored = Explored([], [loss], kept)
            explored.imported = world.environ.imported
            explored.record = run.record
            result = report(self, launch, argv, explored, Space(), machine, recorder, before)
        if outdated and not alone:
            return self._known(launch, argv, trace, unknown, alone=True, report=report)
        return result

    def _explored(
        self,
        launch: Launch,
        argv: list[str],
        trace: bool,
        unknown: dict[str, str],
        *,
        alone: bool = False,
        report: Report = answers.resolution,
        space: Space | None = None,
        given: Condition = TRUE,
    ) -> Any:
        """Every path of a launch in which something is not known, where `given` holds."""
        from sgcheck.interp.explore import Explorer
        from sgcheck.world import given_facts

        explorer = Explorer(describe, space, given)
        explorer.explores_bodies = bool(launch.unknown_env)
        stated = given_facts.condition_of(explorer.space, launch.model.given)
        if stated is not None:
            explorer.given = explorer.space.both(given, stated)
        bodies = explorer.explores_bodies
        machine = self._machine(launch, branching=True, alone=alone or bodies)
        module = self._entry(machine, launch, explorer if bodies else None)
        if isinstance(module, Reason):
            return self._nothing(launch, module)
        world = machine.world
        fields = machine.fields or {}
        recorder = Trace(frozenset(fields), quiet=not trace)
        with (
            machine.interpreter.running(explorer, **self._limits),
            machine.interpreter.session(),
        ):
            before = machine.env_for(launch)
            world.enter(launch, before, argv)
            world.forget_models(unknown, self.branching_code.live_code(), launch.model.given)
            try:
                load = machine.interpreter.module
                explored = explore(explorer, module, argv, recorder, world, load)
                if explorer.splits:
                    raise situations.Divided(explorer.splits[0])
                outdated = world.environ.outdated()
                explorer.space.start_counting(forget=False)
                result = report(
                    self, launch, argv, explored, explorer.space, machine, recorder, before
                )
            finally:
                world.forget_models({}, ())
        if outdated and not alone and not bodies:
            return self._explored(
                launch, argv, trace, unknown, alone=True, report=report, space=space, given=given
            )
        return result

    def _settle(self) -> None:
        """Save code that was translated for this launch."""
        self.code.save()
        if "branching_code" in vars(self):
            self.branching_code.save()

    def _close(self, machine: Machine) -> None:
        machine.close()
        self._closed += 1
        if self._closed % COLLECTED_MACHINES == 0:
            gc.collect()

    def drop(self, machine: Machine) -> None:
        """A start ran on a machine: bodies of modules that it ran saw what this launch decided."""
        self._machines = [pair for pair in self._machines if pair[1] is not machine]
        self._spent.append(machine)

    def _machine(self, launch: Launch, *, branching: bool = False, alone: bool = False) -> Machine:
        while self._spent:
            self._close(self._spent.pop())
        key = (launch.target, branching, tuple(sorted(launch.packages.items())))
        for index, (known, machine) in enumerate(self._machines):
            if known == key and not alone and machine.fits(launch.env, launch.unknown_env):
                self._machines.append(self._machines.pop(index))
                return machine
        # What is not there need not be taken away: the launch says only that it is absent.
        changes = {
            name: present
            for name, present in launch.packages.items()
            if present or self._profile.has_dist(name) is not False
        }
        profile = changed(self._profile, changes)
        pins = {name: profile.version(name) or "" for name in ("torch", "transformers")}
        code = self.branching_code if branching else self.code
        machine = Machine(
            code,
            launch.target,
            profile.for_cuda(launch.target.cuda),
            launch.env,
            pins,
            stand_in=self.stand_in,
            one_of_many=bool(self._machines) and not alone,
        )
        if alone:
            return machine
        self._machines.append((key, machine))
        if len(self._machines) > KEPT_MACHINES:
            self._close(self._machines.pop(0)[1])
        return machine

    def _unmodelled(self, launch: Launch) -> Resolution:
        return self._nothing(launch, Reason("target-not-modelled", detail=launch.target.arch))

    def _nothing(self, launch: Launch, reason: Reason) -> Resolution:
        return nothing(self.info, launch, reason)
