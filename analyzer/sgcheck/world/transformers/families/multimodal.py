"""Models with parts for images or sound."""

from typing import Any

from ..steps import Run
from .helpers import Rule, make, read, refuse_unless, write

_MODERN = (5, 6)


# -- CLIP and its relatives: parts under two names ------------------------------------------------


def _clip_part(part: str, class_name: str) -> Rule:
    """`<part>_config_dict`, the older name, overrides `<part>_config`."""
    name = f"{part}_config"

    def merge(run: Run) -> None:
        if run.release.at_least(*_MODERN) and name not in run.args:
            given = getattr(run.instance, name)
            cls = run.classes.config_class(class_name)
            if given is None:
                given = {}
            elif isinstance(given, cls):
                given = given.to_dict()
            run.args[name] = given
            return
        older = run.args[f"{name}_dict"]
        if older is None:
            return
        if run.args[name] is None:
            run.args[name] = {}
        values = make(run, class_name, older).to_dict()
        if part == "vision" and "id2label" in values:
            values["id2label"] = {str(key): item for key, item in values["id2label"].items()}
        run.args[name].update(values)

    return merge


# -- Others ---------------------------------------------------------------------------------------


def _pair(name: str) -> Rule:
    def widen(run: Run) -> None:
        value = read(run, name)
        if not isinstance(value, list | tuple):
            write(run, name, (value, value))
        elif name not in run.args:
            setattr(run.instance, name, value)

    return widen


def _width_of_text(name: str) -> Rule:
    def copy(run: Run) -> None:
        setattr(run.instance, name, getattr(run.args["text_config"], name))

    return copy


def _aspect_ratios(run: Run) -> None:
    if run.args["supported_aspect_ratios"] is None:
        refuse_unless(run.args["max_num_tiles"] == 4, "max_num_tiles must be 4")
        pairs = [(1, n) for n in (1, 2, 3, 4)] + [(2, 1), (2, 2), (3, 1), (4, 1)]
        run.args["supported_aspect_ratios"] = [list(pair) for pair in pairs]


def _validate_aspect_ratios(self: Any) -> None:
    default = [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]]
    if self.supported_aspect_ratios == default:
        refuse_unless(self.max_num_tiles == 4, "max_num_tiles must be 4")


def _without_model_type(name: str, class_name: str) -> Rule:
    """A part whose dictionary may carry a model type that is not looked at."""

    def build(run: Run) -> None:
        given = getattr(run.instance, name)
        if given is None:
            setattr(run.instance, name, make(run, class_name))
        elif isinstance(given, dict):
            if class_name.startswith("MiniMax"):
                given.pop("model_type", None)
            values = {key: item for key, item in given.items() if key != "model_type"}
            setattr(run.instance, name, make(run, class_name, values))

    return build


def _merged_width(run: Run) -> None:
    config = run.instance
    merged = config.vision_config.spatial_merge_size**2
    config.merged_hidden_size = config.text_config.hidden_size * merged


def _minimax_names(run: Run) -> None:
    given = run.args["sparse_cfg"]
    for name, older in (
        ("index_n_heads", "sparse_num_index_heads"),
        ("index_head_dim", "sparse_index_dim"),
        ("index_block_size", "sparse_block_size"),
        ("index_topk_blocks", "sparse_topk_blocks"),
        ("index_local_blocks", "sparse_local_block"),
    ):
        if older in given:
            setattr(run.instance, name, given[older])


def _minimax_layers(run: Run) -> None:
    given = run.args["sparse_cfg"]
    if run.instance.layer_types is None and "sparse_attention_freq" in given:
        run.instance.layer_types = [
            "minimax_m3_sparse" if sparse else "full_attention"
            for sparse in given["sparse_attention_freq"]
        ]


def _minimax_experts(run: Run) -> None:
    given = run.args["moe_layer_freq"]
    if run.instance.mlp_layer_types is None and given is not None:
        run.instance.mlp_layer_types = ["sparse" if moe else "dense" for moe in given]


def _tied_by_text(run: Run) -> None:
    if run.kwargs.get("tie_word_embeddings") is None:
        text = run.instance.text_config
        run.instance.tie_word_embeddings = getattr(text, "tie_word_embeddings", True)


RULES: dict[str, Rule] = {
    "VoxtralConfig:hidden_size": _width_of_text("hidden_size"),
    "VoxtralConfig:vocab_size": _width_of_text("vocab_size"),
    "GlmAsrConfig:hidden_size": _width_of_text("hidden_size"),
    "GlmAsrConfig:vocab_size": _width_of_text("vocab_size"),
    "MllamaVisionConfig:supported_aspect_ratios": _aspect_ratios,
    "Step3p7Config:text_config": _without_model_type("text_config", "Step3p7TextConfig"),
    "Step3p7Config:vision_config": _without_model_type("vision_config", "Step3p7VisionConfig"),
    "MiniMaxM3VLConfig:text_config": _without_model_type("text_config", "MiniMaxM3VLTextConfig"),
    "MiniMaxM3VLConfig:vision_config": _without_model_type(
        "vision_config", "MiniMaxM3VLVisionConfig"
    ),
    "MiniMaxM3VLConfig:merged_hidden_size": _merged_width,
    "MiniMaxM3VLTextConfig:flat": _minimax_names,
    "MiniMaxM3VLTextConfig:layer_types": _minimax_layers,
    "MiniMaxM3VLTextConfig:mlp_layer_types": _minimax_experts,
    "ShieldGemma2Config:tie_word_embeddings": _tied_by_text,
}
for _name in ("InternVLVisionConfig", "QianfanOCRVisionConfig"):
    RULES[f"{_name}:image_size"] = _pair("image_size")
    RULES[f"{_name}:patch_size"] = _pair("patch_size")
for _family in ("CLIP", "CLIPSeg", "AltCLIP", "ChineseCLIP", "MetaClip2", "XCLIP"):
    for _part, _suffix in (("text", "TextConfig"), ("vision", "VisionConfig")):
        _rule = _clip_part(_part, f"{_family}{_suffix}")
        for _label in ("", ":2"):
            RULES[f"{_family}Config:{_part}_config{_label}"] = _rule
        RULES[f"{_family}Config:_{_part}_config_dict"] = _rule

MEMBERS: dict[tuple[str, str], Any] = {
    ("MllamaVisionConfig", "validate_architecture"): _validate_aspect_ratios,
}
