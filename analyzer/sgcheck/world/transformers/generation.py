"""`GenerationConfig`: the sampling defaults that a checkpoint brings."""

import copy
import json
from typing import Any

from . import hub
from .errors import NotModelled
from .release import Release

_OF_GENERATE = (
    "logits_processor",
    "stopping_criteria",
    "prefix_allowed_tokens_fn",
    "synced_gpus",
    "assistant_model",
    "streamer",
    "negative_prompt_ids",
    "negative_prompt_attention_mask",
    "use_model_defaults",
)
_METADATA = ("_from_model_config", "_commit_hash", "_original_object_hash", "transformers_version")


class Generation:
    """What the `GenerationConfig` of all releases share; `_release` is set on the class."""

    _release: Release

    def __init__(self, **kwargs: Any) -> None:
        release = self._release
        facts = release.general("generation")
        for name, default in facts["defaults"].items():
            value = default
            if name in facts["settable"]:
                value = kwargs.pop(name, copy.copy(default))
            setattr(self, name, value)
        if not hasattr(self, "_commit_hash"):
            kwargs.pop("_commit_hash", None)
        config: Any = self
        for name in ("watermarking_config", "continuous_batching_config"):
            if getattr(self, name, None) is not None:
                raise NotModelled(f"transformers.GenerationConfig({name})")
        if not config._from_model_config:
            for key, value in kwargs.items():
                setattr(self, key, value)
        elif kwargs.get("force_bos_token_to_be_generated", False):
            config.forced_bos_token_id = config.bos_token_id
        self.validate()

    def validate(self, strict: bool = False, **_: Any) -> None:
        """Raise `ValueError` for settings that the library refuses."""
        config: Any = self
        release = self._release
        newer = release.at_least(5)
        if strict:
            raise NotModelled("transformers.GenerationConfig.validate(strict)")
        endings = {None, True, False, "never"} if newer else {True, False, "never"}
        if config.early_stopping not in endings:
            raise ValueError(
                f"`early_stopping` must be a boolean or 'never', but is {config.early_stopping}."
            )
        if config.max_new_tokens is not None and config.max_new_tokens <= 0:
            raise ValueError(
                f"`max_new_tokens` must be greater than 0, but is {config.max_new_tokens}."
            )
        weight = getattr(self, "assistant_ensemble_weight", None)
        if weight is not None and release.at_least(5, 19) and not 0.0 < weight < 1.0:
            raise ValueError("`assistant_ensemble_weight` must be between 0.0 and 1.0")
        if config.pad_token_id is not None:
            config.pad_token_id < 0  # noqa: B015
        kinds = release.general("generation")["cache_kinds"]
        if config.cache_implementation is not None and config.cache_implementation not in kinds:
            raise ValueError(f"Invalid `cache_implementation` ({config.cache_implementation}).")
        if config.compile_config is not None:
            raise ValueError("`compile_config` must be an instance of `CompileConfig`.")
        self._check_beams(newer)
        if release.at_least(5, 19):
            self._check_suppressed()
        for name in _OF_GENERATE:
            if hasattr(self, name):
                raise ValueError(
                    f"Argument `{name}` is not a valid argument of `GenerationConfig`."
                )

    def _check_beams(self, newer: bool) -> None:
        config: Any = self
        if not self._release.at_least(4, 56) and config.num_beams != 1:
            groups = (config.constraints, config.force_words_ids)
            if groups != (None, None) or config.diversity_penalty or config.num_beam_groups != 1:
                raise NotModelled("transformers.GenerationConfig(beam groups)")
        count = config.num_return_sequences
        wants_more = count is not None and count > 1 if newer else count != 1
        if not wants_more:
            return
        if config.num_beams == 1 or (newer and config.num_beams is None):
            if not config.do_sample if newer else config.do_sample is False:
                raise ValueError(
                    "Greedy methods without beam search do not support `num_return_sequences` "
                    f"different than 1 (got {count})."
                )
        elif count > config.num_beams:
            raise ValueError(
                f"`num_return_sequences` ({count}) has to be smaller or equal to `num_beams` "
                f"({config.num_beams})."
            )

    def _check_suppressed(self) -> None:
        config: Any = self
        if config.suppress_tokens is None:
            return
        suppressed = set(config.suppress_tokens)
        for name in ("forced_bos_token_id", "forced_eos_token_id"):
            found = getattr(self, name)
            if found is None:
                continue
            forced = {found} if isinstance(found, int) else set(found)
            if forced and forced.issubset(suppressed):
                raise ValueError(f"Every token in `{name}` is also in `suppress_tokens`")

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name: Any,
        config_file_name: Any = None,
        cache_dir: Any = None,
        force_download: bool = False,
        local_files_only: bool = False,
        token: Any = None,
        revision: Any = "main",
        **kwargs: Any,
    ) -> Any:
        """Read `generation_config.json` of a folder.

        :raises OSError: there is none, or it is no JSON.
        """
        release = cls._release
        name = config_file_name if config_file_name is not None else "generation_config.json"
        subfolder = kwargs.pop("subfolder", "")
        for unused in ("resume_download", "proxies", "_from_pipeline", "_commit_hash"):
            kwargs.pop(unused, None)
        kwargs.pop("_from_auto", None)
        direct = hub.join(str(pretrained_model_name), str(name))
        if hub.is_file(release, hub.join(subfolder, direct)):
            path: str | None = direct
        else:
            try:
                path = hub.cached_file(
                    release, pretrained_model_name, name, subfolder=subfolder, revision=revision
                )
            except OSError:
                raise
            except Exception:
                raise OSError(
                    f"Can't load the configuration of '{pretrained_model_name}'."
                ) from None
        if path is None:
            raise TypeError("expected str, bytes or os.PathLike object, not NoneType")
        content = hub.read_plain_json(release, path)
        if not release.at_least(5, 19):
            content["_commit_hash"] = None
        if release.at_least(5) and kwargs.get("_from_model_config", False):
            raise NotModelled("transformers.GenerationConfig.from_model_config")
        result = cls.from_dict(content, **kwargs)
        config = result[0] if isinstance(result, tuple) else result
        config._original_object_hash = hash(config)
        return result

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Build the settings from a dictionary; keywords override it."""
        give_unused = kwargs.pop("return_unused_kwargs", False)
        kwargs.pop("_from_auto", None)
        kwargs.pop("_from_pipeline", None)
        if not cls._release.at_least(5, 19) and "_commit_hash" in kwargs:
            kwargs["_commit_hash"] = config_dict.get("_commit_hash", kwargs["_commit_hash"])
        config = cls(**{**config_dict, **kwargs})
        unused = config.update(**kwargs)
        str(config)
        return (config, unused) if give_unused else config

    @classmethod
    def from_model_config(cls, model_config: Any) -> Any:
        """Not modelled: nothing of a launch's resolution asks for it."""
        raise NotModelled("transformers.GenerationConfig.from_model_config")

    def update(self, **kwargs: Any) -> dict[str, Any]:
        """Set the keywords that are settings, and return the others."""
        used = [key for key in kwargs if hasattr(self, key)]
        for key in used:
            setattr(self, key, kwargs[key])
        self.validate()
        return {key: value for key, value in kwargs.items() if key not in used}

    def to_dict(self) -> dict[str, Any]:
        """All settings as plain values."""
        output = copy.deepcopy(self.__dict__)
        for name in ("_commit_hash", "_original_object_hash"):
            output.pop(name, None)
        if not self._release.at_least(5):
            output.pop("compile_config", None)
        if self._release.at_least(5, 19):
            output.pop("_mask_length", None)
        output["transformers_version"] = self._release.version
        self._dtypes_to_names(output)
        return output

    def to_diff_dict(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        default = type(self).__mro__[0]().to_dict()
        output = {
            key: value
            for key, value in self.to_dict().items()
            if key not in default or key == "transformers_version" or value != default[key]
        }
        self._dtypes_to_names(output)
        return output

    def to_json_string(self, use_diff: bool = True, ignore_metadata: bool = False) -> str:
        """The settings as JSON text."""
        values = self.to_diff_dict() if use_diff else self.to_dict()
        if ignore_metadata:
            for name in _METADATA:
                values.pop(name, None)
        return json.dumps(_string_keys(values), indent=2, sort_keys=True) + "\n"

    def _dtypes_to_names(self, values: dict[str, Any]) -> None:
        key = "dtype" if self._release.at_least(4, 56) else "torch_dtype"
        if values.get(key) is not None and not isinstance(values[key], str):
            values[key] = str(values[key]).split(".")[1]
        for value in values.values():
            if isinstance(value, dict):
                self._dtypes_to_names(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Generation):
            return False
        mine = self.to_json_string(use_diff=False, ignore_metadata=True)
        return mine == other.to_json_string(use_diff=False, ignore_metadata=True)

    def __hash__(self) -> int:
        return hash(self.to_json_string(ignore_metadata=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.to_json_string(ignore_metadata=True)}"


def _string_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _string_keys(item) for key, item in value.items()}
    return [_string_keys(item) for item in value] if isinstance(value, list) else value


def make_class(release: Release) -> type[Any]:
    """The `GenerationConfig` of one interpreter instance."""
    names = {
        "__module__": "transformers.generation.configuration_utils",
        "__doc__": None,
        "_release": release,
    }
    return type("GenerationConfig", (Generation,), names)
