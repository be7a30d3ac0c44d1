"""The keys of the configuration file and what each may hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

Kind: TypeAlias = Literal["text", "texts", "number", "table", "tables", "choice"]
ConfigValue: TypeAlias = "str | int | list[str] | dict[str, str] | list[dict[str, object]]"

DEPTHS = ("arguments", "kernels")
FAIL_ON = ("error", "warning", "note", "never")


class Key(Struct, frozen=True):
    """One key. `is_path` marks values that, where such a file exists, start at the file's folder."""

    kind: Kind
    help: str
    choices: tuple[str, ...] = ()
    is_path: bool = False


KEYS: Mapping[str, Key] = {
    "sglang": Key("text", "release, directory, wheel or DIR@REF to read", is_path=True),
    "python": Key("text", "Python whose SGLang is read", is_path=True),
    "arch": Key("texts", "target architecture, or a list of them"),
    "gpu": Key("text", "GPU by name"),
    "gpu-count": Key("number", "GPUs of the machine"),
    "gpu-memory": Key("number", "memory of each GPU in MiB"),
    "cuda": Key("text", "CUDA version, such as 13.0"),
    "model": Key("text", "model directory, config.json or profile", is_path=True),
    "env": Key("table", "environment of the launch"),
    "models": Key("table", "scan: model path -> model facts"),
    "ignore": Key("texts", "scan: rules that are not reported"),
    "exclude": Key("texts", "scan: files to leave out, as in .gitignore"),
    "baseline": Key("text", "scan: file of known findings", is_path=True),
    "depth": Key("choice", "scan: how far launches are followed", DEPTHS),
    "per-path": Key("tables", "scan: settings for some paths"),
    "fail-on": Key("choice", "level from which the exit code is 1", FAIL_ON),
}


def expected(key: Key) -> str:
    """What a key may hold, in words."""
    match key.kind:
        case "text":
            return "a string"
        case "texts":
            return "a string or a list of strings"
        case "number":
            return "a whole number above 0"
        case "table":
            return "a table of strings"
        case "tables":
            return "a list of tables"
        case "choice":
            return "one of " + ", ".join(f'"{choice}"' for choice in key.choices)


def accepts(key: Key, value: object) -> bool:
    """True if a TOML value fits the key."""
    match key.kind:
        case "text":
            return isinstance(value, str) and value != ""
        case "texts":
            items = value if isinstance(value, list) else [value]
            return bool(items) and all(isinstance(item, str) and item for item in items)
        case "number":
            return isinstance(value, int) and not isinstance(value, bool) and value > 0
        case "table":
            return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
        case "tables":
            return isinstance(value, list) and all(isinstance(item, dict) for item in value)
        case "choice":
            return value in key.choices
