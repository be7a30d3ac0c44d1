"""The report of a launch with what runs: the resolution of its arguments, then its start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from sgcheck.interp.runtime import RUNTIME
from sgcheck.resolve import answers
from sgcheck.resolve.explored import Explored
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.machine import Machine
from sgcheck.resolve.resolution import Resolution
from sgcheck.resolve.trace import Trace
from sgcheck.start.entering import SCHEDULER
from sgcheck.start.stage import follow
from sgcheck.values.condition import Space

_HOOKS = ("on_write", "on_declare", "on_display", "on_construct", "on_append")


def resolution(
    predictor: Any,
    launch: Launch,
    argv: list[str],
    explored: Explored,
    space: Space,
    machine: Machine,
    trace: Trace | None,
    env_before: Mapping[str, str],
) -> Resolution:
    """`answers.resolution`, and where all of the arguments is decided, what the start makes of it."""
    given = (predictor, launch, argv, explored, space, machine, trace, env_before)
    result = answers.resolution(*given)
    if result.outcome.status != "ok" or explored.record is None:
        return result
    if machine.interpreter.code.find(SCHEDULER) is None:
        return result  # a tree of the arguments alone: nothing is claimed beyond them
    builder = answers.Answers(predictor, space, trace, machine, explored)
    for hook in _HOOKS:
        setattr(RUNTIME, hook, None)
    predictor.drop(machine)
    shortened = launch.model.lists_shortened
    outcome, running = follow(
        machine.interpreter, explored.record, builder.error, builder.link, shortened
    )
    return replace(result, outcome=outcome, running=running)
