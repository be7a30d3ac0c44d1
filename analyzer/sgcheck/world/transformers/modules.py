"""The importable modules of transformers, as far as SGLang's resolution names them."""

import enum
import typing
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

from . import auto, generation, hub, rope
from .errors import NotModelled
from .factory import Factory
from .placeholders import Registry, placeholder
from .release import Release
from .steps import Run, layer_check


class Names(Mapping[str, object]):
    """The modelled names of one module; values are made when they are asked for.

    :ivar all_names: every name that the real module has. A name that is in there but not in the
        mapping is not modelled; any other does not exist.
    """

    def __init__(self, makers: dict[str, Callable[[], object]], all_names: Container[str]) -> None:
        self._makers = makers
        self._made: dict[str, object] = {}
        self.all_names = all_names

    def __getitem__(self, name: str) -> object:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class _Modules(Mapping[str, "Names | None"]):
    """The modules of a release by name."""

    def __init__(self, library: "Library") -> None:
        self._library = library
        self._recorded: dict[str, str | None] = library.release.general("modules")
        self._made: dict[str, Names] = {}

    def __getitem__(self, name: str) -> Names | None:
        recorded = self._recorded[name]
        if recorded is None:
            return None
        if name not in self._made:
            self._made[name] = self._library.names_of(name, recorded)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._recorded

    def __iter__(self) -> Iterator[str]:
        return iter(self._recorded)

    def __len__(self) -> int:
        return len(self._recorded)


class _MoreClasses(Container[str]):
    """The names of a module that may have more configuration classes than are recorded."""

    def __init__(self, recorded: frozenset[str]) -> None:
        self._recorded = recorded

    def __contains__(self, name: object) -> bool:
        return name in self._recorded or str(name).endswith("Config")


class Resampling(enum.IntEnum):
    """The filters of Pillow."""

    NEAREST = 0
    BOX = 4
    BILINEAR = 2
    HAMMING = 5
    BICUBIC = 3
    LANCZOS = 1


class Library:
    """Makes the names of one interpreter instance's transformers."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.factory = Factory(release)
        self.mapping = auto.ConfigMapping(self.factory, release.general("config_names"))
        self.auto_config = auto.make_auto_config(self.factory, self.mapping)
        self.factory.auto_config = self.auto_config
        self.factory.mapping = self.mapping.__getitem__
        self.generation = generation.make_class(release)
        self._placeholders: dict[str, type[Any]] = {}

    def modules(self) -> Mapping[str, Names | None]:
        """Names by module, each made when it is asked for; None for a module that is not there."""
        return _Modules(self)

    @cached_property
    def _offered(self) -> tuple[dict[str, Callable[[], object]], ...]:
        """What can be had wherever a module has the name; the later ones go first."""
        classes: dict[str, Callable[[], object]] = {
            name: partial(self.factory.config_class, name) for name in self.release.facts.names()
        }
        placeholders: dict[str, Callable[[], object]] = {
            name: partial(self._placeholder, name) for name in self.release.general("placeholders")
        }
        placeholders |= {
            name: partial(_refused, name) for name in self.release.general("functions")
        }
        return classes, placeholders, self._common()

    def names_of(self, module: str, recorded: str) -> Names:
        """The names of one module, of which it is recorded that it has these."""
        present = frozenset(recorded.split())
        makers: dict[str, Callable[[], object]] = {}
        for offered in self._offered:
            makers |= {name: make for name, make in offered.items() if name in present}
        makers |= self._special(module)
        names = present | makers.keys()
        return Names(makers, _MoreClasses(names) if self.release.is_newer_than_facts else names)

    def _common(self) -> dict[str, Callable[[], object]]:
        """Names that mean the same in whatever module they are found."""
        return {
            "PretrainedConfig": lambda: self.factory.base,
            "PreTrainedConfig": lambda: self.factory.base,
            "AutoConfig": lambda: self.auto_config,
            "GenerationConfig": lambda: self.generation,
            "CONFIG_MAPPING": lambda: self.mapping,
            "CONFIG_MAPPING_NAMES": lambda: dict(self.mapping.own_names),
            "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES": self._causal_names,
            "TOKENIZER_MAPPING": lambda: self._registry("tokenizer"),
            "AutoProcessor": lambda: self._registering("AutoProcessor", "processor"),
            "AutoImageProcessor": lambda: self._registering("AutoImageProcessor", "image"),
            "cached_file": lambda: self._cached_file,
            "layer_type_validation": lambda: self._layer_type_validation,
            "rope_config_validation": lambda: self._rope_config_validation,
            "get_class_from_dynamic_module": lambda: self._class_from_dynamic_module,
            "SAFE_WEIGHTS_INDEX_NAME": lambda: "model.safetensors.index.json",
            "CONFIG_NAME": lambda: "config.json",
            "GENERATION_CONFIG_NAME": lambda: "generation_config.json",
            "PILImageResampling": lambda: Resampling,
            "ProcessingKwargs": lambda: _typed_dict("ProcessingKwargs"),
            "ImagesKwargs": lambda: _typed_dict("ImagesKwargs"),
            "IMAGENET_STANDARD_MEAN": lambda: [0.5, 0.5, 0.5],
            "IMAGENET_STANDARD_STD": lambda: [0.5, 0.5, 0.5],
            "to_numpy_array": lambda: _refused("to_numpy_array"),
            "group_images_by_shape": lambda: _refused("group_images_by_shape"),
            "reorder_images": lambda: _refused("reorder_images"),
        }

    def _special(self, module: str) -> dict[str, Callable[[], object]]:
        if module == "transformers":
            return {"__version__": lambda: self.release.version}
        if module == "transformers.utils":
            return {"logging": self._logging}
        return {}

    def _logging(self) -> object:
        return SimpleNamespace(get_logger=self.release.get_logger)

    def _causal_names(self) -> object:
        return dict(self.release.general("causal_lm_names"))

    def _registry(self, kind: str) -> Registry:
        taken = set(self.release.general("registered")[kind])
        classes = {
            name for model_type, name in self.mapping.own_names.items() if model_type in taken
        }
        return Registry(self.release, classes)

    def _registering(self, name: str, kind: str) -> type[Any]:
        made = self._placeholder(name)
        registry = self._registry(kind)

        def register(config_class: Any, *args: Any, exist_ok: bool = False, **_: Any) -> None:
            registry.register(config_class, args, exist_ok=exist_ok)

        made.register = staticmethod(register)
        return made

    def _placeholder(self, name: str) -> type[Any]:
        made = self._placeholders.get(name)
        if made is None:
            spec = self.release.general("placeholders")[name]
            if "same_as" in spec:
                return self._placeholder(spec["same_as"])
            bases = tuple(self._placeholder(base) for base in spec["bases"])
            made = self._placeholders[name] = placeholder(
                name, spec["module"], spec["callables"].split(), spec["values"].split(), bases
            )
        return made

    def _cached_file(self, path_or_repo_id: Any, filename: Any, **kwargs: Any) -> str | None:
        return hub.cached_file(self.release, path_or_repo_id, str(filename), **kwargs)

    def _layer_type_validation(
        self, layer_types: Any, num_hidden_layers: Any = None, attention: bool = True
    ) -> None:
        run = Run(None, {"layers": layer_types, "count": num_hidden_layers}, {}, self.factory, _no)
        key = "layer_types_of_function" if attention else "mlp_layer_types_of_function"
        layer_check(run, ["arg", "layers"], ["arg", "count"], key=key)

    def _rope_config_validation(self, config: Any, ignore_keys: Any = None) -> None:
        if self.release.at_least(5):
            raise NotModelled("transformers.rope_config_validation")
        rope.check_scaling_4(config, self.release, ignore_keys)

    def _class_from_dynamic_module(self, class_reference: str, where: Any, **_: Any) -> type[Any]:
        if "--" in class_reference:
            raise NotModelled(f"transformers.remote-code({class_reference})")
        module, name = class_reference.split(".")
        return self.release.remote_code(str(where), f"{module}.py", name)


def _no(**kwargs: Any) -> None:
    raise AssertionError("there is no constructor to call")


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotModelled(f"transformers.{name}")

    refuse.__name__ = name
    return refuse


def _typed_dict(name: str) -> Any:
    return typing.TypedDict(name, {}, total=False)  # type: ignore[operator]
