"""Functions of the tree that are modelled, not run, where the model is unknown.

`hf_transformers…` loads a configuration: dozens of families, each read and mended in its own way,
and none of it changes what SGLang then asks of the result. For a model of which nothing is known
the result is the model's facts. With a known model the tree's own functions run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sgcheck.interp import guards
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import ASK, Unknown
from sgcheck.world.files import Files
from sgcheck.world.unknown_model import UNKNOWN, ConfigFact

MODULE_MARK = "hf_transformers"


class NotRecognised(ValueError):
    """The pinned transformers does not know the model's type: somewhere inside the loading code."""

    unplaced = True


NotRecognised.__name__ = "ValueError"


def adapt(module: str, space: dict[str, Any], files: Files, transformers: str) -> None:
    """Wrap the functions of a module that has just run."""
    if MODULE_MARK not in module:
        return
    makers: dict[str, Callable[[Any], Any]] = {
        "get_config": lambda original: _get_config(original, files, transformers),
        "get_hf_text_config": _get_text_config,
        "get_generation_config": lambda original: _of_path(original, files, _generation),
        "get_sparse_attention_config": lambda original: _of_path(original, files, _sparse),
    }
    for name, make in makers.items():
        original = space.get(name)
        if callable(original) and getattr(original, "__module__", module) == module:
            space[name] = make(original)


def _label(files: Files, path: Any) -> str | None:
    if files.unknown is None or isinstance(path, Unknown) or not isinstance(path, str):
        return None
    found: str | None = files.unknown.label(files.absolute(path))
    return found


def _get_config(original: Any, files: Files, transformers: str) -> Any:
    def get_config(model: Any, *args: Any, **kwargs: Any) -> Any:
        label = _label(files, model)
        if label is None:
            return guards.call(original, model, *args, **kwargs)
        if not ASK[-1].ask(f"transformers {transformers} knows the type of the {label}", UNKNOWN):
            raise NotRecognised(
                f"Transformers {transformers} does not recognize the type of this model"
            )
        fact = files.unknown.config(label)
        overrides = kwargs.get("model_override_args")
        if isinstance(overrides, dict):
            for key, value in overrides.items():
                ASK[-1].set_attribute(fact, key, value)
        return fact

    get_config.__wrapped__ = original  # type: ignore[attr-defined]
    return get_config


def _get_text_config(original: Any) -> Any:
    def get_hf_text_config(config: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(config, ConfigFact):
            return config
        if isinstance(config, Choice) and all(isinstance(v, ConfigFact) for _, v in config.cases):
            return config
        return guards.call(original, config, *args, **kwargs)

    return get_hf_text_config


def _of_path(original: Any, files: Files, answer: Callable[[str], Any]) -> Any:
    def run(model: Any, *args: Any, **kwargs: Any) -> Any:
        label = _label(files, model)
        return guards.call(original, model, *args, **kwargs) if label is None else answer(label)

    run.__name__ = getattr(original, "__name__", "run")
    return run


def _generation(label: str) -> Any:
    return Unknown(UNKNOWN, f"{label}.generation_config")


def _sparse(label: str) -> Any:
    return Unknown(UNKNOWN, f"{label}.sparse_attention_config")
