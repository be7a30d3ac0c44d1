"""Layouts of layers that only one family has."""

import math
from typing import Any

from ..steps import Run
from .helpers import Rule, read, refuse_unless, write

_FULL, _SLIDING = "full_attention", "sliding_attention"


def _layers(run: Run, kind_of: Any) -> None:
    if run.instance.layer_types is None:
        count = run.instance.num_hidden_layers
        run.instance.layer_types = [kind_of(index) for index in range(count)]


# -- Llama 4 and SmolLM 3: some layers without rotary embeddings ---------------------------------


def _default_without_rope(run: Run) -> None:
    every = read(run, "no_rope_layer_interval")
    run.args["default_no_rope_layers"] = [
        int((index + 1) % every != 0) for index in range(run.instance.num_hidden_layers)
    ]


def _empty_means_default(run: Run) -> None:
    if run.args["no_rope_layers"] == []:
        run.args["no_rope_layers"] = None


def _layers_with_experts(run: Run) -> None:
    given = read(run, "moe_layers")
    if given is None:
        step, count = read(run, "interleave_moe_layer_step"), read(run, "num_hidden_layers")
        given = list(range(step - 1, count, step))
    run.instance.moe_layers = given


def _chunked_where_rope(run: Run) -> None:
    if read(run, "layer_types") is None:
        run.instance.layer_types = [
            "chunked_attention" if has_rope else _FULL for has_rope in run.instance.no_rope_layers
        ]


def _nothing(run: Run) -> None:
    """The statement has no effect on the configuration."""


def _smollm_without_rope(run: Run) -> None:
    given = read(run, "no_rope_layers")
    if given is None:
        every = read(run, "no_rope_layer_interval")
        given = [int((i + 1) % every != 0) for i in range(read(run, "num_hidden_layers"))]
    run.instance.no_rope_layers = given


def _smollm_layers(run: Run) -> None:
    if read(run, "layer_types") is None:
        slides = read(run, "use_sliding_window") and read(run, "sliding_window") is not None
        without = run.instance.no_rope_layers
        kinds = [
            _FULL if without[index] or not slides else _SLIDING
            for index in range(read(run, "num_hidden_layers"))
        ]
        write(run, "layer_types", kinds)


# -- Others --------------------------------------------------------------------------------------


def _cohere_layers(run: Run) -> None:
    config = run.instance
    if config.layer_types is None:
        config._sliding_window_pattern = getattr(config, "sliding_window_pattern", 4)
        every = config._sliding_window_pattern
        _layers(run, lambda index: _SLIDING if (index + 1) % every else _FULL)


def _exaone_pattern(run: Run) -> None:
    if run.instance.sliding_window is None:
        write(run, "sliding_window_pattern", 0)


def _exaone_layers(run: Run) -> None:
    if run.instance.layer_types is None:
        every, count = read(run, "sliding_window_pattern"), run.instance.num_hidden_layers
        _layers(run, lambda i: _SLIDING if (i + 1) % every != 0 and i < count else _FULL)


def _exaone_cache(run: Run) -> None:
    if "sliding_window" in run.instance.layer_types:
        if run.release.at_least(4, 56):
            run.instance.cache_implementation = "hybrid"
        else:
            run.instance._attn_implementation = "hybrid"


def _ministral_layers(run: Run) -> None:
    kind = _SLIDING if run.instance.sliding_window is not None else _FULL
    if run.instance.layer_types is None:
        run.instance.layer_types = [kind] * read(run, "num_hidden_layers")


def _qwen2_moe_layers(run: Run) -> None:
    if run.instance.layer_types is None:
        last, slides = run.instance.max_window_layers, read(run, "use_sliding_window")
        _layers(run, lambda i: _SLIDING if (i + 1) % 2 and i < last and slides else _FULL)


def _mimo_layers(run: Run) -> None:
    _layers(run, lambda index: _FULL if index == 0 or not (index + 1) % 6 else _SLIDING)


def _one_dense_layer(run: Run) -> None:
    config = run.instance
    if config.mlp_layer_types is None:
        count = config.num_hidden_layers
        dense = 1 if count > 0 else 0
        config.mlp_layer_types = ["dense"] * dense + ["sparse"] * max(count - 1, 0)


def _take_linear(name: str, key: str) -> Rule:
    def take(run: Run) -> None:
        given = run.args["linear_attn_config"]
        setattr(run.instance, name, given.get(key, getattr(run.instance, name)))

    return take


def _kimi_linear_layers(run: Run) -> None:
    config, given = run.instance, run.args["linear_attn_config"]
    if config.layer_types is not None:
        return
    if "full_attn_layers" in given and "kda_layers" in given:
        layers: list[Any] = [None] * config.num_hidden_layers
        for kind, key in ((_FULL, "full_attn_layers"), ("linear_attention", "kda_layers")):
            for number in given[key]:
                layers[number - 1] = kind
        config.layer_types = layers
    else:
        _layers(run, lambda i: _FULL if i and i % 4 == 0 else "linear_attention")


def _theta_of_each_layer(run: Run) -> None:
    config = run.instance
    if config.layer_rope_theta is None:
        theta = config.rope_parameters["rope_theta"]
        config.layer_rope_theta = [theta] * config.num_hidden_layers


def _depth_scale(run: Run) -> None:
    if run.instance.scale_depth is None:
        run.instance.scale_depth = math.sqrt(run.instance.num_hidden_layers)


def _zaya_layers(run: Run) -> None:
    config = run.instance
    given = config.layer_types
    kinds = ["hybrid"] * config.num_hidden_layers if given is None else list(given)
    config.layer_types = kinds


def _check_offset(kind: str, period: str, offset: str) -> Rule:
    def check(run: Run) -> None:
        at, every = getattr(run.instance, offset), getattr(run.instance, period)
        refuse_unless(at < every, f"{kind} layer offset ({at}) must be smaller than {every}")

    return check


def _validate_offsets(self: Any) -> None:
    refuse_unless(self.attn_layer_offset < self.attn_layer_period, "attention layer offset")
    refuse_unless(self.expert_layer_offset < self.expert_layer_period, "expert layer offset")


def _attention_by_period(self: Any) -> list[str]:
    period, offset = self.attn_layer_period, self.attn_layer_offset
    count = self.num_hidden_layers
    return ["attention" if index % period == offset else "mamba" for index in range(count)]


def _general_names(self: Any) -> list[str]:
    state = "linear_attention" if self._release.at_least(5, 19) else "mamba"
    return [_FULL if kind == "attention" else state for kind in self.layers_block_type]


def _experts_by_period(self: Any) -> list[Any]:
    period, offset = self.expert_layer_period, self.expert_layer_offset
    count = self.num_hidden_layers
    return [self.num_experts if index % period == offset else 1 for index in range(count)]


def _attention_by_index(self: Any) -> list[str]:
    newest = self._release.at_least(5, 19)
    names = (_FULL, "linear_attention") if newest else ("attention", "mamba")
    chosen = self.attn_layer_indices
    count = self.num_hidden_layers
    return [names[0] if chosen and index in chosen else names[1] for index in range(count)]


def _twice_the_layers(self: Any) -> Any:
    return 2 * self.num_layers


def _half_the_layers(self: Any, value: Any) -> None:
    self.num_layers = value // 2


def _validate_laguna(self: Any) -> None:
    if self.moe_apply_router_weight_on_input:
        raise NotImplementedError("moe_apply_router_weight_on_input=True")
    count = self.num_hidden_layers
    heads = self.num_attention_heads_per_layer
    refuse_unless(heads is None or len(heads) == count, "num_attention_heads_per_layer")
    refuse_unless(len(self.layer_types) == count, "layer_types")
    refuse_unless(len(self.mlp_layer_types) == count, "mlp_layer_types")


_validate_laguna.__name__ = "validate_architecture"
_validate_offsets.__name__ = "validate_architecture"


def _untied(run: Run) -> None:
    refuse_unless(not run.args["tie_word_embeddings"], "tie_word_embeddings is not supported")


def _validate_untied(self: Any) -> None:
    refuse_unless(not self.tie_word_embeddings, "tie_word_embeddings is not supported")


_validate_untied.__name__ = "validate_architecture"


def _forget_general_keywords(run: Run) -> None:
    names = ["model_type", "attn_implementation", "transformers_version", "_commit_hash"]
    names.append("torch_dtype")
    if run.release.at_least(4, 56):
        names.append("dtype")
    if run.release.at_least(5):
        names.append("experts_implementation")
    for name in names:
        run.kwargs.pop(name, None)


def _no_more_keywords(run: Run) -> None:
    refuse_unless(not run.kwargs, f"Found unknown kwargs={run.kwargs!r}")


def _experts_as_wide(run: Run) -> None:
    run.instance.ffn_config.hidden_size = run.instance.d_model


RULES: dict[str, Rule] = {
    "Llama4TextConfig:default_no_rope_layers": _default_without_rope,
    "Llama4TextConfig:no_rope_layers": _empty_means_default,
    "Llama4TextConfig:moe_layers": _layers_with_experts,
    "Llama4TextConfig:layer_types": _chunked_where_rope,
    "Llama4VisionConfig:property": _nothing,
    "Llama4VisionConfig:vision_feature_layer": _nothing,
    "Llama4VisionConfig:_vision_feature_layer": _nothing,
    "SmolLM3Config:no_rope_layers": _smollm_without_rope,
    "SmolLM3Config:layer_types": _smollm_layers,
    "Cohere2Config:_sliding_window_pattern": _cohere_layers,
    "Exaone4Config:sliding_window_pattern": _exaone_pattern,
    "Exaone4Config:layer_types": _exaone_layers,
    "Exaone4Config:_attn_implementation": _exaone_cache,
    "Exaone4Config:cache_implementation": _exaone_cache,
    "ExaoneMoeConfig:sliding_window_pattern": _exaone_pattern,
    "ExaoneMoeConfig:layer_types": _exaone_layers,
    "MinistralConfig:layer_types": _ministral_layers,
    "Qwen2MoeConfig:layer_types": _qwen2_moe_layers,
    "MiMoV2FlashConfig:layer_types": _mimo_layers,
    "HYV3Config:mlp_layer_types": _one_dense_layer,
    "KimiLinearConfig:linear_head_dim": _take_linear("linear_head_dim", "head_dim"),
    "KimiLinearConfig:linear_num_heads": _take_linear("linear_num_heads", "num_heads"),
    "KimiLinearConfig:linear_conv_kernel_dim": _take_linear(
        "linear_conv_kernel_dim", "short_conv_kernel_size"
    ),
    "KimiLinearConfig:layer_types": _kimi_linear_layers,
    "GraniteSWAConfig:layer_rope_theta": _theta_of_each_layer,
    "GraniteMoeSWAConfig:layer_rope_theta": _theta_of_each_layer,
    "MiniCPM3Config:scale_depth": _depth_scale,
    "ZayaConfig:layer_types": _zaya_layers,
    "JambaConfig:_check_supported_offset": _check_offset(
        "attention", "attn_layer_period", "attn_layer_offset"
    ),
    "JambaConfig:_check_supported_offset:2": _check_offset(
        "expert", "expert_layer_period", "expert_layer_offset"
    ),
    "DbrxConfig:tie_word_embeddings": _untied,
    "DbrxConfig:hidden_size": _experts_as_wide,
    "DbrxFFNConfig:k": _forget_general_keywords,
    "DbrxFFNConfig:kwargs": _no_more_keywords,
    "DbrxAttentionConfig:k": _forget_general_keywords,
    "DbrxAttentionConfig:kwargs": _no_more_keywords,
}

MEMBERS: dict[tuple[str, str], Any] = {
    ("DbrxConfig", "validate_architecture"): _validate_untied,
    ("LagunaConfig", "validate_architecture"): _validate_laguna,
    ("JambaConfig", "validate_architecture"): _validate_offsets,
    ("JambaConfig", "layers_block_type"): property(_attention_by_period),
    ("JambaConfig", "layer_types"): property(_general_names),
    ("JambaConfig", "layers_num_experts"): property(_experts_by_period),
    ("BambaConfig", "layers_block_type"): property(_attention_by_index),
    ("LongcatFlashConfig", "num_hidden_layers"): property(_twice_the_layers, _half_the_layers),
}
