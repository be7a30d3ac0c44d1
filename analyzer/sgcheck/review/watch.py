"""One launch run once more, from the first import on, with every line of the tree noted."""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sgcheck.errors import WorkerEnded
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.performing import Performs
from sgcheck.values.signals import EngineSignal

if TYPE_CHECKING:
    from sgcheck.resolve.predict import Predictor
    from sgcheck.review.model import ReviewLaunch

PACKAGE = "sglang/"


@dataclass(slots=True)
class Run:
    """What ran. `lines` maps (file, line) to the order in which it first did.

    `calls` are (calling file, its line, called file, first line of the called code).
    """

    lines: dict[tuple[str, int], int] = field(default_factory=dict)
    calls: set[tuple[str, int, str, int]] = field(default_factory=set)

    def on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        """For `sys.settrace`."""
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return None
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(PACKAGE):
            caller = caller.f_back
        if caller is not None:
            self.calls.add(
                (caller.f_code.co_filename, caller.f_lineno, code.co_filename, code.co_firstlineno)
            )
        return self.on_line

    def on_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        """For `sys.settrace`."""
        if event == "line":
            place = (frame.f_code.co_filename, frame.f_lineno)
            if place not in self.lines:
                self.lines[place] = len(self.lines)
        return self.on_line


class WatchedLines(Struct, frozen=True):
    """A `Run` as plain data."""

    lines: tuple[tuple[str, int], ...]
    calls: tuple[tuple[str, int, str, int], ...]


def watch(predictor: Performs, each: ReviewLaunch) -> Run | None:
    """The lines of one launch of a known model; None where nothing could be run."""
    try:
        found = predictor.perform(watch_lines, each.launch)
    except WorkerEnded:
        return None
    if found is None:
        return None
    return Run({place: number for number, place in enumerate(found.lines)}, set(found.calls))


def watch_lines(predictor: Predictor, launch: Launch) -> WatchedLines | None:
    """The operation: `watch` where the tree runs."""
    from sgcheck.interp.opaque import OpaqueOperations
    from sgcheck.resolve.launch import launch_argv, unknown_models
    from sgcheck.resolve.predict import SECONDS, STEPS
    from sgcheck.resolve.run import SERVER_ARGS_MODULE, run_launch

    argv = launch_argv(launch)
    if not launch.target.modelled or unknown_models(launch, argv):
        return None
    # What is there already outlives this: the collector need not look at it, neither now and then
    # nor when the machine is closed.
    gc.freeze()
    machine = predictor._machine(launch, alone=True)
    run = Run()
    interpreter = machine.interpreter
    try:
        with interpreter.running(OpaqueOperations(), seconds=SECONDS, steps=STEPS):
            before = sys.gettrace()
            sys.settrace(run.on_call)
            try:
                module = interpreter.module(SERVER_ARGS_MODULE)
                with interpreter.session():
                    machine.world.enter(launch, machine.env_for(launch), argv)
                    run_launch(module, argv, None)
            except (EngineSignal, Exception):
                # What had run until then is still worth having.
                pass
            finally:
                sys.settrace(before)
    finally:
        machine.close()
        gc.unfreeze()
    lines = sorted(run.lines, key=run.lines.__getitem__)
    return WatchedLines(tuple(lines), tuple(run.calls))
