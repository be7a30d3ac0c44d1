"""What is known of a launch's weights: their number format, whether they are experts, their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sgcheck.findings.subject import Subject

_METHODS = {
    "modelopt_fp4": "nvfp4",
    "nvfp4": "nvfp4",
    "fp8": "fp8",
    "modelopt_fp8": "fp8",
    "w8a8_fp8": "fp8",
    "mxfp4": "mxfp4",
}
_EXPERT_KEYS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")


def weights_of(subject: Subject) -> str | None:
    """`nvfp4`, `fp8`, `mxfp4`, `bf16`, or None where nothing tells.

    The checkpoint's own facts come first, then the value in force, then the ending of its name.
    """
    facts = subject.settled.model
    if "hf_quant_config.json" in facts.files:
        method = facts.json_file("hf_quant_config.json").get("quantization", {})
        found = _method(str(method.get("quant_algo", "")))
        if found is not None:
            return found
    config = facts.config()
    if config is not None:
        quantization = config.get("quantization_config")
        if isinstance(quantization, Mapping):
            return _method(f"{quantization.get('quant_algo')} {quantization.get('quant_method')}")
    value = subject.decided("quantization")
    use = subject.use_of("quantization")
    method_name = value if isinstance(value, str) else use.value if use is not None else None
    if isinstance(method_name, str) and method_name in _METHODS:
        return _METHODS[method_name]
    if config is not None:
        return "bf16"
    return next((w for name in model_names(subject) if (w := _in_name(name))), None)


def _method(text: str) -> str | None:
    low = text.lower()
    for mark in ("nvfp4", "mxfp4", "fp8"):
        if mark in low:
            return mark
    return "nvfp4" if "fp4" in low else None


def _in_name(name: str) -> str | None:
    for mark in ("nvfp4", "mxfp4", "fp8"):
        if mark in name:
            return mark
    if "gpt-oss" in name:
        return "mxfp4"
    return "nvfp4" if name.endswith("-fp4") else None


def model_names(subject: Subject) -> tuple[str, ...]:
    """Lower-case names of the model: its path, its profile, its architecture."""
    facts = subject.settled.model
    names = [facts.path, facts.name, facts.architecture]
    use = subject.command.last("--model-path", "--model")
    served = subject.command.last("--served-model-name")
    names += [each.value for each in (use, served) if each is not None]
    return tuple(dict.fromkeys(name.lower() for name in names if name))


def is_dense(subject: Subject) -> bool:
    """Whether the model is known to have no experts."""
    config = subject.settled.model.config()
    if config is None:
        return False
    texts: list[Mapping[str, Any]] = [config]
    texts += [c for c in config.values() if isinstance(c, Mapping)]
    return not any(part.get(key) for part in texts for key in _EXPERT_KEYS)
