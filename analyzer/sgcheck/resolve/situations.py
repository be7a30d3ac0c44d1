"""A launch whose machine or packages are not wholly known: one run for each that may be.

What decides at import (which packages are there, which architecture) is settled before the code
of the tree runs, so each situation is a launch of its own with a condition. Their paths together
are the paths of the launch: the answers are merged as those of any exploration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from sgcheck.errors import UsageError
from sgcheck.interp.journal import MISSING
from sgcheck.interp.paths import Loss
from sgcheck.resolve import answers
from sgcheck.resolve.copies import copied
from sgcheck.resolve.environment import left_behind
from sgcheck.resolve.explored import Explored, Snapshot
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.resolution import Outcome, Reason, Resolution
from sgcheck.resolve.trace import Event, Trace
from sgcheck.values.condition import FALSE, TRUE, Condition, Space
from sgcheck.values.signals import LimitReached
from sgcheck.world import unknown_inputs
from sgcheck.world.stdlib.logging_ import Record

if TYPE_CHECKING:
    from sgcheck.resolve.machine import Machine
    from sgcheck.resolve.predict import Predictor

MAX_SITUATIONS = 100
"""Combinations of machines and packages that are looked at; more are unknown(limit)."""


class Situation(Struct, frozen=True):
    """One machine with its packages: the values of input variables, and the launch there."""

    values: tuple[tuple[str, Any], ...]
    launch: Launch


class Divided(Exception):
    """A situation cannot be run as one: each of `options`, which exclude each other, has to be."""

    def __init__(self, options: Sequence[Condition]) -> None:
        super().__init__("divided")
        self.options = tuple(options)


class _Part(Struct, frozen=True):
    """What one situation came to; values are copies that outlive its session."""

    explored: Explored
    machine: Machine | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    initial: Mapping[str, Any] = field(default_factory=dict)


def are_several(launch: Launch) -> bool:
    """Whether the launch has more than one situation."""
    return bool(launch.target.machines or launch.unknown_packages or launch.unknown_env)


def of_launch(launch: Launch) -> list[Situation]:
    """Every situation. Raises UsageError for a package that is both known and unknown."""
    target = launch.target
    names = tuple(dict.fromkeys(launch.unknown_packages))
    for name in names:
        if name in launch.packages:
            raise UsageError(
                f"{name} is said to be there (or not) and not to be known: leave one of them out."
            )
    found: list[Situation] = []
    for machine in target.machines or (target,):
        machine_values: list[tuple[str, Any]] = []
        if "arch" in target.unknown:
            machine_values.append((unknown_inputs.ARCHITECTURE, machine.arch))
        if "cuda" in target.unknown:
            machine_values.append((unknown_inputs.CUDA, machine.cuda))
        for number in range(1 << len(names)):
            present = {name: not number >> i & 1 for i, name in enumerate(names)}
            values = [
                *machine_values,
                *((unknown_inputs.package_question(n), v) for n, v in present.items()),
            ]
            changed = replace(
                launch,
                target=machine,
                packages={**launch.packages, **present},
                unknown_packages=(),
            )
            found.append(Situation(tuple(values), changed))
            if len(found) > MAX_SITUATIONS:
                return found
    return found


def conditions(space: Space, found: list[Situation]) -> list[Condition]:
    """The condition of each situation; they exclude each other."""
    domains: dict[str, dict[Any, None]] = {}
    for situation in found:
        for name, value in situation.values:
            domains.setdefault(name, {})[value] = None
    variables = {}
    for name, domain in domains.items():
        kind = "flag" if set(domain) <= {True, False} else unknown_inputs.KIND
        variables[name] = space.variable(name, domain, None, kind)
    out = []
    for situation in found:
        condition = TRUE
        for name, value in situation.values:
            condition = space.both(condition, space.among(variables[name], [value]))
        out.append(condition)
    return out


def resolution(
    predictor: Predictor,
    launch: Launch,
    argv: list[str],
    trace: bool,
    explore: bool,
    report: Callable[..., Any] = answers.resolution,
) -> Any:
    """The prediction over all situations: what `report` makes of it (see `answers.resolution`)."""
    found = of_launch(launch)
    if len(found) > MAX_SITUATIONS:
        detail = f"more than {MAX_SITUATIONS} combinations of machines and packages"
        return _nothing(predictor, launch, argv, Reason("limit(situations)", detail=detail))
    space = Space()
    first: _Part | None = None
    count = 0
    whole = Explored([], [], given=FALSE)
    todo = list(zip((s.launch for s in found), conditions(space, found), strict=True))
    whole.given = space.any_of(condition for _, condition in todo)
    while todo:
        own, condition = todo.pop(0)
        try:
            if count + len(todo) >= 2 * MAX_SITUATIONS:
                raise LimitReached("situations")
            space.start_counting()
            part = _part(predictor, own, condition, space, trace, explore)
        except Divided as divided:
            halves = [space.both(condition, option) for option in divided.options]
            todo[:0] = [(own, half) for half in halves if half is not FALSE]
            continue
        except LimitReached as limit:
            part = _nothing_known(condition, limit.reason)
        if first is None and part.machine is not None:
            first = part
        count += 1
        whole.ends.extend(part.explored.ends)
        whole.losses.extend(part.explored.losses)
    space.start_counting()
    if first is None or first.machine is None:
        reason = next((loss.reason for loss in whole.losses if loss.reason), Reason("no-path"))
        return _nothing(predictor, launch, argv, reason)
    recorder = Trace(frozenset(first.machine.fields or {}), quiet=not trace)
    recorder.on_construct(dict(first.initial))
    return report(predictor, launch, argv, whole, space, first.machine, recorder, first.environment)


def _nothing(predictor: Predictor, launch: Launch, argv: list[str], reason: Reason) -> Resolution:
    return Resolution(
        predictor.info,
        launch.target.to_target(),
        launch.model.info(),
        tuple(argv),
        Outcome("unknown", reason=reason),
    )


def _part(
    predictor: Predictor,
    launch: Launch,
    condition: Condition,
    space: Space,
    trace: bool,
    explore: bool,
) -> _Part:
    from sgcheck.resolve.launch import launch_argv

    argv = launch_argv(launch)

    def keep(
        predictor: Predictor,
        launch: Launch,
        argv: list[str],
        explored: Explored,
        own: Space,
        machine: Machine,
        recorder: Any,
        before: Mapping[str, str],
    ) -> _Part:
        return _Part(
            _kept(explored, condition, own is space, before),
            machine,
            dict(before),
            {n: copied(v) for n, v in recorder.initial.items()} if recorder is not None else {},
        )

    result = predictor.run(launch, argv, trace, explore, report=keep, space=space, given=condition)
    if isinstance(result, Resolution):
        reason = result.outcome.reason or Reason("engine")
        return _nothing_known(condition, reason)
    return result  # type: ignore[no-any-return]


def _nothing_known(condition: Condition, reason: Reason) -> _Part:
    """A situation of which nothing can be said."""
    return _Part(Explored([], [Loss(condition, None, reason, reason)]))


def _kept(
    explored: Explored, condition: Condition, shares_space: bool, before: Mapping[str, str]
) -> Explored:
    """What a run came to, free of everything that its session takes back."""

    def where(own: Condition) -> Condition:
        # The fast way knows no conditions: whatever it says holds in the whole situation.
        return own if shares_space else condition

    ends = [(where(c), _copied(s, explored.imported, before)) for c, s in explored.ends]
    losses = [replace(loss, condition=where(loss.condition)) for loss in explored.losses]
    return Explored(ends, losses)


def _copied(snapshot: Snapshot, imported: Mapping[str, Any], before: Mapping[str, str]) -> Snapshot:
    environment = {}
    for name in {*snapshot.environment, *before}:
        value = left_behind(
            snapshot.environment.get(name), before.get(name), imported.get(name, MISSING)
        )
        environment[name] = copied(value)
    return Snapshot(
        {name: copied(value) for name, value in snapshot.values.items()},
        [
            Event(e.kind, e.field, copied(e.value), e.file, e.line, e.function, e.condition)
            for e in snapshot.events
        ],
        [Record(r.level, r.text(), (), r.file, r.line, r.condition) for r in snapshot.records],
        environment,
        {
            role: replace(
                chosen, ends=[(condition, copied(value)) for condition, value in chosen.ends]
            )
            for role, chosen in snapshot.selected.items()
        },
    )
