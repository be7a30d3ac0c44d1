"""A launch in which something is not known: every path, each with its condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from sgcheck.interp.access import tree_frame
from sgcheck.interp.faults import fault_of, traceback_of
from sgcheck.interp.paths import Loss
from sgcheck.resolve.copies import copied
from sgcheck.resolve.initialise import ALGORITHM, Role, Selected, select
from sgcheck.resolve.resolution import Reason
from sgcheck.resolve.run import Failure, failure_of, read_fields, refusal_of, with_place
from sgcheck.resolve.trace import Event, Trace
from sgcheck.values.condition import TRUE, Condition
from sgcheck.values.kinds import is_a
from sgcheck.values.signals import EngineSignal
from sgcheck.values.unknown import Unknown
from sgcheck.world.stdlib.argparse_ import ArgumentParser, Given, ParserLeft, ParserRefused
from sgcheck.world.stdlib.logging_ import Record
from sgcheck.world.world import World

if TYPE_CHECKING:
    from sgcheck.interp.explore import Explorer

HELP = "the command line asks for help or a version: no server starts"


class Snapshot(Struct):
    """What stood when a path had come to its end."""

    values: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    selected: dict[Role, Selected] = field(default_factory=dict)


class Explored(Struct):
    """All paths: those that start, and those that end early.

    `stopped` is what stood where the only path ended early. `imported` is what the bodies of modules
    wrote into the environment: no decision about the launch.
    """

    ends: list[tuple[Condition, Snapshot]]
    losses: list[Loss]
    stopped: Snapshot | None = None
    imported: Mapping[str, Any] = field(default_factory=dict)
    given: Condition = TRUE
    """What holds on all paths: the rest cannot be."""
    record: Any = None
    """The record itself, where there was one path only and it came to its end."""

    def undecided(self) -> Reason | None:
        """Why nothing can be said at all; None where something is known."""
        if self.ends or any(isinstance(loss.info, Failure) for loss in self.losses):
            return None
        infos = (
            loss.info if isinstance(loss.info, Reason) else loss.reason for loss in self.losses
        )
        return next(iter(infos), None) or Reason("no-path")


def describe(error: BaseException) -> Any:
    """What is kept of an exception: a `Failure`, or the engine's reason with its place."""
    if is_a(error, ParserRefused):
        return refusal_of(error)
    if is_a(error, ParserLeft):
        return Failure("SystemExit", HELP, None, None, None)
    if is_a(error, EngineSignal):
        reason = getattr(error, "reason", None)
        if reason is None:
            return None
        placed = with_place(reason, traceback_of(error))
        return placed if placed.file is not None else _placed_here(placed)
    fault = fault_of(error)
    if fault is not None:
        return with_place(fault, traceback_of(error))
    return failure_of(error)


def _placed_here(reason: Reason) -> Reason:
    """The line of the tree that is running now."""
    try:
        frame = tree_frame()
    except EngineSignal:
        return reason
    return replace(reason, file=frame.f_code.co_filename, line=frame.f_lineno)


def explore(
    explorer: Explorer,
    module: Any,
    argv: list[str],
    trace: Trace | None,
    world: World,
    load: Callable[[str], Any],
) -> Explored:
    """Parse, resolve and check, on every path. Call inside a session."""
    ArgumentParser.given = Given()
    if trace is not None:
        trace.install(module.ServerArgs)

    def launch() -> Snapshot:
        record = explorer.region(module.prepare_server_args, (argv,), {})
        if isinstance(record, Unknown):
            # Paths that parted before the record was made have one each.
            record = explorer.pick(record)
        if hasattr(record, "resolve_once"):
            explorer.region(record.resolve_once, (), {})
        values = explorer.region(read_fields, (record,), {})
        snapshot = Snapshot(
            {name: copied(value) for name, value in values.items()},
            list(trace.events) if trace is not None else [],
            list(world.log.records),
            dict(world.environ.content),
        )
        if hasattr(record, "check_server_args"):
            explorer.region(record.check_server_args, (), {})
            snapshot.records = list(world.log.records)
            snapshot.environment = dict(world.environ.content)
        snapshot.selected = select(load, record, values.get(ALGORITHM), explorer.aside)
        return snapshot

    ends = explorer.run(launch)
    return Explored(ends, explorer.losses, imported=world.environ.imported, given=explorer.given)
