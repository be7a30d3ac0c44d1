"""What a launch runs: its lines, the values its fields get, and chosen lines looked at closely."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from sgcheck.errors import WorkerEnded
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.performing import Performs
from sgcheck.resolve.plain import plain
from sgcheck.resolve.resolution import JsonValue
from sgcheck.syntax.names import source_name

if TYPE_CHECKING:
    from sgcheck.resolve.predict import Predictor
    from sgcheck.resolve.trace import Trace

Place: TypeAlias = tuple[str, int]
"""File and line."""

RECORD_NAMES = ("self", "server_args", "view", "cfg", "args")


@dataclass(frozen=True, slots=True)
class Step:
    """A field is given a value; the value as plain data."""

    field: str
    value: JsonValue
    file: str
    line: int
    function: str

    @property
    def place(self) -> Place:
        return self.file, self.line


@dataclass(frozen=True, slots=True)
class Call:
    """A function that is running, and the line that it is at."""

    file: str
    function: str
    line: int


@dataclass(slots=True)
class Footprint:
    """One run. `first_values` are the fields as the command line makes them.

    `lines` are all that ran, with the order in which each first did.
    """

    lines: dict[Place, int] = field(default_factory=dict)
    functions: set[tuple[str, str]] = field(default_factory=set)
    steps: tuple[Step, ...] = ()
    first_values: dict[str, JsonValue] = field(default_factory=dict)
    stacks: dict[Place, tuple[Call, ...]] = field(default_factory=dict)
    values: dict[Place, dict[str, JsonValue]] = field(default_factory=dict)

    def of(self, name: str) -> list[Step]:
        """What gives a field its values, in order."""
        return [step for step in self.steps if step.field == name]


class _Watch:
    """Follows every line of the tree; at wanted ones it keeps the calls or the fields' values."""

    def __init__(
        self,
        trace: Trace,
        found: Footprint,
        stacks: Collection[Place],
        values: Mapping[Place, Sequence[str]],
    ) -> None:
        self.trace = trace
        self.found = found
        self._stacks = stacks
        self._values = values

    def on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith("sglang/"):
            return None
        self.found.functions.add((code.co_filename, source_name(code.co_qualname)))
        return self.on_line

    def on_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event != "line":
            return self.on_line
        place = (frame.f_code.co_filename, frame.f_lineno)
        found = self.found
        found.lines.setdefault(place, len(found.lines))
        if place in self._stacks and place not in found.stacks:
            found.stacks[place] = _calls(frame)
        if place in self._values and place not in found.values:
            record = record_in(frame)
            values: dict[str, JsonValue] = {}
            for name in self._values[place]:
                try:
                    values[name] = plain(getattr(record, name))
                except Exception:
                    continue
            found.values[place] = values
        return self.on_line


def record_in(frame: FrameType) -> Any:
    """The record (or a view of it) among the frame's locals."""
    for name in RECORD_NAMES:
        if name in frame.f_locals:
            return frame.f_locals[name]
    return next(iter(frame.f_locals.values()), None)


def _calls(frame: FrameType | None) -> tuple[Call, ...]:
    """The tree's functions that are running, the outermost first."""
    found: list[Call] = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith("sglang/"):
            found.append(Call(code.co_filename, source_name(code.co_qualname), frame.f_lineno))
        frame = frame.f_back
    return tuple(reversed(found))


class RanFootprint(Struct, frozen=True):
    """A footprint as plain data; its parts are those of `Footprint`, mappings as pairs."""

    lines: tuple[Place, ...] = ()
    functions: tuple[tuple[str, str], ...] = ()
    steps: tuple[Step, ...] = ()
    first_values: dict[str, JsonValue] = {}
    stacks: tuple[tuple[Place, tuple[Call, ...]], ...] = ()
    values: tuple[tuple[Place, dict[str, JsonValue]], ...] = ()


def footprint(
    predictor: Performs,
    launch: Launch,
    stacks: Collection[Place] = (),
    values: Mapping[Place, Sequence[str]] | None = None,
) -> Footprint | None:
    """Run a launch and follow its lines. None where the module of `ServerArgs` cannot be had.

    `stacks` are lines whose callers are kept, `values` lines at which fields are looked at, both the
    first time that the line runs. A run that meets an unknown ends there.
    """
    wanted = tuple((place, tuple(names)) for place, names in (values or {}).items())
    try:
        ran = predictor.perform(run_footprint, launch, tuple(stacks), wanted)
    except WorkerEnded:
        return None
    if ran is None:
        return None
    return Footprint(
        {place: number for number, place in enumerate(ran.lines)},
        set(ran.functions),
        ran.steps,
        dict(ran.first_values),
        dict(ran.stacks),
        dict(ran.values),
    )


def run_footprint(
    predictor: Predictor,
    launch: Launch,
    stacks: tuple[Place, ...],
    values: tuple[tuple[Place, tuple[str, ...]], ...],
) -> RanFootprint | None:
    """The operation: `footprint` where the tree runs."""
    found = Footprint()
    watch = predictor.watched(
        launch, lambda trace: _Watch(trace, found, frozenset(stacks), dict(values))
    )
    if watch is None:
        return None
    steps = tuple(
        Step(e.field, plain(e.value), e.file, e.line, e.function) for e in watch.trace.events
    )
    return RanFootprint(
        tuple(sorted(found.lines, key=found.lines.__getitem__)),
        tuple(found.functions),
        steps,
        {name: plain(value) for name, value in watch.trace.initial.items()},
        tuple(found.stacks.items()),
        tuple(found.values.items()),
    )
