"""The Gemma family: sliding windows, rotary parameters per layer type, layers that differ."""

from typing import Any

from ..steps import Run
from .helpers import Rule, above, read, refuse_unless, write

_FULL, _SLIDING = "full_attention", "sliding_attention"


def _halve_window(run: Run) -> None:
    """Bidirectional attention looks half a window to each side."""
    if read(run, "use_bidirectional_attention"):
        run.instance.sliding_window = run.instance.sliding_window // 2 + 1


def _halve_window_for_all(run: Run) -> None:
    config = run.instance
    if config.use_bidirectional_attention == "all":
        if run.release.at_least(5, 12):
            config.is_causal = False
        config.sliding_window = config.sliding_window // 2 + 1


def _end_with_full_attention(run: Run) -> None:
    layers = run.instance.layer_types
    if layers and layers[-1] != _FULL:
        layers[-1] = _FULL


def _shapes_of_full_layers(run: Run) -> None:
    """Full-attention layers have their own head size and number of key-value heads."""
    if "per_layer_config" in run.kwargs:
        return
    own = {"head_dim": run.args["global_head_dim"]}
    if getattr(run.instance, "attention_k_eq_v", True):
        heads = run.args["num_global_key_value_heads"]
        if heads is not None:
            own["num_key_value_heads"] = heads
    layers = enumerate(run.instance.layer_types)
    run.kwargs["per_layer_config"] = {index: own for index, kind in layers if kind == _FULL}


def _shapes_of_full_embedding_layers(run: Run) -> None:
    if "per_layer_config" not in run.kwargs:
        own = {
            "head_dim": run.args["global_head_dim"],
            "num_key_value_heads": run.args["num_global_key_value_heads"],
        }
        layers = enumerate(run.instance.layer_types)
        run.kwargs["per_layer_config"] = {
            index: dict(own) for index, kind in layers if kind == _FULL
        }


def _check_pattern(run: Run) -> None:
    pattern = run.args["sliding_window_pattern"]
    refuse_unless(pattern >= 1, f"`sliding_window_pattern` must be positive, got {pattern}.")


def _width_of_each_layer(run: Run) -> None:
    """Gemma 3n: one intermediate size for all layers, or one for each."""
    width, count = read(run, "intermediate_size"), read(run, "num_hidden_layers")
    if isinstance(width, list | tuple | str | range):
        refuse_unless(len(width) == count, f"intermediate_size must have {count} values")
    else:
        write(run, "intermediate_size", [width] * count)


def _sparsity_of_each_layer(run: Run) -> None:
    """Gemma 3n: the first ten layers are sparse, if there are more than ten."""
    if read(run, "activation_sparsity_pattern") is None:
        count = read(run, "num_hidden_layers")
        sparse = 10 if count > 10 else 0
        pattern: Any = [0.95] * sparse + [0.0] * (count - sparse)
        if not run.release.at_least(4, 57):
            pattern = tuple(pattern)
        write(run, "activation_sparsity_pattern", pattern)


def _check_sparsity(run: Run) -> None:
    pattern, count = read(run, "activation_sparsity_pattern"), read(run, "num_hidden_layers")
    refuse_unless(len(pattern) == count, f"activation_sparsity_pattern must have {count} values")


def _channels_as_list(run: Run) -> None:
    if isinstance(run.instance.subsampling_conv_channels, tuple):
        run.instance.subsampling_conv_channels = list(run.instance.subsampling_conv_channels)


def _assistant_text(model_type: str) -> Rule:
    def build(run: Run) -> None:
        given = run.instance.text_config
        if isinstance(given, dict):
            cls = run.classes.class_for_model_type(given.get("model_type", model_type))
            run.instance.text_config = cls(**given)

    return build


def _share_all_layers(run: Run) -> None:
    text = run.instance.text_config
    if text is not None and not text.num_kv_shared_layers:
        text.num_kv_shared_layers = text.num_hidden_layers


def _use_tanh_gelu(run: Run) -> None:
    if run.instance.hidden_act == "gelu":
        run.instance.hidden_act = "gelu_pytorch_tanh"


def _rope_per_layer_type(
    self: Any, ignore_keys_at_rope_validation: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """Rotary parameters for full and sliding attention; the theta of each has its own name."""
    given = kwargs.pop("rope_scaling", None)
    if self.rope_parameters is None:
        self.rope_parameters = {_SLIDING: {"rope_type": "default"}, _FULL: {"rope_type": "default"}}
    if given is not None:
        self.rope_parameters[_FULL].update(given)
    for layer, keyword, theta in (
        (_FULL, "rope_theta", "global"),
        (_SLIDING, "rope_local_base_freq", "local"),
    ):
        if self.rope_parameters.get(layer) is None:
            self.rope_parameters[layer] = {"rope_type": "default"}
        default = self.default_theta[theta]
        self.rope_parameters[layer].setdefault("rope_theta", kwargs.pop(keyword, default))
    self.standardize_rope_params()
    if not self._release.at_least(5, 6):
        self.validate_rope(ignore_keys=ignore_keys_at_rope_validation)
    return kwargs


def _rope_as_given(self: Any, **kwargs: Any) -> dict[str, Any]:
    return kwargs


def _write_whole_window(class_name: str, only: Any) -> Any:
    """`to_dict` gives the window that the file had."""

    def to_dict(self: Any) -> dict[str, Any]:
        output: dict[str, Any] = above(self, class_name).to_dict()
        value = getattr(self, "use_bidirectional_attention", None)
        if value == only if isinstance(only, str) else value:
            output["sliding_window"] = (self.sliding_window - 1) * 2
        return output

    return to_dict


def _validate_assistant(class_name: str) -> Any:
    def validate_architecture(self: Any) -> None:
        text = self.text_config
        if text is not None:
            for name, value in (
                ("hidden_size_per_layer_input", 0),
                ("vocab_size_per_layer_input", 0),
            ):
                refuse_unless(getattr(text, name) == value, f"{name} must be {value}")
            for name in ("enable_moe_block", "use_double_wide_mlp"):
                refuse_unless(getattr(text, name) is False, f"{name} must be False")
            shared = text.num_kv_shared_layers == text.num_hidden_layers
            refuse_unless(shared, "all layers of an assistant must be shared")
        above(self, class_name).validate_architecture()

    return validate_architecture


RULES: dict[str, Rule] = {
    "Gemma3TextConfig:sliding_window": _halve_window,
    "Gemma3nTextConfig:intsize_len": _width_of_each_layer,
    "Gemma3nTextConfig:intermediate_size": _width_of_each_layer,
    "Gemma3nTextConfig:num_sparse_layers": _sparsity_of_each_layer,
    "Gemma3nTextConfig:activation_sparsity_pattern": _sparsity_of_each_layer,
    "Gemma3nTextConfig:len_asp": _check_sparsity,
    "Gemma4AudioConfig:subsampling_conv_channels": _channels_as_list,
    "Gemma4AssistantConfig:text_config": _assistant_text("gemma4_text"),
    "Gemma4AssistantConfig:num_kv_shared_layers": _share_all_layers,
    "Gemma4UnifiedAssistantConfig:text_config": _assistant_text("gemma4_unified_text"),
    "Gemma4UnifiedAssistantConfig:num_kv_shared_layers": _share_all_layers,
    "GemmaConfig:hidden_act": _use_tanh_gelu,
    "EmbeddingGemma2TextConfig:sliding_window_pattern": _check_pattern,
    "EmbeddingGemma2TextConfig:last_layer_type": _end_with_full_attention,
    "EmbeddingGemma2TextConfig:layer_types": _end_with_full_attention,
    "EmbeddingGemma2TextConfig:per_layer_config": _shapes_of_full_embedding_layers,
}
for _name in ("Gemma4TextConfig", "Gemma4UnifiedTextConfig", "DiffusionGemmaTextConfig"):
    RULES[f"{_name}:is_causal"] = _halve_window_for_all
    RULES[f"{_name}:sliding_window"] = _halve_window_for_all
    RULES[f"{_name}:last_layer_type"] = _end_with_full_attention
    RULES[f"{_name}:layer_types"] = _end_with_full_attention
    RULES[f"{_name}:layer_overrides"] = _shapes_of_full_layers
    RULES[f"{_name}:per_layer_config"] = _shapes_of_full_layers

MEMBERS: dict[tuple[str, str], Any] = {
    ("Gemma4AssistantConfig", "validate_architecture"): _validate_assistant(
        "Gemma4AssistantConfig"
    ),
    ("Gemma3TextConfig", "to_dict"): _write_whole_window("Gemma3TextConfig", True),
    ("Gemma3nTextConfig", "to_dict"): _write_whole_window("Gemma3nTextConfig", True),
}
for _name in (
    "Gemma3TextConfig",
    "Gemma3nTextConfig",
    "T5Gemma2TextConfig",
    "T5Gemma2DecoderConfig",
):
    MEMBERS[_name, "convert_rope_params_to_dict"] = _rope_per_layer_type
for _name in (
    "Gemma4TextConfig",
    "Gemma4UnifiedTextConfig",
    "DiffusionGemmaTextConfig",
    "EmbeddingGemma2TextConfig",
):
    MEMBERS[_name, "convert_rope_params_to_dict"] = _rope_as_given
    MEMBERS[_name, "to_dict"] = _write_whole_window(_name, "all")


def _pattern(self: Any) -> Any:
    return self._sliding_window_pattern


def _set_pattern(self: Any, value: Any) -> None:
    self._sliding_window_pattern = value


for _name in ("Gemma3TextConfig", "Cohere2Config"):
    MEMBERS[_name, "sliding_window_pattern"] = property(_pattern, _set_pattern)
