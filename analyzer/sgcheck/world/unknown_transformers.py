"""What transformers answers for a model of which nothing is known: facts instead of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sgcheck.values.unknown import ASK, Unknown
from sgcheck.world.files import Files
from sgcheck.world.unknown_model import UNKNOWN


def install(names: Mapping[str, Any] | None, files: Files, version: str) -> None:
    """Wrap the class methods of `AutoConfig`, `PretrainedConfig` and `GenerationConfig` that read a folder."""
    if names is None:
        return
    for name in ("AutoConfig", "PretrainedConfig", "GenerationConfig"):
        if name in names:
            _wrap(names[name], files, version, is_generation=name == "GenerationConfig")


def _wrap(cls: Any, files: Files, version: str, *, is_generation: bool) -> None:
    original = _class_attribute(cls, "from_pretrained")
    if original is None:
        return

    def from_pretrained(owner: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        label = None
        if files.unknown is not None and not isinstance(path, Unknown):
            label = files.unknown.label(files.absolute(path))
        if label is None:
            return original.__get__(None, owner)(path, *args, **kwargs)
        if is_generation:
            return _generation(label, path)
        if not _recognised(label, version):
            raise ValueError(
                f"The checkpoint you are trying to load has a model type that Transformers {version} "
                "does not recognize: this architecture is unknown to it"
            )
        fact = files.unknown.config(label)
        return (fact, {}) if kwargs.get("return_unused_kwargs") else fact

    cls.from_pretrained = classmethod(from_pretrained)
    read = _class_attribute(cls, "get_config_dict")
    if read is not None and not is_generation:

        def get_config_dict(owner: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
            label = files.unknown.label(files.absolute(path)) if files.unknown is not None else None
            if label is None:
                return read.__get__(None, owner)(path, *args, **kwargs)
            return files.unknown.config(label), kwargs

        cls.get_config_dict = classmethod(get_config_dict)


def _class_attribute(cls: Any, name: str) -> Any:
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def _recognised(label: str, version: str) -> bool:
    """Whether the pinned transformers knows the model type: a question of its own."""
    return ASK[-1].ask(f"transformers {version} knows the type of the {label}", UNKNOWN)


def _generation(label: str, path: Any) -> Any:
    if not ASK[-1].ask(f"{label} has the file generation_config.json", UNKNOWN):
        raise OSError(f"{path} does not appear to have a file named generation_config.json.")
    return Unknown(UNKNOWN, f"{label}.generation_config")
