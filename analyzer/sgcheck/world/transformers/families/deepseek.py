"""DeepSeek, GLM with sparse attention, Kimi, MiniMax."""

from typing import Any

from ..steps import Run
from .helpers import Rule, above

_INDEXERS = {"F": "full", "S": "shared"}


def _experts_under_other_name(run: Run) -> None:
    count = run.kwargs.get("num_experts")
    if count is not None:
        run.instance.n_routed_experts = count


def _indexer_of_each_layer(run: Run) -> None:
    """Which layers choose tokens themselves: written out, or every n-th."""
    config, kwargs = run.instance, run.kwargs
    if config.indexer_types is not None:
        return
    newer = run.release.at_least(5, 12)
    pattern = kwargs.get("index_topk_pattern")
    if newer:
        every = kwargs.get("index_topk_freq", 1) if pattern is None else 1
        every = max(every, 1)
        first = kwargs.get("index_skip_topk_offset", 2)
    else:
        kwargs.pop("index_topk_pattern", None)
        every, first = kwargs.pop("index_topk_freq", 1), 2
    if pattern is not None:
        if isinstance(pattern, str):
            config.indexer_types = [_INDEXERS[letter] for letter in pattern]
        else:
            config.indexer_types = list(pattern)
    else:
        config.indexer_types = [
            "full" if max(index - first + 1, 0) % every == 0 else "shared"
            for index in range(config.num_hidden_layers)
        ]


def _kimi_text(run: Run) -> None:
    """Kimi K2 is DeepSeek V3 under another name."""
    config = run.instance
    names = {"kimi_k2": "deepseek_v3"}
    given = config.text_config
    if isinstance(given, dict):
        model_type = given.get("model_type", "deepseek_v3")
        cls = run.classes.class_for_model_type(names.get(model_type, model_type))
        config.text_config = cls(**given)
    elif given is None:
        config.text_config = run.classes.class_for_model_type("deepseek_v3")()
    elif given.model_type == "kimi_k2":
        given.model_type = "deepseek_v3"


def _rope_with_floats(
    self: Any, ignore_keys_at_rope_validation: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """Some checkpoints write factors as integers."""
    given = kwargs.pop("rope_scaling", None)
    self.rope_parameters = given or self.rope_parameters
    if self.rope_parameters is None:
        self.rope_parameters = {}
    self.rope_parameters.setdefault("rope_theta", kwargs.pop("rope_theta", self.default_theta))
    self.standardize_rope_params()
    self.validate_rope(ignore_keys=ignore_keys_at_rope_validation)
    for key in ("beta_fast", "beta_slow", "factor"):
        if key in self.rope_parameters:
            self.rope_parameters[key] = float(self.rope_parameters[key])
    return kwargs


def _rope_of_minimax(self: Any, **kwargs: Any) -> dict[str, Any]:
    """The share of a head that rotates, from its size."""
    rotary = kwargs.get("rotary_dim", getattr(self, "rotary_dim", None))
    if rotary is not None:
        kwargs.setdefault("partial_rotary_factor", rotary / self.head_dim)
    converted: dict[str, Any] = above(self, "MiniMaxM2Config").convert_rope_params_to_dict(**kwargs)
    return converted


RULES: dict[str, Rule] = {
    "DeepseekV32Config:num_experts": _experts_under_other_name,
    "DeepseekV32Config:n_routed_experts": _experts_under_other_name,
    "GlmMoeDsaConfig:num_experts": _experts_under_other_name,
    "GlmMoeDsaConfig:n_routed_experts": _experts_under_other_name,
    "GlmMoeDsaConfig:pattern": _indexer_of_each_layer,
    "GlmMoeDsaConfig:indexer_types": _indexer_of_each_layer,
    "Glm5NextTextConfig:pattern": _indexer_of_each_layer,
    "Kimi_K25Config:model_type": _kimi_text,
}

MEMBERS: dict[tuple[str, str], Any] = {
    ("DeepseekV3Config", "convert_rope_params_to_dict"): _rope_with_floats,
    ("LongcatFlashConfig", "convert_rope_params_to_dict"): _rope_with_floats,
    ("MiniMaxM2Config", "convert_rope_params_to_dict"): _rope_of_minimax,
}
