"""Qwen's vision-language and omni models."""

from typing import Any

from .. import lightclass
from ..steps import Run
from .helpers import Rule, make

_HIDDEN_FROM_TEXT = ("dtype", "_attn_implementation_internal")


def text_keywords(run: Run) -> list[str]:
    """The keywords of a flat configuration that belong to the text part."""
    cls = run.instance.sub_configs["text_config"]
    if run.release.at_least(5, 6):
        names = list(lightclass.field_table(cls))
        return ["self", *names, "rope_parameters", "rope_scaling", "rope_theta"]
    names = [name for name, *_ in run.release.fact(cls.__name__)["params"]]
    return ["self", *names, "kwargs", "rope_scaling", "rope_theta"]


def _name_keywords(run: Run) -> None:
    run.args["text_params"] = text_keywords(run)


def _take_keywords(run: Run) -> None:
    names = text_keywords(run)
    run.args["text_kwargs"] = {key: run.kwargs.pop(key) for key in names if key in run.kwargs}


def _build_text(run: Run) -> None:
    """A text configuration from its dictionary, or from the keywords of a flat one."""
    config = run.instance
    newer = run.release.at_least(5, 6)
    given = config.text_config if newer else run.args["text_config"]
    cls = config.sub_configs["text_config"]
    if isinstance(given, dict):
        config.text_config = cls(**given)
    elif given is None:
        if not newer:
            _take_keywords(run)
        values = run.args["text_kwargs"]
        values["dtype"] = run.kwargs.get("torch_dtype", run.kwargs.get("dtype"))
        config.text_config = cls(**values)


def _read_through_text(self: Any, key: str) -> Any:
    """4.57: every attribute of the text part can be read from the whole."""
    values = object.__getattribute__(self, "__dict__")
    if "text_config" in values and key not in _HIDDEN_FROM_TEXT:
        text = values["text_config"]
        if key in text.__dict__:
            return getattr(text, key)
    return type(self)._root.__getattribute__(self, key)


def _write_through_text(self: Any, key: str, value: Any) -> None:
    text = object.__getattribute__(self, "__dict__").get("text_config")
    if text is not None and key not in _HIDDEN_FROM_TEXT and key in text.__dict__:
        setattr(text, key, value)
    else:
        type(self)._root.__setattr__(self, key, value)


def _always_made(name: str, class_name: str) -> Rule:
    """A part that newer releases rebuild whatever it is."""

    def build(run: Run) -> None:
        newer = run.release.at_least(5, 6)
        given = getattr(run.instance, name) if newer else run.args[name]
        if given is None:
            made = make(run, class_name)
        elif not newer and isinstance(given, run.classes.config_class(class_name)):
            made = given
        else:
            made = run.classes.config_class(class_name)(**given)
        setattr(run.instance, name, made)

    return build


def _blocks_of_memory(run: Run) -> None:
    config = run.instance
    if config.layer_types is None:
        every = run.kwargs.pop("full_attention_interval", 4)
        config.layer_types = [
            "linear_attention" if (index + 1) % every else "indexed_attention"
            for index in range(config.num_hidden_layers)
        ]
    elif "full_attention" in config.layer_types:
        config.layer_types = [
            "indexed_attention" if kind == "full_attention" else kind for kind in config.layer_types
        ]


def _sorted_layers(run: Run) -> None:
    given = run.instance.ple_layer_ids
    run.instance.ple_layer_ids = [] if given is None else sorted(set(given))


RULES: dict[str, Rule] = {
    "Qwen3OmniMoeTalkerConfig:code_predictor_config": _always_made(
        "code_predictor_config", "Qwen3OmniMoeTalkerCodePredictorConfig"
    ),
    "Qwen3OmniMoeTalkerConfig:text_config": _always_made(
        "text_config", "Qwen3OmniMoeTalkerTextConfig"
    ),
    "Qwen4ExpTextConfig:interval_pattern": _blocks_of_memory,
    "Qwen4ExpTextConfig:ple_layer_ids": _sorted_layers,
}


def _text_of_thinker(self: Any, *args: Any, **kwargs: Any) -> Any:
    if not self._release.at_least(4, 56):
        return self.thinker_config.get_text_config()
    return self.thinker_config.get_text_config(*args, **kwargs)


def _whole_text_of_thinker(self: Any, decoder: Any = False) -> Any:
    return self.thinker_config.get_text_config()


MEMBERS: dict[tuple[str, str], Any] = {
    ("Qwen2_5OmniConfig", "get_text_config"): _text_of_thinker,
    ("Qwen3OmniMoeConfig", "get_text_config"): _whole_text_of_thinker,
}
for _name in ("Qwen2VLConfig", "Qwen2_5_VLConfig", "PaddleOCRVLConfig"):
    RULES[f"{_name}:text_params"] = _name_keywords
    RULES[f"{_name}:text_kwargs"] = _take_keywords
    RULES[f"{_name}:text_config"] = _build_text
    MEMBERS[_name, "__getattribute__"] = _read_through_text
    MEMBERS[_name, "__setattr__"] = _write_through_text
