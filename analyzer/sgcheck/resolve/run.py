"""Run one launch in an interpreter: SGLang's parser, its resolution, its checks.

The order is the launcher's: `prepare_server_args`, `resolve_once` where the tree has it, then
`check_server_args`; fields are read before the check, as the launcher hands them on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from sgcheck.interp.faults import arguments_of, fault_of, name_of, traceback_of
from sgcheck.interp.natives import is_tree_class
from sgcheck.resolve.resolution import Reason
from sgcheck.resolve.trace import Trace
from sgcheck.syntax.names import PREFIX, guard, source_name
from sgcheck.values.kinds import is_a
from sgcheck.values.signals import EngineSignal
from sgcheck.values.spoken import spoken
from sgcheck.values.unknown import find_unknown
from sgcheck.world.packages_ import struct_fields
from sgcheck.world.stdlib.argparse_ import ArgumentParser, Given, ParserLeft, ParserRefused

if TYPE_CHECKING:
    import argparse
else:
    from sgcheck.world.stdlib.argparse_ import argparse

SERVER_ARGS_MODULE = "sglang.srt.server_args"


class Failure(Struct):
    """An exception of the tree, with its innermost line there."""

    type: str
    message: str
    file: str | None
    line: int | None
    function: str | None
    tip: str | None = None


class Run(Struct):
    """What one path of a launch came to. `values` are raw (engine) values."""

    status: str
    failure: Failure | None = None
    reason: Reason | None = None
    values: dict[str, Any] = field(default_factory=dict)
    record: Any = None
    stage: str = "parse"
    error: BaseException | None = None


def record_fields(cls: type) -> dict[str, Any]:
    """Field names of the record class and their defaults (`dataclasses.MISSING` where required)."""
    if issubclass(cls, msgspec.Struct):
        fields: Any = struct_fields(cls)
        missing = msgspec.NODEFAULT
    else:
        fields = dataclasses.fields(cls)  # type: ignore[arg-type]
        missing = dataclasses.MISSING  # type: ignore[assignment]
    out: dict[str, Any] = {}
    for each in fields:
        if each.default is not missing:
            out[each.name] = each.default
        elif each.default_factory is not missing:
            try:
                out[each.name] = each.default_factory()
            except Exception:
                out[each.name] = dataclasses.MISSING
        else:
            out[each.name] = dataclasses.MISSING
    return out


def innermost(trace: TracebackType | None) -> tuple[str | None, int | None, str | None]:
    """File, line and function of the innermost frame that runs code of the tree."""
    found: tuple[str | None, int | None, str | None] = (None, None, None)
    while trace is not None:
        code = trace.tb_frame.f_code
        space = trace.tb_frame.f_globals.get("__builtins__")
        if isinstance(space, dict) and guard("c") in space and not code.co_filename.startswith("<"):
            added = code.co_name == "<lambda>" and code.co_varnames[:1] == (PREFIX,)
            function = found[2] if added else source_name(code.co_qualname)
            found = (code.co_filename, trace.tb_lineno, function)
        trace = trace.tb_next
    return found


def failure_of(error: BaseException) -> Failure:
    """What a user would see of an exception."""
    trace = traceback_of(error)
    file, line, function = innermost(trace)
    if not is_tree_class(type(error)) and getattr(error, "unplaced", False):
        file = line = function = None
    kind = name_of(type(error))
    args = arguments_of(error)
    try:
        if find_unknown(list(args)) is not None:
            message = " ".join(map(spoken, args))
        else:
            # A text of the tree's own kind is no text: it says something else each time.
            message = str.__str__(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException:
        message = kind
    if is_a(error, NameError) and _in_added_function(trace):
        # In the source the name is a local of the function that encloses the added one.
        kind = "UnboundLocalError"
        message = message.replace("free variable", "local variable").replace(
            " in enclosing scope", ""
        )
    return Failure(kind, message, file, line, function)


def refusal_of(refusal: ParserRefused) -> Failure:
    """What a user would see of the parser's refusal, and what to write instead."""
    from sgcheck.resolve.refusal import advice

    tip = advice(refusal.message, refusal.spellings)
    return Failure("SystemExit", refusal.message, None, None, None, tip)


def _in_added_function(trace: TracebackType | None) -> bool:
    """Whether the innermost frame is a function that translation added."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    code = trace.tb_frame.f_code
    return code.co_name.startswith(PREFIX) or code.co_varnames[:1] == (PREFIX,)


def with_place(reason: Reason, trace: TracebackType | None) -> Reason:
    """A reason that knows no line yet gets the one at which the engine stopped."""
    if reason.file is not None:
        return reason
    file, line, _ = innermost(trace)
    return replace(reason, file=file, line=line)


def stopped(error: BaseException) -> Reason:
    """Why a launch came to no end of its own. A fault of sgcheck itself is raised again."""
    if isinstance(error, EngineSignal):
        reason = getattr(error, "reason", Reason("engine"))
    elif isinstance(error, RecursionError):
        reason = Reason("limit(recursion)")
    elif isinstance(error, MemoryError):
        reason = Reason("limit(memory)")
    elif innermost(error.__traceback__)[0] is None:
        raise error
    else:
        failure = failure_of(error)
        reason = Reason("tree-not-usable", detail=f"{failure.type}: {failure.message}")
    return with_place(reason, error.__traceback__)


def run_launch(
    module: Any,
    argv: list[str],
    trace: Trace | None,
    after: Callable[[Any, Run], None] | None = None,
) -> Run:
    """Parse, resolve and check. `after` sees the record between resolution and check."""
    run = Run("ok")
    ArgumentParser.given = Given()
    try:
        if trace is not None:
            trace.install(module.ServerArgs)
        record = module.prepare_server_args(argv)
        run.record = record
        run.stage = "resolve"
        if hasattr(record, "resolve_once"):
            record.resolve_once()
        run.values = read_fields(record)
        if after is not None:
            after(record, run)
        run.stage = "check"
        if hasattr(record, "check_server_args"):
            record.check_server_args()
    except ParserRefused as refusal:
        run.error = refusal
        run.status, run.failure = "cli_error", refusal_of(refusal)
    except ParserLeft as left:
        run.error = left
        message = "the command line asks for help or a version: no server starts"
        run.status, run.failure = "cli_error", Failure("SystemExit", message, None, None, None)
    except argparse.ArgumentError as error:
        run.error = error
        run.status, run.failure = "cli_error", failure_of(error)
    except EngineSignal as signal:
        run.status = "unknown"
        run.reason = with_place(getattr(signal, "reason", Reason("engine")), traceback_of(signal))
    except RecursionError as error:
        run.status, run.reason = (
            "unknown",
            with_place(Reason("limit(recursion)"), traceback_of(error)),
        )
    except MemoryError as error:
        run.status, run.reason = "unknown", with_place(Reason("limit(memory)"), traceback_of(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        fault = fault_of(error)
        if fault is not None:
            run.status, run.reason = "unknown", with_place(fault, traceback_of(error))
        else:
            run.status, run.failure = "startup_error", failure_of(error)
    return run


def read_fields(record: Any) -> dict[str, Any]:
    """Every field after resolution, as the tree itself reports it."""
    reported = getattr(type(record), "resolved_dict", None)
    if reported is not None:
        values: dict[str, Any] = record.resolved_dict()
        return values
    return {name: getattr(record, name, None) for name in record_fields(type(record))}
