"""What was seen of a real launch, whatever it was seen in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from sgcheck.resolve.resolution import JsonValue, LaunchError, LogLine

Evidence: TypeAlias = Literal["log", "url", "simulate", "live"]
ObservedStatus: TypeAlias = Literal["ok", "startup_error", "cli_error", "resolved", "unknown"]
OutputVerdict: TypeAlias = Literal["plausible", "garbage", "not tried"]


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value that is printed, but not as a literal: `torch.bfloat16`, `<object at …>`.

    `texts` are the JSON texts under which the same value may be reported elsewhere; the first one
    is shown.
    """

    texts: tuple[JsonValue, ...]


class PrintedRecord(dict[str, Any]):
    """The fields that an object's repr shows: it may have more than these."""


@dataclass(frozen=True, slots=True)
class ObservedOutcome:
    """How the launch ended, as far as was seen.

    `resolved` says that SGLang handed its arguments on but that nothing is known of what came
    after. `ending` is the sentence for people. `after_resolution` is True for an error that came
    when the arguments had been resolved and checked; `cause` names an error that says nothing about
    the arguments (out of memory, a taken port, a missing file …).
    """

    status: ObservedStatus
    ending: str
    error: LaunchError | None = None
    after_resolution: bool = False
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class ObservedMachine:
    """What was seen of the machine; None or 0 where nothing was. Memory in MiB."""

    gpu: str | None = None
    arch: str | None = None
    memory_mib: int = 0
    count: int = 0
    cuda: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """The judgement on generated text. Speed in generated tokens per second of one request."""

    verdict: OutputVerdict = "not tried"
    reason: str = ""
    tokens_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """One launch as it was seen.

    `fields` holds JSON values, `Opaque` and `PrintedRecord` inside. `complete` is False where the
    fields were cut off or damaged. `log` is what SGLang logged (None: not seen); its lines may
    have neither level nor place. `env_imported` are variables that the mere import of some module
    wrote; their values depend on the host. `notes` are sentences for the user.
    """

    evidence: Evidence
    source: str
    outcome: ObservedOutcome
    version: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True
    machine: ObservedMachine = ObservedMachine()
    log: tuple[LogLine, ...] | None = None
    env_after: Mapping[str, JsonValue] | None = None
    output: Output = Output()
    packages: Mapping[str, str | None] = field(default_factory=dict)
    launch_command: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    env_imported: frozenset[str] = frozenset()


def plain(value: Any) -> JsonValue:
    """An observed value as JSON."""
    if isinstance(value, Opaque):
        return value.texts[0]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def matches(predicted: JsonValue, observed: Any) -> bool:
    """Whether an observed value is the predicted one. `True` is not 1; 1 is 1.0."""
    if isinstance(observed, Opaque):
        return any(matches(predicted, text) for text in observed.texts)
    if isinstance(observed, dict):
        if not isinstance(predicted, dict):
            return False
        keys = {str(key) for key in observed}
        same = (
            keys <= predicted.keys()
            if isinstance(observed, PrintedRecord)
            else keys == predicted.keys()
        )
        return same and all(matches(predicted[str(key)], item) for key, item in observed.items())
    if isinstance(observed, list):
        return (
            isinstance(predicted, list)
            and len(predicted) == len(observed)
            and all(map(matches, predicted, observed))
        )
    if isinstance(predicted, bool) or isinstance(observed, bool):
        return predicted is observed
    if isinstance(observed, float) and not math.isfinite(observed):
        return predicted == observed or _is_same_text(predicted, observed)
    if isinstance(predicted, str) and isinstance(observed, str):
        return predicted == observed
    return type(predicted) in (int, float, type(None)) and predicted == observed


def _is_same_text(predicted: JsonValue, observed: float) -> bool:
    names = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
    text = repr(observed)
    return predicted in (text, names[text])
