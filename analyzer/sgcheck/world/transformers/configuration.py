"""What configurations of all transformers releases share: loading, writing out, finding text."""

import copy
import json
from collections.abc import Iterator
from typing import Any, ClassVar

from . import hub
from .errors import NotModelled
from .release import Release

_LOADING_ONLY = (
    "cache_dir",
    "force_download",
    "resume_download",
    "proxies",
    "token",
    "local_files_only",
    "revision",
    "trust_remote_code",
    "subfolder",
    "_from_pipeline",
    "_from_auto",
    "_commit_hash",
)
_read = object.__getattribute__
_write = object.__setattr__
_TEXT_NAMES = ("decoder", "generator", "text_config")


class Configuration:
    """Base of the two generations of `PretrainedConfig`.

    `_release` and `_root` (the release's own base class) are set on the class that is made
    for each interpreter instance.
    """

    _release: Release
    _root: type["Configuration"]

    model_type: Any = ""
    base_config_key: Any = ""
    sub_configs: ClassVar[Any] = {}
    has_no_defaults_at_init: Any = False
    attribute_map: ClassVar[Any] = {}
    base_model_tp_plan: Any = None
    base_model_pp_plan: Any = None
    _auto_class: Any = None

    def __setattr__(self, key: str, value: Any) -> None:
        names = _read(self, "attribute_map")
        _write(self, names.get(key, key), value)

    def __getattribute__(self, key: str) -> Any:
        names = _read(self, "attribute_map")
        return _read(self, names[key] if key in names and key != "attribute_map" else key)

    # -- loading ------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: Any,
        cache_dir: Any = None,
        force_download: bool = False,
        local_files_only: bool = False,
        token: Any = None,
        revision: Any = "main",
        **kwargs: Any,
    ) -> Any:
        """Build a configuration from a folder or file; unknown keywords override attributes."""
        kwargs["cache_dir"] = cache_dir
        kwargs["force_download"] = force_download
        kwargs["local_files_only"] = local_files_only
        kwargs["revision"] = revision
        if token is not None and not cls._release.at_least(5):
            kwargs["token"] = token
        content, kwargs = cls.get_config_dict(pretrained_model_name_or_path, **kwargs)
        if cls.base_config_key and cls.base_config_key in content:
            content = content[cls.base_config_key]
        if "model_type" in content and content["model_type"] != cls.model_type:
            # A composite configuration may hold the wanted one under any key; the last one wins.
            for value in content.values():
                if isinstance(value, dict) and value.get("model_type") == cls.model_type:
                    content = value
            _ = content["model_type"]
        return cls.from_dict(content, **kwargs)

    @classmethod
    def get_config_dict(cls, pretrained_model_name_or_path: Any, **kwargs: Any) -> Any:
        """The content of the configuration file, and the keywords that loading did not use."""
        if cls._release.at_least(5, 19):
            kwargs["revision"] = kwargs.get("revision")
        original = copy.deepcopy(kwargs)
        content, kwargs = cls._get_config_dict(pretrained_model_name_or_path, **kwargs)
        if content is None:
            return {}, kwargs
        if "_commit_hash" in content and not cls._release.at_least(5, 19):
            original["_commit_hash"] = content["_commit_hash"]
        if "configuration_files" in content:
            name = _versioned_file(cls._release, content["configuration_files"])
            content, kwargs = cls._get_config_dict(
                pretrained_model_name_or_path, _configuration_file=name, **original
            )
        return content, kwargs

    @classmethod
    def _get_config_dict(cls, pretrained_model_name_or_path: Any, **kwargs: Any) -> Any:
        release = cls._release
        subfolder = kwargs.get("subfolder", "")
        loading = {name: kwargs.pop(name) for name in _LOADING_ONLY if name in kwargs}
        if kwargs.get("gguf_file"):
            raise NotModelled("transformers.gguf")
        where = str(pretrained_model_name_or_path)
        if hub.is_file(release, hub.join(subfolder, where)):
            path = where
        else:
            name = kwargs.pop("_configuration_file", "config.json")
            try:
                found = hub.cached_file(
                    release, where, name, subfolder=subfolder, revision=loading.get("revision")
                )
            except OSError:
                raise
            except Exception:
                raise OSError(f"Can't load the configuration of '{where}'.") from None
            if found is None:
                return None, kwargs
            path = found
        content = hub.read_json(release, path)
        if not release.at_least(5, 19):
            content["_commit_hash"] = loading.get("_commit_hash")
        if "model_type" not in content and "pretrained_cfg" in content:
            content["model_type"] = "timm_wrapper"
        if (
            release.at_least(5, 6)
            and "model_type" in kwargs
            and content["model_type"] != kwargs["model_type"]
        ):
            content["model_type"] = kwargs["model_type"]
        return content, kwargs

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Build a configuration from its dictionary, which may be changed by it."""
        give_unused = kwargs.pop("return_unused_kwargs", False)
        content = cls._content(config_dict, kwargs)
        used = cls._prepare_dict(config_dict, kwargs)
        config: Any = cls(**config_dict)
        cls._check_labels(config, kwargs)
        for key, value in kwargs.items():
            if hasattr(config, key):
                current = getattr(config, key)
                if isinstance(current, cls._root) and isinstance(value, dict):
                    if cls._release.at_least(4, 56):
                        value = type(current)(**{**current.to_dict(), **value})
                    else:
                        value = type(current)(**value)
                setattr(config, key, value)
                if key != cls._kept_keyword():
                    used.append(key)
        for key in used:
            kwargs.pop(key, None)
        if content is None or content not in cls._release.shown:
            str(config)  # the library writes the configuration into its log, which may fail
            if content is not None:
                cls._release.shown.add(content)
        return (config, kwargs) if give_unused else config

    @classmethod
    def _content(cls, config_dict: Any, kwargs: dict[str, Any]) -> tuple[type, str] | None:
        """What a configuration of the library's own classes is built from, if it is plain data."""
        if cls.__module__.partition(".")[0] != "transformers" or not _is_plain(
            [config_dict, kwargs]
        ):
            return None
        return cls, repr((config_dict, kwargs))

    @classmethod
    def _prepare_dict(cls, config_dict: dict[str, Any], kwargs: dict[str, Any]) -> list[str]:
        """Move keywords into the dictionary where the release does; return those used up."""
        raise NotImplementedError

    @classmethod
    def _check_labels(cls, config: Any, kwargs: dict[str, Any]) -> None:
        """Refuse keywords that contradict each other."""

    @classmethod
    def _kept_keyword(cls) -> str | None:
        """The keyword that stays among the unused ones although it was used."""
        return None

    @classmethod
    def from_json_file(cls, json_file: Any) -> Any:
        """Build a configuration from a JSON file."""
        return cls(**cls._dict_from_json_file(json_file))

    @classmethod
    def _dict_from_json_file(cls, json_file: Any) -> Any:
        return hub.read_json(cls._release, str(json_file))

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = "AutoConfig") -> None:
        """Remember that the class came with a checkpoint."""
        cls._auto_class = auto_class if isinstance(auto_class, str) else auto_class.__name__

    # -- writing out --------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self._root) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.to_json_string()}"

    def __iter__(self) -> Iterator[str]:
        yield from self.__dict__

    def update(self, config_dict: dict[str, Any]) -> None:
        """Set every item as an attribute."""
        for key, value in config_dict.items():
            setattr(self, key, value)

    def to_dict(self) -> dict[str, Any]:
        """All attributes as plain values; dtypes become their names."""
        output = copy.deepcopy(self.__dict__)
        output["model_type"] = type(self).model_type
        output["transformers_version"] = self._release.version
        self._plain_values(output)
        self._remove_keys_not_serialized(output)
        if hasattr(self, "quantization_config"):
            output["quantization_config"] = self._plain_quantization()
        self._dtypes_to_names(output)
        return output

    def _plain_values(self, output: dict[str, Any]) -> None:
        for key, value in output.items():
            if isinstance(value, self._root):
                inner: Any = value
                plain = inner.to_dict()
                del plain["transformers_version"]
                output[key] = plain

    def _plain_quantization(self) -> Any:
        config: Any = self
        found = config.quantization_config
        if isinstance(found, dict) or (found is None and self._release.at_least(5)):
            return found
        return found.to_dict()

    def to_diff_dict(self) -> dict[str, Any]:
        """The attributes that differ from a fresh instance, as plain values."""
        values = self.to_dict()
        general = self._root._default_values()
        own = {} if self.has_no_defaults_at_init else type(self)._default_values()
        output: dict[str, Any] = {}
        for key, value in values.items():
            attribute = self._attribute_for_diff(key)
            nested = isinstance(attribute, self._root) and isinstance(own.get(key), dict)
            if nested or (key in self.sub_configs and not self._release.at_least(5)):
                difference = _nested_difference(value, general, attribute)
                if "model_type" in value:
                    difference["model_type"] = value["model_type"]
                output[key] = difference
            elif (
                key not in general
                or key in ("transformers_version", "vocab_file")
                or value != general[key]
                or value != own.get(key, value)
            ):
                output[key] = value
        self._remove_keys_not_serialized(output)
        output.pop("_name_or_path", None)
        if hasattr(self, "quantization_config"):
            output["quantization_config"] = self._plain_quantization()
        self._dtypes_to_names(output)
        return output

    @classmethod
    def _default_values(cls) -> dict[str, Any]:
        """A fresh instance as plain values, not to be changed. The library's own classes keep them."""
        if cls.__module__.partition(".")[0] != "transformers":
            return cls().to_dict()
        kept: dict[str, Any] | None = cls.__dict__.get("_kept_default_values")
        if kept is None:
            kept = cls().to_dict()
            type.__setattr__(cls, "_kept_default_values", kept)
        return kept

    def _attribute_for_diff(self, key: str) -> Any:
        return getattr(self, key, None)

    def to_json_string(self, use_diff: bool = True) -> str:
        """The configuration as JSON text."""
        values = self.to_diff_dict() if use_diff else self.to_dict()
        return json.dumps(values, indent=2, sort_keys=True) + "\n"

    _dtype_key = "dtype"

    def _dtypes_to_names(self, values: dict[str, Any]) -> None:
        found = values.get(self._dtype_key)
        if found is not None:
            if isinstance(found, dict):
                values[self._dtype_key] = {k: str(v).split(".")[-1] for k, v in found.items()}
            elif not isinstance(found, self._named_dtype_kinds()):
                values[self._dtype_key] = str(found).split(".")[1]
        for value in values.values():
            if isinstance(value, dict):
                self._dtypes_to_names(value)

    def _named_dtype_kinds(self) -> tuple[type, ...]:
        return (str, int) if self._release.at_least(4, 57) else (str,)

    def _remove_keys_not_serialized(self, values: dict[str, Any]) -> None:
        raise NotImplementedError

    def _not_modelled(self, *args: Any, **kwargs: Any) -> Any:
        raise NotModelled("transformers.PretrainedConfig(writing to files)")

    save_pretrained = push_to_hub = to_json_file = update_from_string = _not_modelled

    # -- parts ---------------------------------------------------------------------------------

    def _set_on_sub_configs(self, name: str, value: Any) -> None:
        """Set an implementation choice, such as attention's, on this and the nested ones."""
        current = getattr(self, name, None)
        own = value.get("", current) if isinstance(value, dict) else value
        setattr(self, f"{name}_internal", own)
        for key in self.sub_configs:
            nested = getattr(self, key, None)
            if nested is not None:
                inner = getattr(nested, name, None)
                setattr(nested, name, value.get(key, inner) if isinstance(value, dict) else value)

    @property
    def name_or_path(self) -> Any:
        """Where the configuration was loaded from."""
        return getattr(self, "_name_or_path", None)

    @name_or_path.setter
    def name_or_path(self, value: Any) -> None:
        self._name_or_path = str(value)

    @property
    def _attn_implementation(self) -> Any:
        config: Any = self
        return config._attn_implementation_internal

    @_attn_implementation.setter
    def _attn_implementation(self, value: Any) -> None:
        self._set_on_sub_configs("_attn_implementation", value)

    def get_text_config(self, decoder: Any = None, encoder: Any = None) -> Any:
        """The nested configuration that describes text, or this one.

        :raises ValueError: there is more than one.
        """
        if not self._release.at_least(4, 56):
            decoder, encoder = (True, None) if decoder else (None, None)
        both = decoder == encoder
        names: tuple[str, ...] = _TEXT_NAMES
        if both:
            names = ("text_encoder", *_TEXT_NAMES)
        elif not decoder:
            names = ("text_encoder",)
        found = [name for name in names if getattr(self, name, None) is not None]
        if len(found) > 1:
            raise ValueError(f"Multiple valid text configs were found in the model config: {found}")
        if found:
            return getattr(self, found[0])
        config: Any = self
        if not both and self._release.at_least(4, 56) and config.is_encoder_decoder:
            return self._one_side("decoder" if decoder else "encoder")
        return self

    def _one_side(self, side: str) -> Any:
        """A copy whose attributes of one side of an encoder-decoder have their general names."""
        config: Any = copy.deepcopy(self)
        release = self._release
        names = config.attribute_map
        other = "encoder" if side == "decoder" else "decoder"
        renames = release.at_least(4, 57)
        for key in config.to_dict():
            drops = key.startswith(other) and not release.at_least(5, 6)
            if drops and not (renames and key in names.values()):
                delattr(config, key)
            if renames and key.startswith(side):
                special = {
                    f"{side}_layers": "num_hidden_layers",
                    f"{side}_attention_heads": "num_attention_heads",
                }
                name = special.get(key, key[len(side) + 1 :])
                value = getattr(config, key)
                delattr(config, key)
                setattr(config, names.get(name, name), value)
        if not renames and hasattr(config, f"{side}_layers"):
            config.num_hidden_layers = getattr(config, f"{side}_layers")
        return config


def _is_plain(value: Any) -> bool:
    """Whether a value is made of JSON's kinds only."""
    kind = type(value)
    if kind is dict:
        return all(type(key) is str for key in value) and all(map(_is_plain, value.values()))
    if kind is list:
        return all(map(_is_plain, value))
    return value is None or kind in (str, int, float, bool)


def _nested_difference(values: Any, general: dict[str, Any], config: Any) -> dict[str, Any]:
    default = type(config)._default_values() if config is not None else {}
    output = {}
    for key, value in values.items():
        inner = config._attribute_for_diff(str(key)) if config is not None else None
        if isinstance(inner, Configuration) and isinstance(general.get(key), dict):
            output[key] = _nested_difference(value, general[key], inner)
        elif key not in general or value != default[key]:
            output[key] = value
    return output


def _versioned_file(release: Release, names: list[str]) -> str:
    """The configuration file that a checkpoint keeps for this release."""
    from packaging import version

    found = {
        name.removeprefix("config.").removesuffix(".json"): name
        for name in names
        if name.startswith("config.") and name.endswith(".json") and name != "config.json"
    }
    chosen = "config.json"
    for label in sorted(found):
        if version.parse(label) > version.parse(release.version):
            break
        chosen = found[label]
    return chosen
