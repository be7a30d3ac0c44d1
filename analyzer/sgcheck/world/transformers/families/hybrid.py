"""Models that mix attention with state-space layers: Falcon H1, Bamba, Granite, LFM2, Mamba 2."""

from typing import Any

from .. import rope
from ..steps import Run
from .helpers import Rule, read, refuse_unless, write

_MISMATCH = "The dimensions for the Mamba head state do not match the model intermediate_size"


def _head_of_state(run: Run) -> None:
    if read(run, "mamba_d_head") == "auto":
        inner = run.args.get("mamba_intermediate")
        if inner is None:
            inner = run.instance.mamba_expand * run.instance.hidden_size
        write(run, "mamba_d_head", inner // read(run, "mamba_n_heads"))


def _check_heads_of_state(run: Run) -> None:
    heads = read(run, "mamba_d_head") * read(run, "mamba_n_heads")
    refuse_unless(heads == run.args["mamba_intermediate"], _MISMATCH)


def _limit_as_tuple(run: Run) -> None:
    limit = read(run, "time_step_limit")
    run.instance.time_step_limit = tuple(limit) if limit is not None else None


def _only_known_layers(run: Run) -> None:
    layers = run.args["layer_types"]
    known = layers is None or all(kind in ("mamba", "attention") for kind in layers)
    refuse_unless(known, "layer_types must be a list of `mamba` and `attention`")


def _check_rope_if_used(run: Run) -> None:
    if run.instance.position_embedding_type == "rope":
        rope.check_scaling_4(run.instance, run.release)


def _attention_by_index(run: Run) -> None:
    """LFM2 lists the layers with attention; the others convolve."""
    if run.instance.layer_types is not None:
        return
    count = read(run, "num_hidden_layers")
    indices = read(run, "full_attn_idxs")
    if indices is None:
        indices = list(range(count))
    write(run, "full_attn_idxs", indices)
    run.instance.layer_types = [
        "full_attention" if index in indices else "conv" for index in range(count)
    ]


def _tied_by_text(run: Run) -> None:
    default = run.args["tie_word_embeddings"]
    run.instance.tie_word_embeddings = getattr(run.args["text_config"], "tie_embedding", default)


def _check_width_of_state(run: Run) -> None:
    inner = read(run, "hidden_size") * read(run, "expand")
    heads = read(run, "num_heads") * read(run, "head_dim")
    refuse_unless(inner == heads, f"hidden_size * expand ({inner}) must equal {heads}")


def _validate_width_of_state(self: Any) -> None:
    inner, heads = self.hidden_size * self.expand, self.num_heads * self.head_dim
    refuse_unless(inner == heads, f"hidden_size * expand ({inner}) must equal {heads}")


def _validate_heads_of_state(self: Any) -> None:
    inner = self.mamba_expand * self.hidden_size
    if getattr(self, "mamba_d_ssm", None) is not None:
        inner = self.mamba_d_ssm
    refuse_unless(inner % self.mamba_n_heads == 0, "mamba_n_heads must divide the inner width")
    refuse_unless(self.mamba_d_head * self.mamba_n_heads == inner, _MISMATCH)


def _attention_everywhere(self: Any) -> list[str]:
    kind = "hybrid" if self._release.at_least(5, 6) else "attention"
    return [kind for _ in range(self.num_hidden_layers)]


def _state_unless_given(self: Any) -> Any:
    return self.layer_types if self.layer_types else ["mamba"] * self.num_hidden_layers


_validate_width_of_state.__name__ = "validate_architecture"
_validate_heads_of_state.__name__ = "validate_architecture"

RULES: dict[str, Rule] = {
    "GraniteMoeHybridConfig:layer_types": _only_known_layers,
    "GraniteMoeHybridConfig:layer_type": _only_known_layers,
    "GraniteMoeHybridConfig:position_embedding_type": _check_rope_if_used,
    "Lfm2Config:full_attn_idxs": _attention_by_index,
    "Lfm2VlConfig:tie_word_embeddings": _tied_by_text,
    "Mamba2Config:hidden_size": _check_width_of_state,
}
for _name in ("FalconH1Config", "BambaConfig", "GraniteMoeHybridConfig"):
    RULES[f"{_name}:mamba_d_head"] = _head_of_state
    RULES[f"{_name}:mamba_intermediate"] = _check_heads_of_state
    RULES[f"{_name}:time_step_limit"] = _limit_as_tuple

MEMBERS: dict[tuple[str, str], Any] = {
    ("Mamba2Config", "validate_architecture"): _validate_width_of_state,
    ("FalconH1Config", "layers_block_type"): property(_attention_everywhere),
    ("GraniteMoeHybridConfig", "layers_block_type"): property(_state_unless_given),
}
for _name in ("FalconH1Config", "BambaConfig", "GraniteMoeHybridConfig"):
    MEMBERS[_name, "validate_architecture"] = _validate_heads_of_state
