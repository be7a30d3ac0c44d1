"""Evidence records: what a comparison showed, small, anonymous, versioned (`sgcheck.evidence/1`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sgcheck import __version__
from sgcheck.confirm.comparison import Comparison
from sgcheck.confirm.observation import Observation, plain
from sgcheck.confirm.secrets import HIDDEN, SHORTEST_FLAG, is_secret, scrub, scrub_argv, shown
from sgcheck.errors import UsageError
from sgcheck.report.document import Document
from sgcheck.resolve.resolution import JsonValue, Resolution

SCHEMA = "sgcheck.evidence/1"
MAX_RECORD = 1 << 20
MAX_LISTED = 50

PATH, ADDRESS, NAME = "<path>", "<address>", "<name>"

# Flags whose value names a person's machine or service, whatever it looks like.
_NAMING_FLAGS = {
    "--host": ADDRESS,
    "--dist-init-addr": ADDRESS,
    "--nccl-init-addr": ADDRESS,
    "--served-model-name": NAME,
    "--bucket-name": NAME,
    "--model-path": PATH,
    "--model": PATH,
    "--tokenizer-path": PATH,
    "--speculative-draft-model-path": PATH,
    "--download-dir": PATH,
    "--chat-template": PATH,
    "--lora-paths": PATH,
}
_PATH_FLAGS = re.compile(
    r"--(?:[\w-]+-)?(?:path|paths|dir|file|template|config|tokenizer|model|cache|keyfile|certfile|ca-certs)\Z"
)
_ADDRESS_FLAGS = re.compile(
    r"--(?:[\w-]+-)?(?:ip|ips|host|hosts|addr|address|endpoints?|urls?|server|ib-device)\Z"
)
_SHORT_NAMES = {"--tp", "--dp", "--ep", "--pp"}
"""Whole flags that might be taken for the beginning of others."""

_IP = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}\b|\[[0-9a-f]*:[0-9a-f:.]+\]|(?<![\w:])(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{1,4}\b"
)
_HOST_PORT = re.compile(
    r"\b[a-z0-9][\w-]*(?:\.[\w-]+)+:\d{2,5}\b|\b[a-z][\w-]*:\d{4,5}\b|\b[a-z][\w+-]*://[^\s,\"']+"
    r"|\b[\w.+-]+@[\w.-]*\w",
    re.IGNORECASE,
)
_HAS_PATH = re.compile(r"(?:~|\.{0,2})/[^\s,\"':{}]+|\b[A-Za-z]:\\[^\s,\"']+|\b[\w.-]+/[\w./-]+")


def record_of(
    prediction: Resolution,
    comparison: Comparison,
    observation: Observation,
    env: Mapping[str, str | None],
) -> Document:
    """The record of one comparison."""
    machine, target = observation.machine, prediction.target
    record: Document = {
        "schema": SCHEMA,
        "sgcheck": __version__,
        "evidence": comparison.evidence,
        "sglang": observation.version or prediction.sglang.version,
        "predicted_from": prediction.sglang.version,
        "target": {
            "arch": target.arch,
            "gpu": target.gpu.name,
            "memory_mib": target.gpu.memory_mib,
            "count": target.gpu.count,
            "cuda": target.cuda,
        },
        "machine": {
            "arch": machine.arch,
            "gpu": machine.gpu,
            "memory_mib": machine.memory_mib or None,
            "count": machine.count or None,
        },
        "architecture": prediction.model.architecture,
        "argv": list(anonymous_argv(prediction.argv)),
        "env": {name: anonymous_value(name, value) for name, value in sorted(env.items())},
        "effective": observed_backends(prediction, observation),
        "outcome": {
            "predicted": comparison.predicted.status,
            "observed": comparison.observed.status,
            "fit": comparison.outcome_fit,
            "error": _error(prediction, comparison),
        },
        "compared": comparison.compared,
        "agree": comparison.agree,
        "disagree": [
            {
                "field": e.field,
                "predicted": anonymous(e.predicted),
                "observed": anonymous(e.observed),
            }
            for e in comparison.disagree[:MAX_LISTED]
        ],
        "output": {
            "verdict": comparison.output.verdict,
            "tokens_per_second": comparison.output.tokens_per_second,
        },
        "verdict": comparison.verdict,
    }
    return record


def observed_backends(prediction: Resolution, observation: Observation) -> dict[str, JsonValue]:
    """The effective backends that were seen: the observed values of the fields they are read from."""
    found: dict[str, JsonValue] = {}
    for role, backends in prediction.effective.items():
        seen: dict[str, JsonValue] = {}
        for name, answer in backends.items():
            if answer.name in observation.fields:
                seen[name] = shown(answer.name, plain(observation.fields[answer.name]))
        found[role] = seen
    return found


def _error(prediction: Resolution, comparison: Comparison) -> JsonValue:
    error = comparison.observed.error
    if error is None:
        return None
    expected = comparison.outcome_fit == "agrees"
    return {
        "type": error.type,
        "message": anonymous_text(error.message),
        "file": error.file,
        "line": error.line,
        "about": blamed_backends(prediction) if expected else {},
    }


def blamed_backends(prediction: Resolution) -> dict[str, JsonValue]:
    """The backends of the command line that the condition of the predicted error names.

    Keys are the flags in the spelling of fields. Only a condition that holds because the value is
    this one counts, not one that holds because it is another.
    """
    error = prediction.outcome.error
    if error is None:
        return {}
    held = [text for text in error.conditions if not text.startswith("not ") and "!=" not in text]
    return {
        name: value
        for name, value in asked_backends(prediction.argv).items()
        if any(f'"{value}"' in text or f"'{value}'" in text for text in held)
    }


def asked_backends(argv: Sequence[str]) -> dict[str, str]:
    """The flags of a command line that choose a backend, in the spelling of fields."""
    found: dict[str, str] = {}
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name.startswith("--") and name.endswith("-backend"):
            text = value if equals else argv[index + 1] if index + 1 < len(argv) else ""
            found[name[2:].replace("-", "_")] = text
    return found


def anonymous_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """A command line without secrets, paths, addresses and names."""
    out: list[str] = []
    stand_in: str | None = None
    for word in scrub_argv(argv):
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            replacement = _stand_in(name)
            stand_in = None if equals else replacement
            if equals:
                word = (
                    f"{name}={value if value == HIDDEN else replacement or anonymous_text(value)}"
                )
            out.append(word)
            continue
        out.append(word if word == HIDDEN else stand_in or anonymous_text(word))
    return tuple(out)


def _stand_in(flag: str) -> str | None:
    """What stands for the value of a flag, maybe written in short; None if the value may be kept."""
    if flag in _NAMING_FLAGS:
        return _NAMING_FLAGS[flag]
    if _PATH_FLAGS.match(flag):
        return PATH
    if _ADDRESS_FLAGS.match(flag):
        return ADDRESS
    if len(flag) < SHORTEST_FLAG or flag in _SHORT_NAMES:
        return None
    return next((text for full, text in _NAMING_FLAGS.items() if full.startswith(flag)), None)


def anonymous_value(name: str, value: str | None) -> JsonValue:
    """The value of an environment variable as it may be kept."""
    if value is None:
        return None
    return HIDDEN if is_secret(name) else anonymous_text(value)


def anonymous(value: JsonValue) -> JsonValue:
    """A value whose texts are anonymous, at every depth."""
    if isinstance(value, str):
        return anonymous_text(value)
    if isinstance(value, list):
        return [anonymous(item) for item in value]
    if isinstance(value, dict):
        return {key: shown(key, anonymous(item)) for key, item in value.items()}
    return value


def anonymous_text(text: str) -> str:
    """Text without secrets, paths and addresses."""
    text = _HOST_PORT.sub(ADDRESS, _IP.sub(ADDRESS, scrub(text)))
    return _HAS_PATH.sub(PATH, text)


def append(path: str, record: Mapping[str, Any]) -> None:
    """Add a record to a file of JSON lines. Raises UsageError if that cannot be done."""
    line = json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n"
    try:
        with Path(path).open("a", encoding="ascii") as stream:
            stream.write(line)
    except OSError as error:
        raise UsageError(
            f"cannot write the record to {path}: {error.strerror}; name a file that can be written"
        ) from None


def load(lines: Iterable[str], origin: str) -> list[dict[str, Any]]:
    """The records in JSON lines. Raises UsageError, with the line, for what is no record."""
    records = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line) if len(line) <= MAX_RECORD else None
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or not str(record.get("schema", "")).startswith(
            "sgcheck.evidence/"
        ):
            raise UsageError(f"{origin}:{number}: this is no evidence record")
        if record["schema"] != SCHEMA:
            raise UsageError(
                f"{origin}:{number}: {record['schema']} is unknown here; a newer sgcheck reads it"
            )
        records.append(record)
    return records
