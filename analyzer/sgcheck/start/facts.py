"""Read what a start has built: one record a model, one row a kind of layer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from sgcheck.values.unknown import Unknown

_NUMBER = re.compile(r"\.\d+(?=\.|$)")


def kind_of(name: str) -> str:
    """A module's dotted name with each number replaced."""
    return _NUMBER.sub(".*", name)


def short(obj: Any) -> str | None:
    """The name of an object's class, without its module."""
    return None if obj is None else type(obj).__name__


def models(started: Any) -> list[dict[str, Any]]:
    return [model(runner) for runner in started.runners]


def model(runner: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"draft": bool(getattr(runner, "is_draft_worker", False))}
    config = getattr(runner, "model_config", None)
    out["quantization"] = getattr(config, "quantization", None)
    out["kv_cache_dtype"] = str(getattr(runner, "kv_cache_dtype", None))
    built = getattr(runner, "model", None)
    out["model_class"] = short(built)
    out["attention"] = short(getattr(runner, "attn_backend", None))
    out["layers"] = layers(built) if built is not None else []
    return out


def layers(built: Any) -> list[dict[str, Any]]:
    kinds: dict[str, dict[str, Any]] = {}
    for name, module in built.named_modules():
        if getattr(module, "quant_method", None) is None:
            continue
        row = row_of(module)
        row["kind"] = kind_of(name)
        key = json.dumps(row, sort_keys=True, default=repr)
        kept = kinds.setdefault(key, row)
        kept.setdefault("names", []).append(name)
    return list(kinds.values())


def row_of(module: Any) -> dict[str, Any]:
    method = getattr(module, "quant_method", None)
    out: dict[str, Any] = {"class": short(module), "method": short(method)}
    scheme = getattr(module, "scheme", None) or getattr(method, "scheme", None)
    out["scheme"] = short(scheme)
    out["runner"] = out["fused"] = None
    for owner in (method, scheme):
        runner = getattr(owner, "runner", None) if owner is not None else None
        if runner is not None:
            backend = getattr(runner, "runner_backend", None)
            out["runner"] = getattr(backend, "value", None)
            fused = getattr(runner, "fused_func", None)
            out["fused"] = None if fused is None else getattr(fused, "__qualname__", repr(fused))
    out["dispatcher"] = short(getattr(module, "dispatcher", None))
    return out


_ = (Iterator, Unknown)
