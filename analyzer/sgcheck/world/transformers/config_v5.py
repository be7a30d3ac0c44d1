"""`PreTrainedConfig` of transformers 5: 5.0 to 5.3 with constructors, later as dataclasses."""

from collections.abc import Callable
from typing import Any, ClassVar

from . import lightclass, strictness
from .configuration import Configuration
from .heterogeneity import PerLayer
from .release import Release
from .rope import RopeParameters

_HIDDEN = (
    "_is_quantized",
    "_auto_class",
    "_commit_hash",
    "_attn_implementation_internal",
    "_experts_implementation_internal",
    "base_model_tp_plan",
    "base_model_pp_plan",
)
_INTERNAL = ("_attn_implementation_internal", "_experts_implementation_internal")
_OVERRIDES = (
    "num_labels",
    "attn_implementation",
    "experts_implementation",
    "output_attentions",
    "torch_dtype",
    "dtype",
    "name_or_path",
)


class Configuration5(RopeParameters, Configuration):
    """What both kinds of transformers 5 configurations share."""

    base_model_ep_plan: Any = None

    @property
    def _experts_implementation(self) -> Any:
        config: Any = self
        return config._experts_implementation_internal

    @_experts_implementation.setter
    def _experts_implementation(self, value: Any) -> None:
        self._set_on_sub_configs("_experts_implementation", value)

    @property
    def output_attentions(self) -> Any:
        """Whether attention weights are given out."""
        config: Any = self
        return config._output_attentions

    @output_attentions.setter
    def output_attentions(self, value: Any) -> None:
        config: Any = self
        if value and config._attn_implementation is None:
            config._attn_implementation = "eager"
        if value and config._attn_implementation != "eager":
            raise ValueError("`output_attentions` needs the attention implementation 'eager'")
        config._output_attentions = value

    @property
    def use_return_dict(self) -> Any:
        """Whether outputs have names."""
        config: Any = self
        return config.return_dict

    @property
    def torch_dtype(self) -> Any:
        """The dtype under its old name."""
        config: Any = self
        return config.dtype

    @torch_dtype.setter
    def torch_dtype(self, value: Any) -> None:
        config: Any = self
        config.dtype = value

    @property
    def rope_scaling(self) -> Any:
        """The rotary parameters under their old name."""
        config: Any = self
        return config.rope_parameters

    @rope_scaling.setter
    def rope_scaling(self, value: Any) -> None:
        config: Any = self
        config.rope_parameters = value

    @property
    def num_labels(self) -> Any:
        """The number of labels of a classification model."""
        config: Any = self
        if config.id2label is None and self._release.at_least(5, 6):
            return None
        return len(config.id2label)

    @num_labels.setter
    def num_labels(self, count: Any) -> None:
        config: Any = self
        if config.id2label is None or self.num_labels != count:
            config.id2label = {index: f"LABEL_{index}" for index in range(count)}
            config.label2id = {label: index for index, label in config.id2label.items()}

    def _plain_values(self, output: dict[str, Any]) -> None:
        if self._release.at_least(5, 6):
            output.pop("kwargs", None)
        super()._plain_values(output)
        if self._release.at_least(5, 6):
            for key, value in output.items():
                if isinstance(value, tuple):
                    output[key] = _tuples_to_lists(value)

    def _remove_keys_not_serialized(self, values: dict[str, Any]) -> None:
        for name in self._hidden_keys():
            values.pop(name, None)
        if "_output_attentions" in values:
            values["output_attentions"] = values.pop("_output_attentions")
        for value in values.values():
            if isinstance(value, dict):
                self._remove_keys_not_serialized(value)

    def _hidden_keys(self) -> tuple[str, ...]:
        if self._release.at_least(5, 19):
            return (
                *_HIDDEN,
                "ignore_keys_at_rope_validation",
                "base_model_fsdp_plan",
                "distributed_config",
            )
        return (
            (*_HIDDEN, "ignore_keys_at_rope_validation")
            if self._release.at_least(5, 6)
            else _HIDDEN
        )

    def _forget_generation_settings(self, kwargs: dict[str, Any]) -> None:
        for name in self._release.general("generation_in_config"):
            kwargs.pop(name, None)

    def _set_rest(self, kwargs: dict[str, Any]) -> None:
        for key, value in kwargs.items():
            if key not in _INTERNAL:
                setattr(self, key, value)


class Configuration50(Configuration5):
    """5.0 to 5.3: attributes are keywords of the constructor."""

    def __init__(self, **kwargs: Any) -> None:
        config: Any = self
        label2id = kwargs.pop("label2id", None)
        id2label = kwargs.pop("id2label", None)
        num_labels = kwargs.pop("num_labels", None)
        problem = kwargs.pop("problem_type", None)
        if label2id is not None and not isinstance(label2id, dict):
            raise ValueError("Argument label2id should be a dictionary.")
        if id2label is not None and not isinstance(id2label, dict):
            raise ValueError("Argument id2label should be a dictionary.")
        if problem is not None and problem not in _problem_types():
            raise ValueError(f"The config parameter `problem_type` was not understood: {problem}")
        plain = {
            "return_dict": kwargs.pop("return_dict", True),
            "output_hidden_states": kwargs.pop("output_hidden_states", False),
        }
        dtype = kwargs.pop("dtype", None)
        output_attentions = kwargs.pop("output_attentions", False)
        more = {
            "chunk_size_feed_forward": kwargs.pop("chunk_size_feed_forward", 0),
            "is_encoder_decoder": kwargs.pop("is_encoder_decoder", False),
            "architectures": kwargs.pop("architectures", None),
        }
        old = kwargs.pop("torch_dtype", None)
        if dtype is None and old is not None:
            dtype = old
        if isinstance(dtype, str):
            dtype = self._release.dtype_of(dtype)
        if hasattr(self, "rope_parameters"):
            ignored = kwargs.pop("ignore_keys_at_rope_validation", None)
            kwargs = config.convert_rope_params_to_dict(
                ignore_keys_at_rope_validation=ignored, **kwargs
            )
        for name, value in plain.items():
            setattr(self, name, value)
        config.dtype = dtype
        config._output_attentions = output_attentions
        for name, value in more.items():
            setattr(self, name, value)
        config.id2label = id2label
        config.label2id = label2id
        config.problem_type = problem
        if config.id2label is None:
            count = 2 if num_labels is None else num_labels
            config.id2label = {index: f"LABEL_{index}" for index in range(count)}
            config.label2id = {label: index for index, label in config.id2label.items()}
        else:
            config.id2label = {int(key): value for key, value in config.id2label.items()}
        self._forget_generation_settings(kwargs)
        config._name_or_path = str(kwargs.pop("name_or_path", ""))
        config._commit_hash = kwargs.pop("_commit_hash", None)
        config._attn_implementation = kwargs.pop("attn_implementation", None)
        config._experts_implementation = kwargs.pop("experts_implementation", None)
        config.transformers_version = kwargs.pop("transformers_version", None)
        self._set_rest(kwargs)

    def validate_rope(self, ignore_keys: set[str] | None = None) -> None:
        """Refuse rotary parameters that lack a needed key."""
        self._check_rope(ignore_keys)

    @classmethod
    def _prepare_dict(cls, config_dict: dict[str, Any], kwargs: dict[str, Any]) -> list[str]:
        kwargs.pop("_from_auto", None)
        kwargs.pop("_from_pipeline", None)
        if "_commit_hash" in kwargs and "_commit_hash" in config_dict:
            kwargs["_commit_hash"] = config_dict["_commit_hash"]
        old = kwargs.pop("torch_dtype", None)
        if old is not None:
            kwargs["dtype"] = kwargs.get("dtype", old)
        config_dict["attn_implementation"] = kwargs.pop("attn_implementation", None)
        config_dict["experts_implementation"] = kwargs.pop("experts_implementation", None)
        return []

    @classmethod
    def _check_labels(cls, config: Any, kwargs: dict[str, Any]) -> None:
        if "num_labels" in kwargs and "id2label" in kwargs:
            labels = kwargs["id2label"] if kwargs["id2label"] is not None else []
            if len(labels) != kwargs["num_labels"]:
                raise ValueError("`num_labels` and `id2label` contradict each other")

    @classmethod
    def _kept_keyword(cls) -> str | None:
        return "dtype"


class Configuration54(Configuration5):
    """5.4 and later: every subclass is a keyword-only dataclass, many check their values."""

    keys_to_ignore_at_inference: ClassVar[Any] = []
    ignore_keys_at_rope_validation: ClassVar[Any] = set()
    __validators__: ClassVar[dict[str, list[Callable[[Any], None]]]] = {}
    __class_validators__: ClassVar[list[Callable[[Any], None]]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("_is_frame", False):
            return
        has_own_constructor = "__init__" in cls.__dict__
        lightclass.collect_fields(cls)
        if not has_own_constructor:
            cls.__init__ = _constructor_of(cls)  # type: ignore[method-assign]

    def __setattr__(self, key: str, value: Any) -> None:
        strictness.check_field(self, key, value)
        super().__setattr__(key, value)

    def __post_init__(self, **kwargs: Any) -> None:
        config: Any = self
        release = self._release
        old = kwargs.pop("torch_dtype", None)
        if old is not None:
            config.dtype = config.dtype if config.dtype is not None else old
        if isinstance(config.dtype, str):
            config.dtype = release.dtype_of(config.dtype)
        self._number_labels(kwargs)
        if (
            release.at_least(5, 12)
            and config.problem_type == "single_label_classification"
            and config.num_labels == 1
        ):
            raise ValueError("single-label classification needs more than one label")
        if hasattr(self, "rope_parameters") or (
            kwargs.get("rope_scaling") and kwargs.get("rope_theta")
        ):
            kwargs = config.convert_rope_params_to_dict(**kwargs)
        self._forget_generation_settings(kwargs)
        config._name_or_path = str(kwargs.pop("name_or_path", ""))
        if release.at_least(5, 19):
            kwargs.pop("_commit_hash", None)
        else:
            config._commit_hash = kwargs.pop("_commit_hash", None)
        config._output_attentions = kwargs.pop("output_attentions", False)
        config._attn_implementation = kwargs.pop("attn_implementation", None)
        config._experts_implementation = kwargs.pop("experts_implementation", None)
        per_layer = kwargs.pop("per_layer_config", None) if release.at_least(5, 19) else None
        self._set_rest(kwargs)
        if release.at_least(5, 19):
            if per_layer is not None:
                config.per_layer_config = per_layer
            if getattr(self, "tie_word_embeddings", False) and self.base_model_tp_plan is not None:
                self.base_model_tp_plan = {
                    **self.base_model_tp_plan,
                    "embed_tokens": "embedding_rowwise",
                }
            self._rename_old_layer_types()

    def _number_labels(self, kwargs: dict[str, Any]) -> None:
        config: Any = self
        if config.id2label is None:
            default = 2
            if self._release.at_least(5, 19) and config.num_labels is not None:
                default = config.num_labels
            config.num_labels = kwargs.get("num_labels", default)
        else:
            if kwargs.get("num_labels") is not None:
                len(config.id2label)
            config.id2label = {int(key): value for key, value in config.id2label.items()}

    def _rename_old_layer_types(self) -> None:
        names = self._release.general("old_layer_types")
        for key in ("layer_types", "mtp_layer_types"):
            found = getattr(self, key, None)
            if found is not None:
                renamed = [names.get(name, name) for name in found]
                if renamed != found:
                    setattr(self, key, renamed)

    # -- the checks of the whole configuration, in the order of their names -----------------

    def validate_architecture(self) -> None:
        """Refuse an embedding width that the heads do not divide."""
        config: Any = self
        if self._release.at_least(5, 19) and config.is_heterogeneous:
            for layer in config.per_layer_config:
                layer.validate_architecture()
            return
        if all(hasattr(self, name) for name in ("head_dim", "num_heads", "embed_dim")) and (
            config.head_dim * config.num_heads != config.embed_dim
        ):
            raise ValueError(
                f"The embed_dim ({config.embed_dim}) is not a multiple of the number of attention "
                f"heads ({config.num_heads})."
            )

    def validate_layer_type(self) -> None:
        """Refuse layer types that the release does not know, or too many or few of them."""
        config: Any = self
        limits = self._release.general("layer_types")
        for key, allowed in limits.items():
            layers = getattr(self, key, None)
            if layers is None or not hasattr(self, "num_hidden_layers"):
                return
            if not all(kind in allowed for kind in layers):
                raise ValueError(
                    f"The `{key}` entries must be in {tuple(allowed)} but got {layers}"
                )
            count = config.num_hidden_layers
            if count is not None and count != len(layers):
                raise ValueError(
                    f"`num_hidden_layers` ({count}) must be equal to the number of `{key}` "
                    f"({len(layers)})"
                )

    def validate_output_attentions(self) -> None:
        """Refuse attention outputs of an implementation that gives none."""
        config: Any = self
        if config.output_attentions and config._attn_implementation not in ("eager", None):
            raise ValueError("`output_attentions` needs the attention implementation 'eager'")

    def validate_rope(self) -> None:
        """Refuse rotary parameters that lack a needed key."""
        self._check_rope(self.ignore_keys_at_rope_validation)

    def validate_token_ids(self) -> None:
        """Special tokens outside the vocabulary are only warned about."""
        config: Any = self
        text = config.get_text_config(decoder=True)
        size = getattr(text, "vocab_size", None)
        if size is None or not self._release.at_least(5, 12):
            return
        for name in text:
            value = getattr(text, name)
            if name.endswith("_token_id") and isinstance(value, int):
                0 <= value < size  # noqa: B015

    @classmethod
    def _prepare_dict(cls, config_dict: dict[str, Any], kwargs: dict[str, Any]) -> list[str]:
        used = ["_from_auto", "_from_pipeline"]
        if (
            not cls._release.at_least(5, 19)
            and "_commit_hash" in kwargs
            and "_commit_hash" in config_dict
        ):
            kwargs.setdefault("_commit_hash", config_dict["_commit_hash"])
        for key, value in kwargs.items():
            if key in _OVERRIDES:
                if key not in ("torch_dtype", "dtype"):
                    config_dict[key] = value
                    used.append(key)
                elif value != "auto":
                    config_dict[key] = value
        return used


class Configuration519(PerLayer, Configuration54):
    """5.19: single layers may have their own values."""

    _is_frame = True

    default_rope_type: Any = "default"
    base_model_fsdp_plan: ClassVar[Any] = {
        "embed_tokens": "free_full_weight",
        "layers.*": "free_full_weight",
        "norm": "keep_full_weight",
    }

    def nested_rope_parameter_keys(self, rope_parameters: dict[str, Any]) -> list[str]:
        """The keys that name a kind of layer."""
        labels = getattr(self, "_rope_type_labels", None) or getattr(self, "layer_types", None)
        return [key for key in rope_parameters if key in (labels or ())]


def _tuples_to_lists(value: Any) -> Any:
    return [_tuples_to_lists(item) for item in value] if isinstance(value, tuple) else value


def _problem_types() -> tuple[str, ...]:
    return ("regression", "single_label_classification", "multi_label_classification")


def _constructor_of(cls: type[Any]) -> Callable[..., None]:
    """The constructor of a dataclass that hands unknown keywords to `__post_init__`."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if args:
            raise ValueError(
                f"{cls.__name__} accepts only keyword arguments, "
                f"but found `{len(args)}` positional args."
            )
        rest = lightclass.fill_fields(self, cls, kwargs)
        self.__post_init__(**rest)

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__


_BASE_FIELDS: dict[str, Any] = {
    "transformers_version": None,
    "architectures": None,
    "output_hidden_states": False,
    "return_dict": True,
    "dtype": None,
    "chunk_size_feed_forward": 0,
    "is_encoder_decoder": False,
    "id2label": None,
    "label2id": None,
    "problem_type": None,
}


def make_base(release: Release) -> type[Any]:
    """The `PreTrainedConfig` of one interpreter instance."""
    names: dict[str, Any] = {
        "__module__": "transformers.configuration_utils",
        "__doc__": None,
        "_release": release,
    }
    if not release.at_least(5, 6):
        base: type[Any] = type("PreTrainedConfig", (Configuration50,), names)
        base._root = base
        return base
    frame = Configuration519 if release.at_least(5, 19) else Configuration54
    names["__annotations__"] = dict.fromkeys(_BASE_FIELDS, Any)
    names.update(_BASE_FIELDS)
    base = type("PreTrainedConfig", (frame,), names)
    base._root = base
    strictness.make_strict(base, release, release.general("base_fields"))
    return base
