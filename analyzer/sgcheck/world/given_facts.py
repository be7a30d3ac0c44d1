"""Single facts of an otherwise unknown model: `--model-fact NAME=VALUE`.

A name is a key of `config.json` (with dots for keys inside keys), or one of two words that stand for
more than a key: `architecture` and `quantization`. A value is JSON, or else text; `absent` says that
the key is not there.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from sgcheck.errors import UsageError
from sgcheck.values.condition import Condition, Space
from sgcheck.world.checkpoint_facts import UNKNOWN_KEYS
from sgcheck.world.model_facts import ModelFacts
from sgcheck.world.unknown_model import ABSENT

ARCHITECTURE = "architecture"
QUANTIZATION = "quantization"
_ALIASES = {ARCHITECTURE: "architectures"}

# How checkpoints say which quantization they have, beside `quant_method` itself: the algorithms of
# ModelOpt, in `config.json` or (where that says nothing) in `hf_quant_config.json`.
_MODELOPT = {
    "modelopt_fp4": ("NVFP4", "NVFP4_AWQ"),
    "modelopt_fp8": ("FP8", "FP8_PB_WO"),
    "modelopt_mixed": ("MIXED_PRECISION",),
}
_NONE = ("none", "null")


def parse_facts(items: Iterable[str]) -> dict[str, Any]:
    """`NAME=VALUE` words -> values by name.

    Raises UsageError for a word that is none, for an unknown name (with the nearest names), and for
    facts that contradict each other (with both).
    """
    found: dict[str, Any] = {}
    words: dict[str, str] = {}
    for item in items:
        name, equals, text = item.partition("=")
        name = name.strip().removeprefix("model.").removeprefix("config.")
        if not equals or not name or not text:
            raise UsageError(f"--model-fact {item}: write it as NAME=VALUE")
        _check_name(name)
        value = _value(name, text)
        key = _ALIASES.get(name, name)
        if key in found and found[key] != value:
            raise UsageError(f"--model-fact {words[key]} contradicts --model-fact {item}")
        found[key], words[key] = value, item
    _check_nesting(found, words)
    _check_quantization(found, words)
    return found


def _value(name: str, text: str) -> Any:
    if text == "absent" and name not in (ARCHITECTURE, QUANTIZATION):
        return ABSENT
    if name == ARCHITECTURE:
        return [text]
    if name == QUANTIZATION:
        return text.lower()
    try:
        return json.loads(text)
    except ValueError:
        return text


def _check_name(name: str) -> None:
    known = known_names()
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f": the nearest are {', '.join(near)}" if near else "; see the keys of its config.json"
    raise UsageError(f"--model-fact {name}: no model is known to have such a fact{hint}")


@lru_cache(maxsize=1)
def known_names() -> tuple[str, ...]:
    """Every name that a fact may have: the keys of the bundled profiles and those always asked for."""
    from sgcheck_rules import models

    names: set[str] = {ARCHITECTURE, QUANTIZATION, *UNKNOWN_KEYS}
    for profile in models.profile_names():
        config = models.profile(profile).files.get("config.json")
        _collect(config, "", names)
    return tuple(sorted(names))


def _collect(content: Any, prefix: str, names: set[str]) -> None:
    if not isinstance(content, Mapping):
        return
    for key, value in content.items():
        if not isinstance(key, str) or not key.isidentifier():
            continue
        names.add(prefix + key)
        if prefix.count(".") < 1:
            _collect(value, f"{prefix}{key}.", names)
        if prefix.endswith("text_config."):
            names.add(key)


def _check_nesting(found: Mapping[str, Any], words: Mapping[str, str]) -> None:
    for name, word in words.items():
        parent = name.rpartition(".")[0]
        while parent:
            if parent in found and not isinstance(found[parent], Mapping):
                raise UsageError(f"--model-fact {words[parent]} contradicts --model-fact {word}")
            parent = parent.rpartition(".")[0]


def _check_quantization(found: Mapping[str, Any], words: Mapping[str, str]) -> None:
    """`quantization` against the keys that say the same."""
    method = found.get(QUANTIZATION)
    if method is None:
        return
    key = "quantization_config.quant_method"
    stated = found.get(key)
    allowed = (method, "modelopt") if method in _MODELOPT else (method,)
    wrong = stated is not None and (method in _NONE or stated not in allowed)
    if wrong:
        raise UsageError(
            f"--model-fact {words[QUANTIZATION]} contradicts --model-fact {words[key]}"
        )
    key = "quantization_config"
    if found.get(key) is ABSENT and method not in _NONE and method not in _MODELOPT:
        raise UsageError(
            f"--model-fact {words[QUANTIZATION]} contradicts --model-fact {words[key]}"
        )


def check_against(model: ModelFacts, facts: Mapping[str, Any]) -> None:
    """Facts given beside a model that is known. Raises UsageError where its configuration differs."""
    config = model.config() or {}
    for name, value in facts.items():
        if name == QUANTIZATION:
            said = (config.get("quantization_config") or {}).get("quant_method", "none")
            allowed = (value, "modelopt") if value in _MODELOPT else (value,)
            differs = said not in allowed
        else:
            said = _looked_up(config, name)
            differs = said != value
        if differs:
            raise UsageError(
                f"--model-fact {name} ({_shown(value)}) contradicts the configuration of"
                f" {model.name}, which says {_shown(said)}: leave one of the two out."
            )


def _looked_up(config: Mapping[str, Any], name: str) -> Any:
    for start in (config, config.get("text_config")):
        here: Any = start
        for part in name.split("."):
            here = here.get(part, ABSENT) if isinstance(here, Mapping) else ABSENT
        if here is not ABSENT:
            return here
    return ABSENT


def _shown(value: Any) -> str:
    return "absent" if value is ABSENT else json.dumps(value)


def condition_of(space: Space, facts: Mapping[str, Any], label: str = "model") -> Condition | None:
    """What the facts say that is no single key: the ways to state a quantization; None: nothing."""
    method = facts.get(QUANTIZATION)
    if method is None:
        return None
    there = space.negate(space.among(_variable(space, f"{label}.quantization_config"), [ABSENT]))
    file = space.among(
        space.variable(f"{label} has the file hf_quant_config.json", (True, False), None, "flag"),
        [True],
    )
    if method in _NONE:
        return space.both(space.negate(there), space.negate(file))
    stated = _variable(space, f"{label}.quantization_config.quant_method")
    ways = space.among(stated, [method])
    algorithms = _MODELOPT.get(method)
    if algorithms is None:
        return space.both(there, ways)
    inside = _variable(space, f"{label}.quantization_config.quant_algo")
    other = _variable(space, f"{label}.hf_quant_config.quantization.quant_algo")
    by_algorithm = space.both(space.among(stated, ["modelopt"]), space.among(inside, algorithms))
    in_file = space.both(space.negate(there), space.both(file, space.among(other, algorithms)))
    return space.either(space.both(there, space.either(ways, by_algorithm)), in_file)


def _variable(space: Space, name: str) -> Any:
    return space.variable(name, None, None, "value")
