"""`AutoConfig` and the tables from model types to configuration classes."""

from collections import OrderedDict
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape

from .errors import NotModelled
from .factory import Factory


class ConfigMapping(OrderedDict[str, Any]):
    """`CONFIG_MAPPING`: model types to classes.

    As in the library it is an `OrderedDict` that never holds an item itself, so `get` and `len`
    answer as if it were empty; everything else is overridden.
    """

    def __init__(self, factory: Factory, names: dict[str, str]) -> None:
        super().__init__()
        self._factory = factory
        self._mapping = names
        self._extra_content: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        if key in self._extra_content:
            return self._extra_content[key]
        if key not in self:
            raise KeyError(key)
        return self._factory.config_class(self._mapping[key])

    def __iter__(self) -> Any:
        return iter([*self._mapping, *self._extra_content])

    @property
    def own_names(self) -> dict[str, str]:
        """The names of the release's own classes by model type."""
        return dict(self._mapping)

    def __contains__(self, key: object) -> bool:
        return key in self._extra_content or self._factory.release.has_type(key)

    def keys(self) -> Any:
        """All model types."""
        return [*self._mapping, *self._extra_content]

    def values(self) -> Any:
        """All classes; needs facts about each of them."""
        return [self[key] for key in self._mapping] + list(self._extra_content.values())

    def items(self) -> Any:
        """All pairs; needs facts about each class."""
        return [(key, self[key]) for key in self._mapping] + list(self._extra_content.items())

    def register(self, key: str, value: Any, exist_ok: bool = False) -> None:
        """Add a class.

        :raises ValueError: the release itself has the model type.
        """
        if key in self._mapping and not exist_ok:
            raise ValueError(
                f"'{key}' is already used by a Transformers config, pick another name."
            )
        self._extra_content[key] = value

    def is_own(self, key: str) -> bool:
        """Whether the release's own class answers for the model type."""
        return key in self._mapping and key not in self._extra_content


def make_auto_config(factory: Factory, mapping: ConfigMapping) -> type[Any]:
    """The `AutoConfig` of one interpreter instance."""
    release = factory.release

    def __init__(self: Any) -> None:
        raise OSError("AutoConfig is made with `AutoConfig.from_pretrained`.")

    def for_model(cls: type[Any], model_type: Any, *args: Any, **kwargs: Any) -> Any:
        if model_type in mapping:
            return mapping[model_type](*args, **kwargs)
        raise ValueError(
            f"Unrecognized model identifier: {model_type}. Should contain one of "
            f"{', '.join(mapping.keys())}"
        )

    def from_pretrained(cls: type[Any], pretrained_model_name_or_path: Any, **kwargs: Any) -> Any:
        where = pretrained_model_name_or_path
        kwargs["_from_auto"] = True
        kwargs["name_or_path"] = where
        trust = kwargs.pop("trust_remote_code", None)
        kwargs.pop("code_revision", None)
        if release.at_least(5, 19):
            kwargs["revision"] = kwargs.get("revision")
        content, unused = factory.base.get_config_dict(where, **kwargs)
        remote = "auto_map" in content and "AutoConfig" in content["auto_map"]
        local = "model_type" in content and content["model_type"] in mapping
        explicit = False
        if release.at_least(5, 6) and local:
            explicit = _is_from_outside(mapping, content["model_type"])
        if remote:
            reference = content["auto_map"]["AutoConfig"]
            trust = _resolve_trust(trust, where, local)
            if trust and not explicit:
                remote_class: Any = _remote_class(factory, reference, where)
                remote_class.register_for_auto_class()
                return remote_class.from_pretrained(where, **kwargs)
        if "model_type" in content:
            alternating = content["model_type"] == "mistral" and "layer_types" in content
            if alternating and release.at_least(4, 57):
                content["model_type"] = "ministral"
            try:
                config_class = mapping[content["model_type"]]
            except KeyError:
                if release.lacks_code(str(where)):
                    raise Escape(Reason("not-recorded(remote code)", detail=str(where))) from None
                raise ValueError(_not_recognized(content["model_type"])) from None
            return config_class.from_dict(content, **unused)
        if not release.at_least(5):
            for pattern in sorted(mapping.keys(), key=len, reverse=True):
                if pattern in str(where):
                    return mapping[pattern].from_dict(content, **unused)
        raise ValueError(
            f"Unrecognized model in {where}. Should have a `model_type` key in its config.json."
        )

    def register(model_type: Any, config: Any, exist_ok: bool = False) -> None:
        if issubclass(config, factory.base) and config.model_type != model_type:
            raise ValueError(
                "The config you are passing has a `model_type` attribute that is not consistent "
                f"with the model type you passed (config has {config.model_type} and you passed "
                f"{model_type}. Fix one of those so they match!"
            )
        mapping.register(model_type, config, exist_ok=exist_ok)

    return type(
        "AutoConfig",
        (),
        {
            "__module__": "transformers.models.auto.configuration_auto",
            "__doc__": None,
            "__init__": __init__,
            "for_model": classmethod(for_model),
            "from_pretrained": classmethod(from_pretrained),  # type: ignore[arg-type]
            "register": staticmethod(register),
        },
    )


def _is_from_outside(mapping: ConfigMapping, model_type: str) -> bool:
    if mapping.is_own(model_type):
        return False
    return not mapping[model_type].__module__.startswith("transformers.")


def _not_recognized(model_type: object) -> str:
    return (
        f"The checkpoint you are trying to load has model type `{model_type}` but Transformers "
        "does not recognize this architecture. This could be because of an issue with the "
        "checkpoint, or because your version of Transformers is out of date."
    )


def _resolve_trust(trust: Any, where: object, has_local_code: bool) -> Any:
    """Whether code of the checkpoint may run; a question to a person counts as no answer.

    :raises ValueError: it may not, and the library has no class of its own.
    """
    message = (
        f"The repository {where} contains custom code which must be executed to correctly load "
        f"the model. You can inspect the repository content at {where} .\n You can inspect the "
        f"repository content at https://hf.co/{where}.\nPlease pass the argument "
        "`trust_remote_code=True` to allow custom code to be run."
    )
    if trust is None:
        if not has_local_code:
            raise ValueError(message)
        trust = False
    if not has_local_code and not trust:
        raise ValueError(message)
    return trust


def _remote_class(factory: Factory, reference: str, where: object) -> type[Any]:
    if "--" in reference:
        raise NotModelled(f"transformers.remote-code({reference})")
    module, name = reference.split(".")
    return factory.release.remote_code(str(where), f"{module}.py", name)
