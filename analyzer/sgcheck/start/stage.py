"""One start: what is built and runs, and whether it gets there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from sgcheck.interp import guards
from sgcheck.interp.interpreter import Interpreter
from sgcheck.resolve.resolution import Cell, LayerRow, Outcome, Reason, RoleRunning, Running, Stage
from sgcheck.resolve.run import Failure, failure_of, stopped
from sgcheck.start.assumptions import StartOperations
from sgcheck.start.certain import is_certain
from sgcheck.start.entering import enter
from sgcheck.start.layers import (
    attribute,
    decided,
    facts_of,
    kind_of,
    layers_of,
    short,
    spans,
    unknown,
)
from sgcheck.start.probe import Link, Probe
from sgcheck.start.shortened import CODE as DOUBTFUL
from sgcheck.start.shortened import is_of_a_layer, without_doubtful_errors
from sgcheck.syntax.names import source_name
from sgcheck.values.signals import EngineSignal
from sgcheck.values.unknown import ASK, Unknown
from sgcheck.world.tensors.dtypes import DTYPES
from sgcheck.world.tensors.recorder import RECORDER

_STAGES: dict[str, Stage] = {
    "load_model": "build",
    "initialize_model": "build",
    "_initialize_model": "build",
    "load_weights_and_postprocess": "load",
    "process_weights_after_loading": "load",
    "load_weights": "load",
    "init_memory_pool": "memory",
    "init_memory_pools": "memory",
    "init_attention_backend": "attention",
    "init_all_attention_backends": "attention",
}
_DRAFT = frozenset({"maybe_init_draft_worker", "init_draft_worker", "create_draft_worker"})

ErrorOf = Callable[[Failure], Any]


def follow(
    interpreter: Interpreter, record: Any, error_of: ErrorOf, link: Link, shortened: bool = False
) -> tuple[Outcome, Running]:
    """Follow a start whose arguments are resolved. `error_of` makes the reported error of a failure.

    `shortened`: not every module that the checkpoint leaves unquantized is known.
    """
    operations = StartOperations()
    ASK.append(operations)
    RECORDER.starting = True
    try:
        outcome, reason = _outcome(interpreter, record, error_of, shortened)
        running = _running(interpreter, reason, link)
        asked = tuple(
            replace(value.reason, file=file, line=line)
            for (file, line), value in sorted(operations.asked.items(), key=lambda item: item[0])
        )
        running = replace(running, assumed=asked)
        return outcome, without_doubtful_errors(running) if shortened else running
    finally:
        RECORDER.starting = False
        ASK.pop()


def _outcome(
    interpreter: Interpreter, record: Any, error_of: ErrorOf, shortened: bool
) -> tuple[Outcome, Reason | None]:
    try:
        enter(interpreter, record)
    except (EngineSignal, RecursionError, MemoryError) as end:
        reason = stopped(end)
        return Outcome("unknown", reason=reason, stage=stage_of(end.__traceback__)), reason
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        failure = failure_of(error)
        stage = stage_of(error.__traceback__)
        doubtful = shortened and is_of_a_layer(error.__traceback__, stage == "draft")
        certain = is_certain(error, interpreter.world.started.modelled)
        # What no line of the tree raises comes from how the start was entered here.
        absent = isinstance(error, ImportError)
        if failure.file is not None and certain and not doubtful and not absent:
            return Outcome("startup_error", error_of(failure), stage=stage), None
        detail = f"{failure.type}: {failure.message}"
        code = DOUBTFUL if doubtful else "tensor-operation"
        if absent:
            # An image may bring what a plain installation lacks.
            code = "package-not-installed"
        reason = Reason(code, failure.file, failure.line, detail)
        return Outcome("unknown", reason=reason, stage=stage), reason
    return Outcome("ok", stage="kernel"), None


def stage_of(trace: TracebackType | None) -> Stage:
    """The stage of a start in which an exception came up, by the functions on its way."""
    stage: Stage = "configure"
    draft = False
    while trace is not None:
        name = source_name(trace.tb_frame.f_code.co_qualname).rpartition(".")[2]
        stage = _STAGES.get(name, stage)
        draft = draft or name in _DRAFT
        trace = trace.tb_next
    return "draft" if draft else stage


def _running(interpreter: Interpreter, reason: Reason | None, link: Link) -> Running:
    roles: dict[str, RoleRunning] = {}
    for runner in interpreter.world.started.runners:
        draft = attribute(runner, "is_draft_worker") is True
        role = "draft" if draft else "main"
        if role in roles:
            continue
        try:
            with _contexts(interpreter, draft):
                roles[role] = _role(interpreter, runner, link)
        except EngineSignal as signal:
            # A start that failed half way may have left a model that cannot be read.
            reason = reason or stopped(signal)
    return Running(roles.get("main"), roles.get("draft"), reason)


@contextmanager
def _contexts(interpreter: Interpreter, draft: bool) -> Iterator[None]:
    """A draft computes under the backends that its flags choose."""
    with ExitStack() as stack:
        if draft:
            utils = interpreter.module("sglang.srt.layers.moe.utils")
            for name in ("speculative_moe_backend_context", "speculative_moe_a2a_backend_context"):
                if hasattr(utils, name):
                    stack.enter_context(guards.call(getattr(utils, name)))
        yield


def _role(interpreter: Interpreter, runner: Any, link: Link) -> RoleRunning:
    config = attribute(runner, "model_config")
    parts = {
        "quantization": _plain(attribute(config, "quantization")),
        "kv_cache_dtype": _dtype(attribute(runner, "kv_cache_dtype")),
        "attention": _present(attribute(runner, "attn_backend")),
    }
    model = attribute(runner, "model")
    if model is None:
        missing = unknown(Reason("not-built"))
        return RoleRunning({"model_class": missing, **parts})
    rows = _rows(interpreter, model, attribute(config, "dtype"), link)
    return RoleRunning({"model_class": short(model), **parts}, rows)


def _plain(value: Any) -> Cell:
    return unknown(value.reason) if isinstance(value, Unknown) else decided(value)


def _dtype(value: Any) -> Cell:
    if value is None:
        return unknown(Reason("not-built"))
    return (
        _plain(value)
        if isinstance(value, Unknown)
        else decided(getattr(value, "_name", str(value)))
    )


def _present(value: Any) -> Cell:
    return unknown(Reason("not-built")) if value is None else short(value)


def _rows(interpreter: Interpreter, model: Any, dtype: Any, link: Link) -> tuple[LayerRow, ...]:
    modules = dict(model.named_modules())
    probe = Probe(modules, dtype or DTYPES["bfloat16"], interpreter.module, link)
    groups: dict[tuple[Any, ...], tuple[dict[str, Cell], list[str]]] = {}
    for name, module in layers_of(model):
        cells = facts_of(module)
        key = (kind_of(name), *((k, c.status, c.value) for k, c in cells.items()))
        groups.setdefault(key, (cells, []))[1].append(name)
    rows = []
    for cells, names in groups.values():
        cells["kernel"] = probe.kernel(names[0])
        rows.append(LayerRow(kind_of(names[0]), len(names), spans(names), cells))
    return tuple(rows)
