"""From raw values and events of one run to the answers that are reported."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sgcheck.resolve import effective
from sgcheck.resolve.plain import plain
from sgcheck.resolve.resolution import (
    Because,
    FieldAnswer,
    JsonValue,
    LaunchError,
    LogLine,
    Outcome,
    Reason,
    Resolution,
)
from sgcheck.resolve.run import Failure, Run
from sgcheck.resolve.trace import Event, Trace
from sgcheck.values.unknown import find_unknown
from sgcheck.world.stdlib.argparse_ import ArgumentParser
from sgcheck.world.world import World

if TYPE_CHECKING:
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.predict import Predictor

_MISSING = dataclasses.MISSING


def resolution(
    predictor: Predictor,
    launch: Launch,
    argv: list[str],
    run: Run,
    defaults: Mapping[str, Any],
    trace: Trace | None,
    world: World,
    env_before: Mapping[str, str],
) -> Resolution:
    """The report of a run on which nothing branched."""
    builder = _Builder(predictor, trace, defaults)
    fields = builder.fields(run) if run.values else {}
    return Resolution(
        predictor.info,
        launch.target.to_target(),
        launch.model.info(),
        tuple(argv),
        builder.outcome(run),
        fields,
        effective.backends(fields) if run.status == "ok" else {},
        tuple(
            LogLine(record.level, record.text(), record.file, record.line)
            for record in world.log.records
            if record.file.startswith("sglang")
        ),
        env_changes(world, env_before),
    )


def env_changes(world: World, before: Mapping[str, str]) -> dict[str, JsonValue]:
    """What resolution set, changed or (None) removed."""
    after = world.environ.content
    names = sorted(set(before) | set(after))
    return {n: plain(after.get(n)) for n in names if before.get(n) != after.get(n)}


class _Builder:
    def __init__(self, predictor: Predictor, trace: Trace | None, defaults: Mapping[str, Any]) -> None:
        self.tree = predictor.tree
        self.code = predictor.code
        self.defaults = defaults
        self.trace = trace
        self.by_field: dict[str, list[Event]] = {}
        for event in trace.events if trace is not None else ():
            self.by_field.setdefault(event.field, []).append(event)
        taken = ArgumentParser.taken or []
        self.user_set = {dest for dest, _ in taken}

    def link(self, file: str | None, line: int | None) -> str | None:
        if file is None or line is None:
            return None
        return self.tree.permalink(file, line)

    def conditions(self, file: str | None, line: int | None) -> tuple[str, ...]:
        if file is None or line is None:
            return ()
        return self.code.conditions(file).at(line)

    def outcome(self, run: Run) -> Outcome:
        error = self.error(run.failure) if run.failure is not None else None
        return Outcome(run.status, error, reason=run.reason)  # type: ignore[arg-type]

    def error(self, failure: Failure) -> LaunchError:
        return LaunchError(
            failure.type,
            failure.message,
            failure.file,
            failure.line,
            failure.function,
            self.conditions(failure.file, failure.line),
            self.link(failure.file, failure.line),
        )

    def fields(self, run: Run) -> dict[str, FieldAnswer]:
        return {name: self.field(name, value) for name, value in run.values.items()}

    def field(self, name: str, value: Any) -> FieldAnswer:
        default = self.defaults.get(name, _MISSING)
        shown_default = None if default is _MISSING else plain(default)
        user_set = name in self.user_set
        initial = self.trace.initial.get(name, default) if self.trace is not None else default
        if not user_set and initial is not _MISSING and find_unknown(initial) is None:
            user_set = default is not _MISSING and plain(initial) != shown_default
        user_value = plain(initial) if user_set and initial is not _MISSING else None
        because = self.because(name, user_set, user_value, shown_default)
        unknown = find_unknown(value)
        if unknown is not None:
            reason: Reason = object.__getattribute__(unknown, "reason")
            return FieldAnswer(name, "unknown", None, (), reason, user_value, user_set, shown_default, because)
        return FieldAnswer(name, "decided", plain(value), (), None, user_value, user_set, shown_default, because)

    def because(self, name: str, user_set: bool, user_value: JsonValue, default: JsonValue) -> tuple[Because, ...]:
        if self.trace is None:
            return ()
        events = self.by_field.get(name, [])
        first = Because("flag", user_value, effective=not events) if user_set else Because("default", default, effective=not events)
        steps = [first]
        for index, event in enumerate(events):
            steps.append(
                Because(
                    event.kind,  # type: ignore[arg-type]
                    plain(event.value),
                    event.file,
                    event.line,
                    event.function,
                    self.conditions(event.file, event.line),
                    self.link(event.file, event.line),
                    effective=index == len(events) - 1,
                )
            )
        return tuple(steps)
