"""The process-wide backends: SGLang's own initialisers, run once the record is resolved.

Before it builds a model, the scheduler process hands some flags to functions that keep their choice
in the process: the MoE runner, the FP4 and the FP8 GEMM. Those functions are run here, in the
interpreter, and then asked what they chose, once as the main model asks and once under the scope
in which SGLang builds its draft. A release that has no such function leaves the flag itself.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType, FunctionType
from typing import Any, TypeAlias

from msgspec import Struct, field

from sgcheck.interp.journal import MISSING
from sgcheck.interp.paths import Loss
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.resolve.resolution import Reason
from sgcheck.resolve.run import SERVER_ARGS_MODULE, Failure
from sgcheck.syntax.names import source_name
from sgcheck.values.condition import TRUE, Condition
from sgcheck.values.signals import EngineSignal
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import Unknown

Role: TypeAlias = "tuple[str, str]"
"""`("main", "fp4_gemm")`: who, and what for."""

Ends: TypeAlias = "list[tuple[Condition, Any]]"
Aside: TypeAlias = "Callable[[Callable[[], Any]], tuple[Ends, list[Loss]]]"
"""Runs a function from here on without a trace: its ends with their conditions, and what was lost."""


class Initialiser(Struct, frozen=True):
    """Names of SGLang: where flags become process-wide state, and who asks for it."""

    module: str
    function: str
    reader: str
    draft_scope: str | None = None


INITIALISERS: dict[str, Initialiser] = {
    "moe_runner": Initialiser(
        "sglang.srt.layers.moe.utils",
        "initialize_moe_config",
        "get_moe_runner_backend",
        "speculative_moe_backend_context",
    ),
    "fp4_gemm": Initialiser(
        "sglang.srt.layers.quantization.fp4_utils",
        "initialize_fp4_gemm_config",
        "get_fp4_gemm_runner_backend",
    ),
    "fp8_gemm": Initialiser(
        "sglang.srt.layers.quantization.fp8_utils",
        "initialize_fp8_gemm_config",
        "get_fp8_gemm_runner_backend",
    ),
}
PUBLISHERS: tuple[tuple[str, str, dict[str, str]], ...] = (
    (SERVER_ARGS_MODULE, "set_global_server_args_for_scheduler", {}),
    ("sglang.srt.runtime_context", "publish", {"role": "scheduler"}),
)
"""What makes a record the one of the scheduler process; the first that the tree has is called."""


ALGORITHM = "speculative_algorithm"
ALGORITHMS = ("sglang.srt.speculative.spec_info", "SpeculativeAlgorithm")
NO_MODEL, OWN_ATTENTION = "is_ngram", "is_dflash"
QUESTIONS = (NO_MODEL, OWN_ATTENTION)
"""Asked of the algorithm: whether it drafts without a model, whether its worker chooses its own attention."""
DRAFT = "draft"


class Line(Struct):
    """A line of an initialiser after which something held `value`. `named`: it is state, not a local."""

    number: int
    value: Any
    named: bool


class Selected(Struct):
    """What one role was given: a value under each condition, or (`losses`) why not.

    `lines` are those of the initialiser that ran, in order.
    """

    ends: Ends = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    file: str = ""
    function: str = ""


def select(
    load: Callable[[str], Any], record: Any, algorithm: Any, aside: Aside
) -> dict[Role, Selected]:
    """Publish the record, run every initialiser of the tree, and ask what it chose.

    `algorithm` is the resolved name of the speculative algorithm, or None; what SGLang says of it
    is under `(DRAFT, question)`.
    """
    with _unobserved():
        ends, losses = aside(lambda: _all(load, record, algorithm, aside))
    if len(ends) == 1 and not losses:
        found: dict[Role, Selected] = ends[0][1]
        return found
    out: dict[Role, Selected] = {}
    for condition, part in ends:
        for role, chosen in part.items():
            whole = out.setdefault(role, Selected(file=chosen.file, function=chosen.function))
            whole.ends.extend((condition, value) for _, value in chosen.ends)
            whole.losses.extend(chosen.losses)
            whole.lines.extend(chosen.lines)
    if losses:
        for name, initialiser in INITIALISERS.items():
            for role in ("main", "draft") if initialiser.draft_scope else ("main",):
                out.setdefault((role, name), Selected()).losses.extend(losses)
    return out


def reason_of(losses: list[Loss]) -> Reason:
    """Why an initialiser chose nothing: what stopped the engine, or the error that SGLang raises."""
    info = losses[0].info
    if isinstance(info, Failure):
        return Reason(f"raises({info.type})", info.file, info.line, info.message)
    if isinstance(info, Reason):
        return info
    return losses[0].reason or Reason("engine")


def once(describe: Callable[[BaseException], Any]) -> Aside:
    """`Aside` where nothing has to be decided."""

    def run(func: Callable[[], Any]) -> tuple[Ends, list[Loss]]:
        try:
            return [(TRUE, func())], []
        except EngineSignal as signal:
            reason = getattr(signal, "reason", Reason("engine"))
            return [], [Loss(TRUE, signal, reason, describe(signal))]
        except Exception as error:
            return [], [Loss(TRUE, error, None, describe(error))]

    return run


def _all(
    load: Callable[[str], Any], record: Any, algorithm: Any, aside: Aside
) -> dict[Role, Selected]:
    _publish(load, record)
    out: dict[Role, Selected] = {}
    if algorithm is not None:
        out.update(_questions(load, algorithm, aside))
    for name, initialiser in INITIALISERS.items():
        for role, chosen in _one(load, record, initialiser, aside).items():
            out[(role, name)] = chosen
    return out


def _questions(load: Callable[[str], Any], algorithm: Any, aside: Aside) -> dict[Role, Selected]:
    """What the tree's class of algorithms answers to `QUESTIONS`; unasked where it has none."""
    module, name = ALGORITHMS
    try:
        known = getattr(load(module), name)
    except (ImportError, AttributeError):
        return {}
    out: dict[Role, Selected] = {}
    for question in QUESTIONS:
        if hasattr(known, question):
            ends, losses = aside(partial(_ask, known, algorithm, question))
            out[(DRAFT, question)] = Selected(ends, losses)
    return out


def _ask(known: Any, algorithm: Any, question: str) -> Any:
    return _call(getattr(_call(known.from_string, algorithm), question))


def _publish(load: Callable[[str], Any], record: Any) -> None:
    for module, name, words in PUBLISHERS:
        function = _function(load, module, name)
        if function is not None:
            _call(function, record, **words)
            return


def _one(
    load: Callable[[str], Any], record: Any, names: Initialiser, aside: Aside
) -> dict[str, Selected]:
    function = _function(load, names.module, names.function)
    reader = _function(load, names.module, names.reader)
    if function is None or reader is None:
        return {}
    code = function.__code__
    watch = _Watch(code.co_filename, source_name(code.co_qualname))
    scope = _function(load, names.module, names.draft_scope) if names.draft_scope else None

    def run() -> dict[str, Any]:
        with watch:
            _call(function, *([record] if code.co_argcount else []))
        found = {"main": _backend(_call(reader))}
        if scope is not None:
            with _call(scope):
                found["draft"] = _backend(_call(reader))
        return found

    ends, losses = aside(run)
    roles = ("main",) if scope is None else ("main", "draft")
    return {
        role: Selected(
            [(condition, found[role]) for condition, found in ends],
            losses,
            watch.lines,
            code.co_filename,
            watch.function,
        )
        for role in roles
    }


def _function(load: Callable[[str], Any], module: str, name: str) -> Any:
    """A function of the tree, or None where this release has none of that name."""
    try:
        found = getattr(load(module), name)
    except (ImportError, AttributeError):
        return None
    return found if isinstance(getattr(found, "__wrapped__", found), FunctionType) else None


def _call(function: Any, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs) if R.region is None else R.region(function, args, kwargs)


def _backend(value: Any) -> Any:
    """The text of a backend: an enum's value, in each case of a choice."""
    if isinstance(value, Choice):
        cases: Any = object.__getattribute__(value, "cases")
        return Choice(tuple((condition, _backend(case)) for condition, case in cases))
    if isinstance(value, enum.Enum) or (
        not isinstance(value, str | Unknown) and isinstance(getattr(value, "value", None), str)
    ):
        return value.value
    return value


@contextmanager
def _unobserved() -> Iterator[None]:
    """What the initialisers do is no part of the record's history."""
    kept = R.on_write, R.on_declare, R.on_display, R.on_construct, R.on_append
    R.on_write = R.on_declare = R.on_display = R.on_construct = R.on_append = None
    try:
        yield
    finally:
        R.on_write, R.on_declare, R.on_display, R.on_construct, R.on_append = kept


class _Watch:
    """The lines of one function, each with what it gave to a local or to the process's state."""

    def __init__(self, file: str, function: str) -> None:
        self.file = file
        self.function = function
        self.lines: list[Line] = []
        self._before: Any = None

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._on_call)

    def __exit__(self, *exc: object) -> None:
        sys.settrace(self._before)

    def _on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename != self.file or source_name(code.co_qualname) != self.function:
            return None
        known = dict(frame.f_locals)
        number, mark = frame.f_lineno, _mark()

        def on_line(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal known, number, mark
            now = dict(frame.f_locals)
            for name, value in now.items():
                if known.get(name, MISSING) is not value:
                    self.lines.append(Line(number, value, False))
            self.lines.extend(Line(number, value, True) for value in _written(mark))
            known, mark = now, _mark()
            number = frame.f_lineno
            return on_line

        return on_line


def _mark() -> int:
    return len(R.journal.entries) if R.journal is not None else 0


def _written(mark: int) -> list[Any]:
    """What the names and attributes written since `mark` hold now."""
    if R.journal is None:
        return []
    out = []
    for _, obj, key, _ in R.journal.entries[mark:]:
        if not isinstance(key, str):
            continue
        value = obj.get(key, MISSING) if isinstance(obj, dict) else getattr(obj, key, MISSING)
        out.append(value)
    return out
