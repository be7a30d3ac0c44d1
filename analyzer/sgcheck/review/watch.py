"""One launch run once more, from the first import on, with every line of the tree noted."""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

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


def watch(predictor: Predictor, each: ReviewLaunch) -> Run | None:
    """The lines of one launch of a known model; None where nothing could be run."""
    from sgcheck.interp.opaque import OpaqueOperations
    from sgcheck.resolve.launch import launch_argv, unknown_models
    from sgcheck.resolve.predict import SECONDS, STEPS
    from sgcheck.resolve.run import SERVER_ARGS_MODULE, run_launch

    launch = each.launch
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
    return run
