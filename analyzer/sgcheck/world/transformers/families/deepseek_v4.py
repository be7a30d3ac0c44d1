"""DeepSeek V4: three kinds of attention, hashed experts, two sets of rotary parameters."""

from typing import Any

from ..steps import Run
from .helpers import Rule, refuse_unless

_SPARSE, _HEAVY = "compressed_sparse_attention", "heavily_compressed_attention"
_BY_RATIO = {0: "sliding_attention", 4: _SPARSE, 128: _HEAVY}
_LAYERS = (*_BY_RATIO.values(),)
_EXPERTS = ("hash_moe", "moe")


def _build(run: Run) -> None:
    config, kwargs = run.instance, run.kwargs
    ratios = kwargs.pop("compress_ratios", None)
    rates = {_SPARSE: kwargs.pop("compress_rate_csa", None)}
    rates[_HEAVY] = kwargs.pop("compress_rate_hca", None)
    hashed = kwargs.pop("num_hash_layers", None)
    rotary = kwargs.pop("qk_rope_head_dim", None)
    run.construct_base(**kwargs)
    if config.compress_rates is None:
        config.compress_rates = dict(config.default_compress_rates)
    for kind, rate in rates.items():
        if rate is not None:
            config.compress_rates[kind] = rate
    _lay_out(config, ratios, hashed)
    if config.partial_rotary_factor is None:
        share = config.default_partial_rotary_factor
        config.partial_rotary_factor = share if rotary is None else rotary / config.head_dim
    config.qk_rope_head_dim = int(config.head_dim * config.partial_rotary_factor)
    config.rope_parameters = _two_sets(config, config.rope_parameters or {})


def _lay_out(config: Any, ratios: Any, hashed: Any) -> None:
    count = config.num_hidden_layers
    if config.layer_types is None and ratios is not None:
        config.layer_types = [_BY_RATIO[ratio] for ratio in ratios]
    if config.layer_types is None:
        later = [_SPARSE if index % 2 else _HEAVY for index in range(max(count - 2, 0))]
        config.layer_types = [_HEAVY] * min(count, 2) + later
    config.layer_types = list(config.layer_types[:count])
    if config.mlp_layer_types is None:
        first = config.default_num_hash_layers if hashed is None else hashed
        config.mlp_layer_types = ["hash_moe"] * min(count, first) + ["moe"] * max(0, count - first)
    config.mlp_layer_types = list(config.mlp_layer_types[:count])


def _two_sets(config: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The main attention's parameters, and those of the compressed one, which may be scaled."""
    if isinstance(given.get("main"), dict) and isinstance(given.get("compress"), dict):
        return {"main": given["main"], "compress": given["compress"]}
    share = config.partial_rotary_factor
    scaled = {key: value for key, value in given.items() if key not in ("main", "compress")}
    scaled |= {"rope_theta": config.compress_rope_theta, "partial_rotary_factor": share}
    scaled.setdefault("rope_type", "default")
    if not config._release.at_least(5, 12):
        scaled["attention_factor"] = 1.0
    elif scaled["rope_type"] == "yarn":
        scaled.setdefault("attention_factor", 1.0)
    main = {"rope_type": "default", "rope_theta": config.rope_theta, "partial_rotary_factor": share}
    return {"main": main, "compress": scaled}


def _validate_rope(self: Any) -> None:
    whole = getattr(self, "rope_parameters", None) or {}
    for label in ("main", "compress"):
        part = whole.get(label)
        if not isinstance(part, dict):
            continue
        kind = part["rope_type"] = part.get("rope_type", part.get("type", "default"))
        self.rope_parameters = part
        try:
            self._check_part(part, kind, self.ignore_keys_at_rope_validation)
        finally:
            self.rope_parameters = whole


def _validate_layers(self: Any) -> None:
    count = self.num_hidden_layers
    if count is None:
        return
    for name, allowed in (("layer_types", _LAYERS), ("mlp_layer_types", _EXPERTS)):
        kinds = getattr(self, name)
        if kinds is not None:
            refuse_unless(len(kinds) == count, f"`{name}` must have {count} entries")
            wrong = [kind for kind in kinds if kind not in allowed]
            refuse_unless(not wrong, f"`{name}` entries must be one of {allowed}, got {wrong}")


_validate_rope.__name__ = "validate_rope"
_validate_layers.__name__ = "validate_layer_type"

RULES: dict[str, Rule] = {"DeepseekV4Config": _build}

MEMBERS: dict[tuple[str, str], Any] = {
    ("DeepseekV4Config", "validate_rope"): _validate_rope,
    ("DeepseekV4Config", "validate_layer_type"): _validate_layers,
}
