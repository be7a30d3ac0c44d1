"""Rotary embedding parameters: how they are brought into one form, and which are refused."""

from typing import Any

# Keys that must be there, by kind of scaling. In 4.x `rope_theta` lies beside the dictionary.
_NEEDED_4 = {
    "default": {"rope_type"},
    "linear": {"rope_type", "factor"},
    "dynamic": {"rope_type", "factor"},
    "yarn": {"rope_type", "factor"},
    "longrope": {"rope_type", "short_factor", "long_factor"},
    "llama3": {
        "rope_type",
        "factor",
        "original_max_position_embeddings",
        "low_freq_factor",
        "high_freq_factor",
    },
}
_NEEDED_5 = {
    "default": {"rope_type"},
    "axial": {"rope_type"},
    "linear": {"rope_type", "factor"},
    "dynamic": {"rope_type", "factor"},
    "yarn": {"rope_type", "factor", "original_max_position_embeddings"},
    "longrope": {
        "rope_type",
        "short_factor",
        "long_factor",
        "original_max_position_embeddings",
    },
    "llama3": _NEEDED_4["llama3"] | {"rope_theta"},
    "proportional": {"rope_type", "rope_theta"},
}
_KNOWN_SINCE = {"proportional": (5, 6), "axial": (5, 19)}
_STRETCHED = ("llama3", "yarn", "longrope")


def check_keys(kind: Any, received: set[str], needed: set[str], ignored: set[str] | None) -> None:
    """Raise `KeyError` if a needed key is absent."""
    if "type" in received:
        received = received - {"type"}
        needed = needed | {"rope_type"}
    missing = needed - (received - set(ignored or ()))
    if missing:
        raise KeyError(f"Missing required keys in the rope parameters of '{kind}': {missing}")


def _check_values(config: Any, scaling: dict[str, Any], kind: str) -> None:
    """Touch the values as the library does; wrong ones only warn, but odd types raise."""
    if kind == "yarn":
        (scaling.get("beta_fast") or 32) < (scaling.get("beta_slow") or 1)  # noqa: B015
    elif kind == "longrope":
        len(scaling["short_factor"])
        len(scaling["long_factor"])
    elif kind == "llama3":
        scaling["high_freq_factor"] <= scaling["low_freq_factor"]  # noqa: B015
        scaling["original_max_position_embeddings"] >= config.max_position_embeddings  # noqa: B015


def check_scaling_4(config: Any, release: Any, ignored: set[str] | None = None) -> None:
    """The check of `rope_scaling` that model classes of transformers 4 ask for."""
    scaling = getattr(config, "rope_scaling", None)
    if scaling is None:
        return
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    needed = _NEEDED_4.get(kind)
    if needed is None:
        return
    check_keys(kind, set(scaling), set(needed), ignored)
    if kind == "longrope":
        head_dim = getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
        int(head_dim * getattr(config, "partial_rotary_factor", 1.0))
    _check_values(config, scaling, kind)
    if kind == "yarn" and release.at_least(4, 57):
        original = scaling.get("original_max_position_embeddings")
        if original is not None:
            config.max_position_embeddings / original


class RopeParameters:
    """What the base configuration of transformers 5 does with rotary parameters."""

    default_theta: Any = 10000.0
    _release: Any

    def convert_rope_params_to_dict(
        self, ignore_keys_at_rope_validation: set[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        config: Any = self
        scaling = kwargs.pop("rope_scaling", None)
        config.rope_parameters = scaling or config.rope_parameters
        if config.rope_parameters is None:
            config.rope_parameters = {}
        theta = kwargs.pop("rope_theta", getattr(config, "rope_theta", config.default_theta))
        partial = kwargs.get(
            "partial_rotary_factor", getattr(config, "partial_rotary_factor", None)
        )
        parameters = config.rope_parameters
        nested = (
            config.nested_rope_parameter_keys(parameters) if self._release.at_least(5, 19) else []
        )
        for part in [parameters[key] for key in nested] or [parameters]:
            if part is None:
                continue
            part.setdefault("rope_theta", theta)
            if partial is not None:
                part.setdefault("partial_rotary_factor", partial)
        if self._release.at_least(5, 6):
            if partial is not None:
                ignored = set(config.ignore_keys_at_rope_validation or ())
                config.ignore_keys_at_rope_validation = ignored | {"partial_rotary_factor"}
            config.standardize_rope_params()
        else:
            ignored = set(ignore_keys_at_rope_validation or ())
            if partial is not None:
                ignored = ignored | {"partial_rotary_factor"}
            config.standardize_rope_params()
            config.validate_rope(ignore_keys=ignored or ignore_keys_at_rope_validation)
        return kwargs

    def standardize_rope_params(self) -> None:
        config: Any = self
        theta = getattr(config, "rope_theta", None)
        partial = getattr(config, "partial_rotary_factor", None)
        parameters = getattr(config, "rope_parameters", None) or {}
        if not (parameters or theta):
            return
        newest = self._release.at_least(5, 19)
        nested = _nested_keys(config, parameters, newest)
        for key in nested:
            part = parameters[key]
            if part is None and newest:
                continue
            _complete(config, part, theta, partial, newest)
            if part["rope_type"] in _STRETCHED:
                config.rope_parameters[key].setdefault(
                    "original_max_position_embeddings", config.max_position_embeddings
                )
            if newest and config.default_rope_type != "default" and part["rope_type"] == "default":
                part["rope_type"] = config.default_rope_type
        if not nested:
            _complete(config, parameters, theta, partial, newest)
            if (
                newest
                and config.default_rope_type != "default"
                and parameters["rope_type"] == "default"
            ):
                parameters["rope_type"] = config.default_rope_type
            if parameters["rope_type"] in _STRETCHED:
                if hasattr(config, "original_max_position_embeddings"):
                    original = config.original_max_position_embeddings
                    config.rope_parameters["original_max_position_embeddings"] = original
                else:
                    config.rope_parameters.setdefault(
                        "original_max_position_embeddings", config.max_position_embeddings
                    )
        config.rope_parameters = parameters

    def _check_rope(self, ignored: set[str] | None) -> None:
        config: Any = self
        newest = self._release.at_least(5, 19)
        parameters = getattr(config, "rope_parameters", None)
        if not parameters:
            return
        nested = _nested_keys(config, parameters, newest)
        parts = {key: parameters[key] for key in nested} or {"full_attention": parameters}
        if nested and not newest:
            parts = parameters
        head_dim = None
        if newest and not config.is_heterogeneous:
            head_dim = getattr(config, "head_dim", None)
        for part in parts.values():
            if part is None and newest:
                continue
            kind = part.get("rope_type", part.get("type", "default"))
            part["rope_type"] = kind
            self._check_part(part, kind, ignored)
            if head_dim is not None:
                factor = part.get("partial_rotary_factor", 1.0)
                if head_dim > 4 and head_dim % 2 and int(head_dim * factor) == head_dim:
                    raise ValueError(
                        f"RoPE needs an even rotary dimension, got head_dim={head_dim}"
                    )

    def _check_part(self, part: dict[str, Any], kind: str, ignored: set[str] | None) -> None:
        config: Any = self
        needed = _NEEDED_5.get(kind)
        if needed is None or not self._release.at_least(*_KNOWN_SINCE.get(kind, (5, 0))):
            return
        if not self._release.at_least(5, 6) and kind not in ("dynamic", "llama3"):
            needed = needed | {"rope_theta"}
        check_keys(kind, set(part), set(needed), ignored)
        if kind == "longrope":
            head_dim = getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
            int(head_dim * part.get("partial_rotary_factor", 1.0))
        _check_values(config, part, kind)
        if kind == "yarn":
            source = part if self._release.at_least(5, 12) else config.rope_parameters
            config.max_position_embeddings / source["original_max_position_embeddings"]


def _nested_keys(config: Any, parameters: dict[str, Any], newest: bool) -> list[str]:
    """The keys under which parameters of single layer types lie; none if they are flat."""
    if newest:
        found: list[str] = config.nested_rope_parameter_keys(parameters)
        return found
    layer_types = getattr(config, "layer_types", None)
    if layer_types is None or not parameters or not set(parameters).issubset(layer_types):
        return []
    return list(dict.fromkeys(layer_types))


def _complete(config: Any, part: dict[str, Any], theta: Any, partial: Any, newest: bool) -> None:
    part.setdefault("rope_type", part.get("type", "default"))
    part.setdefault("rope_theta", theta)
    if partial is not None:
        if newest:
            part.setdefault("partial_rotary_factor", partial)
        else:
            part["partial_rotary_factor"] = partial
