"""Families that check or convert rotary parameters in their own way."""

from collections.abc import Callable
from typing import Any

from ..steps import Run
from .helpers import Rule, above, refuse_unless


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, int | float) for item in value)


def _rename_phi(run: Run) -> None:
    scaling = run.instance.rope_scaling
    if scaling is not None and scaling.get("type", None) in ("su", "yarn"):
        scaling["type"] = "longrope"


def _check_phi(run: Run) -> None:
    config = run.instance
    scaling = config.rope_scaling
    if scaling is None:
        return
    refuse_unless(
        isinstance(scaling, dict) and len(scaling) == 3,
        f"`rope_scaling` must be a dictionary with three fields, got {scaling}",
    )
    refuse_unless(scaling.get("type", None) == "longrope", "`rope_scaling`'s type must be longrope")
    short, long = scaling.get("short_factor", None), scaling.get("long_factor", None)
    refuse_unless(_is_numbers(short), f"short_factor must be a list of numbers, got {short}")
    width = config.hidden_size // config.num_attention_heads
    half = int(width * config.partial_rotary_factor) // 2
    refuse_unless(len(short) == half, f"short_factor must have length {half}")
    refuse_unless(_is_numbers(long), f"long_factor must be a list of numbers, got {long}")
    refuse_unless(len(long) == half, f"long_factor must have length {half}")


def _check_two_fields(run: Run) -> None:
    scaling = run.instance.rope_scaling
    if scaling is None:
        return
    refuse_unless(
        isinstance(scaling, dict) and len(scaling) == 2,
        f"`rope_scaling` must be a dictionary with two fields, got {scaling}",
    )
    kind, factor = scaling.get("type", None), scaling.get("factor", None)
    refuse_unless(kind in ("linear", "dynamic"), f"the type must be linear or dynamic, got {kind}")
    right = isinstance(factor, float) and factor > 1.0
    refuse_unless(right, f"the factor must be a float > 1, got {factor}")


def _convert_phi(
    self: Any, default_theta: Any = 10000.0, ignore_keys: Any = None, **kwargs: Any
) -> dict[str, Any]:
    given = kwargs.pop("rope_scaling", None)
    self.rope_parameters = given or self.rope_parameters
    if self.rope_parameters is None:
        self.rope_parameters = {}
    self.rope_parameters.setdefault("rope_theta", kwargs.pop("rope_theta", default_theta))
    newer = self._release.at_least(5, 6)
    share = kwargs.get("partial_rotary_factor", 1.0) if newer else kwargs["partial_rotary_factor"]
    self.rope_parameters.setdefault("partial_rotary_factor", share)
    self.standardize_rope_params()
    if self.rope_parameters.get("rope_type", None) in ("su", "yarn"):
        self.rope_parameters["rope_type"] = "longrope"
    if not newer:
        self.validate_rope(ignore_keys=ignore_keys)
    return kwargs


def _validate_phi(self: Any, **ignored: Any) -> None:
    above(self, "Phi3Config").validate_rope(**ignored)
    parameters = self.rope_parameters
    refuse_unless(isinstance(parameters, dict), f"must be a dictionary but got {parameters}")
    width = self.hidden_size // self.num_attention_heads
    half = int(width * parameters["partial_rotary_factor"]) // 2
    kind = parameters.get("rope_type", None)
    refuse_unless(kind in ("default", "longrope"), f"the type must be longrope, got {kind}")
    for name in ("short_factor", "long_factor"):
        values = parameters.get(name, None)
        if values is not None:
            refuse_unless(_is_numbers(values), f"{name} must be a list of numbers")
            refuse_unless(len(values) == half, f"{name} must have length {half}")


def _validate_phi_strictly(self: Any) -> None:
    _validate_phi(self)


class _ValidateRope:
    """`validate_rope` with the signature of the release: strict classes count parameters."""

    def __init__(self, older: Callable[..., None], newer: Callable[..., None]) -> None:
        self._older, self._newer = older, newer

    def __get__(self, instance: Any, owner: Any) -> Any:
        function = self._newer if owner._release.at_least(5, 6) else self._older
        return function if instance is None else function.__get__(instance, owner)


_validate_phi_strictly.__name__ = "validate_rope"


def _mrope_is_default(
    self: Any, ignore_keys_at_rope_validation: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """Multimodal sections are a matter of the model; the parameters are the default ones."""
    given = kwargs.pop("rope_scaling", None)
    self.rope_parameters = given or self.rope_parameters
    if self.rope_parameters is None:
        self.rope_parameters = {}
    parameters = self.rope_parameters
    parameters.setdefault("rope_theta", kwargs.pop("rope_theta", self.default_theta))
    if parameters.get("rope_type", parameters.get("type")) == "mrope":
        parameters["rope_type"] = "default"
    self.standardize_rope_params()
    if not self._release.at_least(5, 6):
        self.validate_rope(ignore_keys=ignore_keys_at_rope_validation)
    return kwargs


def _neox_names(
    self: Any, ignore_keys_at_rope_validation: Any = None, **kwargs: Any
) -> dict[str, Any]:
    given = kwargs.pop("rope_scaling", None)
    self.rope_parameters = given or self.rope_parameters
    if self.rope_parameters is None:
        self.rope_parameters = {}
    theta = kwargs.pop("rotary_emb_base", self.default_theta)
    self.rope_parameters.setdefault("rope_theta", theta)
    share = kwargs.pop("rotary_pct", 0.25)
    if self._release.at_least(5, 6):
        self.rope_parameters.setdefault("partial_rotary_factor", share)
    else:
        self.rope_parameters["partial_rotary_factor"] = share
    self.standardize_rope_params()
    if not self._release.at_least(5, 6):
        self.validate_rope(ignore_keys=ignore_keys_at_rope_validation)
    return kwargs


def _as_given(self: Any, **kwargs: Any) -> dict[str, Any]:
    return kwargs


def _without_type(self: Any, **kwargs: Any) -> dict[str, Any]:
    if self.rope_parameters.get("rope_type") is not None:
        del self.rope_parameters["rope_type"]
    return kwargs


def _per_layer_type(self: Any, **kwargs: Any) -> dict[str, Any]:
    """One theta, under whichever kind of layer is looked at first."""
    given = kwargs.pop("rope_scaling", None)
    kinds = ("full_attention", "sliding_attention")
    if self.rope_parameters is None:
        self.rope_parameters = {kind: {"rope_type": "default"} for kind in kinds}
    if given is not None:
        self.rope_parameters["full_attention"].update(given)
    for kind in kinds:
        if self.rope_parameters.get(kind) is None:
            self.rope_parameters[kind] = {"rope_type": "default"}
        theta = kwargs.pop("rope_theta", self.default_theta)
        self.rope_parameters[kind].setdefault("rope_theta", theta)
    self.standardize_rope_params()
    return kwargs


def _bert_per_layer_type(
    self: Any, ignore_keys_at_rope_validation: Any = None, **kwargs: Any
) -> dict[str, Any]:
    given = kwargs.pop("rope_scaling", None)
    kinds = (("full_attention", "global"), ("sliding_attention", "local"))
    if self.rope_parameters is None:
        self.rope_parameters = {kind: {"rope_type": "default"} for kind, _ in reversed(kinds)}
    if given is not None:
        for kind, _ in kinds:
            self.rope_parameters[kind].update(given)
    for kind, reach in kinds:
        if self.rope_parameters.get(kind) is None:
            self.rope_parameters[kind] = {"rope_type": "default"}
        theta = kwargs.pop(f"{reach}_rope_theta", self.default_theta[reach])
        self.rope_parameters[kind].setdefault("rope_theta", theta)
    self.standardize_rope_params()
    if not self._release.at_least(5, 6):
        self.validate_rope(ignore_keys=ignore_keys_at_rope_validation)
    return kwargs


def _validate_phimoe(self: Any, **ignored: Any) -> None:
    above(self, "PhimoeConfig").validate_rope(**ignored)
    parameters = self.rope_parameters
    if parameters["rope_type"] == "default":
        return
    if "original_max_position_embeddings" in parameters:
        original = parameters["original_max_position_embeddings"]
        self.original_max_position_embeddings = original
    for name in ("short_mscale", "long_mscale"):
        if not isinstance(parameters.get(name, None), int | float):
            raise TypeError(f"`rope_parameters`'s {name} field must be a number")


def _validate_phimoe_strictly(self: Any) -> None:
    _validate_phimoe(self)


_validate_phimoe_strictly.__name__ = "validate_rope"


def _without_compile(self: Any) -> dict[str, Any]:
    output: dict[str, Any] = above(self, "ModernBertConfig").to_dict()
    output.pop("reference_compile", None)
    return output


RULES: dict[str, Rule] = {
    "Phi3Config:_rope_scaling_adjustment": _rename_phi,
    "Phi3Config:_rope_scaling_validation": _check_phi,
}
for _name in ("OlmoConfig", "Olmo2Config"):
    RULES[f"{_name}:_rope_scaling_validation"] = _check_two_fields

MEMBERS: dict[tuple[str, str], Any] = {
    ("Phi3Config", "convert_rope_params_to_dict"): _convert_phi,
    ("Phi3Config", "validate_rope"): _ValidateRope(_validate_phi, _validate_phi_strictly),
    ("PhimoeConfig", "validate_rope"): _ValidateRope(_validate_phimoe, _validate_phimoe_strictly),
    ("GPTNeoXConfig", "convert_rope_params_to_dict"): _neox_names,
    ("ZayaConfig", "convert_rope_params_to_dict"): _without_type,
    ("Olmo3Config", "convert_rope_params_to_dict"): _per_layer_type,
    ("ModernBertConfig", "convert_rope_params_to_dict"): _bert_per_layer_type,
    ("ModernBertConfig", "to_dict"): _without_compile,
}
for _name in ("Qwen2VLTextConfig", "Qwen2_5_VLTextConfig"):
    MEMBERS[_name, "convert_rope_params_to_dict"] = _mrope_is_default
for _name in ("LagunaConfig", "MellumConfig", "MiMoV2FlashConfig"):
    MEMBERS[_name, "convert_rope_params_to_dict"] = _as_given
