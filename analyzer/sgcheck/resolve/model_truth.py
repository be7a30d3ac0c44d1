"""What is true of a known model, by the names that conditions on unknown models use.

Only what the model's own files say is told. A key that `config.json` does not have may still have a
value (its configuration class gives one), so nothing is said of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from sgcheck.world.model_facts import ModelFacts
from sgcheck.world.unknown_model import ABSENT

_LANGUAGE_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")
_OBJECT = ("an object or a list",)
"""Stands for a value that no condition can name."""


def model_lookup(
    model: ModelFacts, label: str = "model"
) -> Callable[[str], Iterable[Hashable] | None]:
    """A look-up for `membership.Truth`: every value that a fact of the model may have, or None."""
    config = model.config() or {}
    files = {**dict.fromkeys(model.listing), **dict.fromkeys(model.files)}
    start = f"{label}."

    def find(name: str) -> Iterable[Hashable] | None:
        if name in (f"{label} architecture", "model architecture") and name.startswith(label):
            return None if model.architecture is None else (model.architecture,)
        if name.startswith(f"{label} has the file "):
            return (name.removeprefix(f"{label} has the file ") in files,)
        if name.startswith(f"{label} has a "):
            return (True,) if name.removeprefix(f"{label} has a ") in config else None
        if (
            not name.startswith(start)
            or not name.removeprefix(start).replace(".", "").isidentifier()
        ):
            return None
        return _fact(name.removeprefix(start).split("."))

    def _fact(path: list[str]) -> Iterable[Hashable] | None:
        if path[0] in ("hf_quant_config", "generation_config") and f"{path[0]}.json" in model.files:
            whole = json.loads(model.files[f"{path[0]}.json"])
            return _values([_inside(whole, path[1:])])
        parts = [config, *(config[part] for part in _LANGUAGE_PARTS if part in config)]
        found = [_inside(part, path) for part in parts]
        there = [value for value in found if value is not ABSENT]
        if not there:
            return (ABSENT,) if path[0] == "quantization_config" else None
        return _values(there)

    return find


def _inside(content: Any, path: list[str]) -> Any:
    for part in path:
        if not isinstance(content, Mapping) or part not in content:
            return ABSENT
        content = content[part]
    return content


def _values(found: list[Any]) -> tuple[Hashable, ...]:
    return tuple(_OBJECT if isinstance(value, Mapping | list) else value for value in found)
