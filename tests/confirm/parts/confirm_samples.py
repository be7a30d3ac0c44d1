"""Hand-built predictions, and logs as servers write them. The values are invented."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

from sgcheck.confirm.observation import Observation, ObservedOutcome
from sgcheck.resolve.resolution import (
    Because,
    Case,
    FieldAnswer,
    Gpu,
    JsonValue,
    LaunchError,
    LogLine,
    ModelInfo,
    Outcome,
    Reason,
    Resolution,
    Target,
    TreeInfo,
)

PATIENT = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For property tests on machines that have other things to do."""

SERVER_ARGS = "sglang/srt/server_args.py"
READY = "[2026-01-02 03:04:09] The server is fired up and ready to roll!"


def decided(name: str, value: JsonValue) -> FieldAnswer:
    step = Because("write", value, SERVER_ARGS, 41, "f", effective=True)
    return FieldAnswer(name, "decided", value, because=(step,))


def conditional(name: str, *cases: tuple[str, JsonValue]) -> FieldAnswer:
    return FieldAnswer(name, "conditional", cases=tuple(Case(c, v) for c, v in cases))


def unknown(name: str, code: str = "nondeterministic") -> FieldAnswer:
    return FieldAnswer(name, "unknown", reason=Reason(code))


def prediction(*answers: FieldAnswer, **changes: Any) -> Resolution:
    """A launch that starts, with the given fields and `model_path`."""
    fields = {a.name: a for a in (decided("model_path", "/m/tiny"), *answers)}
    values: dict[str, Any] = {
        "sglang": TreeInfo("0.5.9", "wheel", "sha256:0"),
        "target": Target("sm90", Gpu("NVIDIA H200", 143771, 8), "13.0"),
        "model": ModelInfo("directory", "TinyForCausalLM", "tiny"),
        "argv": ("--model-path", "/m/tiny"),
        "outcome": Outcome("ok"),
        "fields": fields,
        "effective": {"main": {"moe_runner": fields.get("moe_runner_backend", decided("x", None))}},
        "log": (LogLine("WARNING", "attention is chosen", SERVER_ARGS, 3),),
    }
    return Resolution(**(values | changes))


def failing(file: str = SERVER_ARGS, line: int = 12, message: str = "no") -> Resolution:
    error = LaunchError("ValueError", message, file, line, "ServerArgs.f")
    return prediction(outcome=Outcome("startup_error", error), fields={}, effective={})


def seen(outcome: ObservedOutcome | None = None, **fields: Any) -> Observation:
    """An observation of the same model, ready unless an outcome is given."""
    values = {"model_path": "/m/tiny", **fields}
    return Observation("log", "a.log", outcome or ObservedOutcome("ok", "ready"), fields=values)


def traceback(file: str, line: int, error: str, head: str = "") -> str:
    return (
        f"{head}Traceback (most recent call last):\n"
        f'  File "/usr/lib/python3/dist-packages/{file}", line {line}, in run\n'
        "    call()\n"
        "    ^^^^^^\n"
        '  File "/usr/lib/python3/dist-packages/other/thing.py", line 9, in call\n'
        "    raise it\n"
        f"{error}"
    )


def arguments(**fields: Any) -> str:
    """The line with the arguments, as older releases print it."""
    values = {"model_path": "/m/tiny", "tp_size": 8, "attention_backend": "fa3", **fields}
    text = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return f"[2026-01-02 03:04:05] server_args=ServerArgs({text})"
