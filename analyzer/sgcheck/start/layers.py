"""Read a model that was built: its layers by kind, with what each is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from sgcheck.resolve.resolution import Cell, Reason
from sgcheck.values.unknown import Unknown
from sgcheck.world.tensors.modules import Module
from sgcheck.world.tensors.tensor import Tensor

_NUMBER = re.compile(r"\.\d+(?=\.|$)")
_WEIGHTS = (
    "weight",
    "w13_weight",
    "qweight",
    "weight_packed",
    "w13_qweight",
    "w13_weight_packed",
    "w2_weight",
)


def kind_of(name: str) -> str:
    """A module's dotted name with each number replaced."""
    return _NUMBER.sub(".*", name)


def short(obj: Any) -> Cell:
    """The name of an object's class, without its module."""
    if isinstance(obj, Unknown):
        return unknown(obj.reason)
    return decided(None if obj is None else type(obj).__name__)


def decided(value: Any) -> Cell:
    """A fact of one value."""
    return Cell("decided", value)


def unknown(reason: Reason) -> Cell:
    """A fact that is not known."""
    return Cell("unknown", reason=reason)


def layers_of(model: Any) -> Iterator[tuple[str, Any]]:
    """Modules that compute through a quantization method, by dotted name."""
    for name, module in model.named_modules():
        if attribute(module, "quant_method") is not None:
            yield name, module


def attribute(obj: Any, name: str) -> Any:
    """An attribute, or None."""
    try:
        return getattr(obj, name, None)
    except Exception:
        return None


def facts_of(module: Any) -> dict[str, Cell]:
    """What one layer is made of."""
    method = attribute(module, "quant_method")
    scheme = attribute(module, "scheme") or attribute(method, "scheme")
    runner = next(
        (r for r in (attribute(owner, "runner") for owner in (scheme, method)) if r is not None),
        None,
    )
    return {
        "class": short(module),
        "method": short(method),
        "scheme": short(scheme),
        "runner": _runner(runner),
        "fused": _fused(attribute(runner, "fused_func")),
        "dispatcher": short(attribute(module, "dispatcher")),
        "weights": decided(weight_dtype(module)),
    }


def _runner(runner: Any) -> Cell:
    backend = attribute(runner, "runner_backend")
    if isinstance(backend, Unknown):
        return unknown(backend.reason)
    return decided(attribute(backend, "value"))


def _fused(function: Any) -> Cell:
    if isinstance(function, Unknown):
        return unknown(function.reason)
    name = None if function is None else getattr(function, "__qualname__", type(function).__name__)
    return decided(name if name is None else str(name).rpartition(".")[2])


def weight_dtype(module: Any) -> str | None:
    """The dtype of the layer's weight, as torch names it."""
    held = module.__dict__.get("_parameters", {}) if isinstance(module, Module) else {}
    named = [held.get(name) for name in _WEIGHTS]
    found = [p for p in (*named, *held.values()) if isinstance(p, Tensor)]
    return found[0].dtype._name if found else None


def spans(names: Sequence[str]) -> str:
    """Which layers of a kind a row stands for: `3-60`, by the first number in their names."""
    numbers = sorted({int(m[0][1:]) for m in map(_NUMBER.search, names) if m is not None})
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{a}-{b}" if a != b else str(a) for a, b in parts)
