"""`PretrainedConfig` of transformers 4."""

from typing import Any

from .configuration import Configuration
from .release import Release

_PROBLEMS = ("regression", "single_label_classification", "multi_label_classification")
_PLAIN = {
    "return_dict": True,
    "output_hidden_states": False,
    "torchscript": False,
    "tie_word_embeddings": True,
    "chunk_size_feed_forward": 0,
    "is_encoder_decoder": False,
    "is_decoder": False,
    "cross_attention_hidden_size": None,
    "add_cross_attention": False,
    "tie_encoder_decoder": False,
    "architectures": None,
    "finetuning_task": None,
    "task_specific_params": None,
    "problem_type": None,
    "tokenizer_class": None,
    "prefix": None,
    "bos_token_id": None,
    "pad_token_id": None,
    "eos_token_id": None,
    "sep_token_id": None,
    "decoder_start_token_id": None,
}
_HIDDEN = (
    "_auto_class",
    "_commit_hash",
    "_attn_implementation_internal",
    "base_model_tp_plan",
    "base_model_pp_plan",
)


class Configuration4(Configuration):
    """A configuration whose attributes are the keywords of its constructor."""

    def __init__(self, **kwargs: Any) -> None:
        release = self._release
        label2id = kwargs.pop("label2id", None)
        id2label = kwargs.pop("id2label", None)
        num_labels = kwargs.pop("num_labels", None)
        pruned_heads = kwargs.pop("pruned_heads", None)
        if label2id is not None and not isinstance(label2id, dict):
            raise ValueError("Argument label2id should be a dictionary.")
        if id2label is not None and not isinstance(id2label, dict):
            raise ValueError("Argument id2label should be a dictionary.")
        if num_labels is not None and id2label is not None:
            len(id2label)
        plain = {name: kwargs.pop(name, default) for name, default in _PLAIN.items()}
        output_attentions = kwargs.pop("output_attentions", False)
        problem = plain["problem_type"]
        if problem is not None and problem not in _PROBLEMS:
            raise ValueError(f"The config parameter `problem_type` was not understood: {problem}")
        dtype = self._take_dtype(kwargs)
        if isinstance(dtype, str):
            dtype = release.dtype_of(dtype)
        for name in ("return_dict", "output_hidden_states", "torchscript"):
            setattr(self, name, plain.pop(name))
        setattr(self, self._dtype_key, dtype)
        self._output_attentions = output_attentions
        self.pruned_heads = pruned_heads if pruned_heads is not None else {}
        for name, value in plain.items():
            setattr(self, name, value)
        self.id2label: Any = id2label
        self.label2id: Any = label2id
        if id2label is None:
            self._make_labels(2 if num_labels is None else num_labels)
        else:
            self.id2label = {int(key): value for key, value in self.id2label.items()}
        for name, default in release.general("generation_in_config").items():
            setattr(self, name, kwargs.pop(name, default))
        self._name_or_path = str(kwargs.pop("name_or_path", ""))
        self._commit_hash = kwargs.pop("_commit_hash", None)
        self._attn_implementation = kwargs.pop("attn_implementation", None)
        self.transformers_version = kwargs.pop("transformers_version", None)
        bool(kwargs.get("gradient_checkpointing", False))
        for key, value in kwargs.items():
            setattr(self, key, value)
        self.tf_legacy_loss = kwargs.pop("tf_legacy_loss", False)
        self.use_bfloat16 = kwargs.pop("use_bfloat16", False)

    def _take_dtype(self, kwargs: dict[str, Any]) -> Any:
        if not self._release.at_least(4, 56):
            return kwargs.pop("torch_dtype", None)
        dtype = kwargs.pop("dtype", None)
        old = kwargs.pop("torch_dtype", None)
        return old if dtype is None and old is not None else dtype

    def _make_labels(self, count: int) -> None:
        self.id2label = {index: f"LABEL_{index}" for index in range(count)}
        self.label2id = {label: index for index, label in self.id2label.items()}

    @property
    def output_attentions(self) -> Any:
        """Whether attention weights are given out."""
        return self._output_attentions

    @output_attentions.setter
    def output_attentions(self, value: Any) -> None:
        if value and self._attn_implementation is None:
            self._attn_implementation = "eager"
        if value and self._attn_implementation != "eager":
            raise ValueError("`output_attentions` needs the attention implementation 'eager'")
        self._output_attentions = value

    @property
    def use_return_dict(self) -> Any:
        """Whether outputs have names."""
        config: Any = self
        return config.return_dict and not config.torchscript

    @property
    def num_labels(self) -> int:
        """The number of labels of a classification model."""
        return len(self.id2label)

    @num_labels.setter
    def num_labels(self, count: int) -> None:
        if self.id2label is None or self.num_labels != count:
            self._make_labels(count)

    @classmethod
    def _prepare_dict(cls, config_dict: dict[str, Any], kwargs: dict[str, Any]) -> list[str]:
        kwargs.pop("_from_auto", None)
        kwargs.pop("_from_pipeline", None)
        if "_commit_hash" in kwargs and "_commit_hash" in config_dict:
            kwargs["_commit_hash"] = config_dict["_commit_hash"]
        if cls._release.at_least(4, 56):
            old = kwargs.pop("torch_dtype", None)
            if old is not None:
                kwargs["dtype"] = kwargs.get("dtype", old)
        config_dict["attn_implementation"] = kwargs.pop("attn_implementation", None)
        return []

    @classmethod
    def _check_labels(cls, config: Any, kwargs: dict[str, Any]) -> None:
        if hasattr(config, "pruned_heads"):
            config.pruned_heads = {int(key): item for key, item in config.pruned_heads.items()}
        if "num_labels" in kwargs and "id2label" in kwargs:
            labels = kwargs["id2label"] if kwargs["id2label"] is not None else []
            if len(labels) != kwargs["num_labels"]:
                raise ValueError(
                    f"You passed along `num_labels={kwargs['num_labels']}` with an incompatible "
                    f"id to label map: {kwargs['id2label']}."
                )

    @classmethod
    def _kept_keyword(cls) -> str | None:
        return cls._dtype_key

    def _remove_keys_not_serialized(self, values: dict[str, Any]) -> None:
        if hasattr(self, "quantization_config"):
            values.pop("_pre_quantization_dtype", None)
        if "_output_attentions" in values:
            values["output_attentions"] = values.pop("_output_attentions")
        for name in _HIDDEN:
            values.pop(name, None)
        for value in values.values():
            if isinstance(value, dict):
                self._remove_keys_not_serialized(value)


def _old_dtype(self: Any) -> Any:
    return self.dtype


def _set_old_dtype(self: Any, value: Any) -> None:
    self.dtype = value


def make_base(release: Release) -> type[Any]:
    """The `PretrainedConfig` of one interpreter instance."""
    names: dict[str, Any] = {
        "__module__": "transformers.configuration_utils",
        "__doc__": None,
        "_release": release,
    }
    if release.at_least(4, 56):
        names["torch_dtype"] = property(_old_dtype, _set_old_dtype)
        names["base_model_ep_plan"] = None
    else:
        names["_dtype_key"] = "torch_dtype"
    base = type("PretrainedConfig", (Configuration4,), names)
    base._root = base  # type: ignore[attr-defined]
    return base
