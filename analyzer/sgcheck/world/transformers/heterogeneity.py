"""Configurations whose layers differ (`per_layer_config`, transformers 5.19)."""

import copy
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

_ABSENT = object()
_RAISE = object()
_SPEC = "_heterogeneity_spec"


class AmbiguousGlobalPerLayerAttributeError(RuntimeError):
    """An attribute that differs between layers was read from the whole configuration."""


class PerLayer:
    """Adds `per_layer_config`; attributes that layers override cannot be read globally."""

    _release: Any

    def __getattribute__(self, key: str) -> Any:
        values = object.__getattribute__(self, "__dict__")
        spec = values.get(_SPEC)
        read = super().__getattribute__
        if (
            spec is not None
            and _stored_name(read, key) in spec.per_layer_attributes
            and not values.get("allow_global_per_layer_attribute_access", False)
        ):
            raise AmbiguousGlobalPerLayerAttributeError(
                f"'{key}' is a per-layer attribute and may vary across layers. Access it via the "
                f"individual layer configs instead (e.g. config.per_layer_config[i].{key})."
            )
        return read(key)

    def __iter__(self) -> Iterator[str]:
        values = self.__dict__
        spec = values.get(_SPEC)
        hidden: set[str] = set()
        if spec is not None and not values.get("allow_global_per_layer_attribute_access", False):
            hidden = spec.per_layer_attributes
        yield from (key for key in values if key not in hidden)

    @property
    def is_heterogeneous(self) -> bool:
        """Whether layers have values of their own."""
        return hasattr(self, _SPEC)

    @property
    def per_layer_config(self) -> "LayerConfigurations":
        """The configuration of each layer."""
        return LayerConfigurations(self)

    @per_layer_config.setter
    def per_layer_config(self, layers: dict[Any, dict[str, Any]] | None) -> None:
        if layers is None:
            self.__dict__.pop(_SPEC, None)
            return
        overrides = {int(index): _plain_overrides(values) for index, values in layers.items()}
        _check_layers(self, overrides)
        setattr(self, _SPEC, _make_spec(self, overrides))

    @property
    def per_layer_attributes(self) -> set[str] | None:
        """The attributes that layers override."""
        spec = self.__dict__.get(_SPEC)
        found: set[str] | None = None if spec is None else spec.per_layer_attributes
        return found

    @property
    def allow_global_per_layer_attribute_access(self) -> Any:
        """Whether attributes that layers override may be read globally all the same."""
        return self.__dict__.get("allow_global_per_layer_attribute_access", False)

    @allow_global_per_layer_attribute_access.setter
    def allow_global_per_layer_attribute_access(self, value: Any) -> None:
        self.__dict__["allow_global_per_layer_attribute_access"] = value

    @property
    def serialize_explicit_per_layer_config(self) -> Any:
        """Whether `to_dict` repeats equal values for every layer."""
        return self.__dict__.get("serialize_explicit_per_layer_config", False)

    @serialize_explicit_per_layer_config.setter
    def serialize_explicit_per_layer_config(self, value: Any) -> None:
        self.__dict__["serialize_explicit_per_layer_config"] = value

    def _global_value(self, key: str, default: Any = _RAISE) -> Any:
        """An attribute's global value, whether layers override it or not."""
        read = super().__getattribute__
        try:
            return read(_stored_name(read, key))
        except AttributeError:
            if default is _RAISE:
                raise
            return default

    def _attribute_for_diff(self, key: str) -> Any:
        return self._global_value(key, None)

    def to_dict(self) -> dict[str, Any]:
        """All attributes as plain values."""
        output: dict[str, Any] = super().to_dict()  # type: ignore[misc]
        self._write_layers(output)
        return output

    def to_diff_dict(self) -> dict[str, Any]:
        """The attributes that differ from a fresh instance, as plain values."""
        output: dict[str, Any] = super().to_diff_dict()  # type: ignore[misc]
        self._write_layers(output)
        return output

    def _write_layers(self, output: dict[str, Any]) -> None:
        spec = self.__dict__.get(_SPEC)
        if spec is None:
            return
        overrides = spec.per_layer_overrides
        if self.serialize_explicit_per_layer_config:
            overrides = _explicit_overrides(self, spec)
        digits = len(str(max(overrides))) if overrides else 0
        output["per_layer_config"] = {
            str(index).zfill(digits): copy.deepcopy(values) for index, values in overrides.items()
        }
        output.pop(_SPEC, None)


class LayerConfigurations(Sequence[Any]):
    """The layers' configurations, by index, slice or layer type."""

    def __init__(self, config: Any) -> None:
        self._config = config

    def __len__(self) -> int:
        count: int = self._config.num_hidden_layers
        return count

    def __getitem__(self, index: Any) -> Any:
        config = self._config
        spec = config.__dict__.get(_SPEC)
        if isinstance(index, str):
            return self._of_type(index, spec)
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if index < 0 or index >= len(self):
            raise IndexError("list index out of range")
        if spec is None:
            return config
        return _layer(config, spec.per_layer_overrides.get(index, {}))

    def _of_type(self, kind: str, spec: Any) -> Any:
        config = self._config
        layer_types = getattr(config, "layer_types", None)
        if layer_types is None or kind not in layer_types:
            raise ValueError(f"Layer type '{kind}' not found in config.layer_types: {layer_types}")
        if spec is None:
            return config
        overrides = spec.per_layer_overrides
        reference = overrides.get(layer_types.index(kind), {})
        for index, other in enumerate(layer_types):
            if other == kind and overrides.get(index, {}) != reference:
                raise ValueError(
                    f"Layer type '{kind}' is not homogeneous across layers (layer {index} differs)"
                )
        return _layer(config, reference)


def _stored_name(read: Any, key: str) -> str:
    names = read("attribute_map")
    stored: str = names.get(key, key)
    return stored


def _plain_overrides(values: dict[str, Any]) -> dict[str, Any]:
    output = copy.deepcopy(values)
    if "skip" in output:
        skip = output.pop("skip")
        if isinstance(skip, str) or not hasattr(skip, "__iter__"):
            raise TypeError("`skip` must be an iterable of strings.")
        names = set(skip)
        if not all(isinstance(name, str) for name in names):
            raise TypeError("`skip` must contain only strings.")
        if names:
            output["skip"] = sorted(names)
    return output


def _check_layers(config: Any, overrides: dict[int, dict[str, Any]]) -> None:
    if overrides:
        count = config.num_hidden_layers
        wrong = [index for index in overrides if index < 0 or index >= count]
        if wrong:
            raise ValueError(
                "`per_layer_config` keys must be integer layer indices in the range "
                f"[0, {count}); got {wrong}."
            )
    window = config._global_value("sliding_window", None)
    chunk = config._global_value("attention_chunk_size", None)
    both = []
    for index in range(config.num_hidden_layers):
        own = overrides.get(index, {})
        if (
            own.get("sliding_window", window) is not None
            and own.get("attention_chunk_size", chunk) is not None
        ):
            both.append(index)
    if both:
        raise ValueError(
            "The following layers have the mutually exclusive `sliding_window` and "
            f"`attention_chunk_size` both defined: {both}."
        )


def _overridden(overrides: dict[int, dict[str, Any]]) -> set[str]:
    return {key for values in overrides.values() for key in values if key != "skip"}


def _make_spec(config: Any, overrides: dict[int, dict[str, Any]]) -> Any:
    explicit = _overridden(overrides)
    complete = len(overrides) == config.num_hidden_layers
    missing = {
        key
        for key in explicit
        if config._global_value(key, _ABSENT) is _ABSENT
        and not (complete and all(key in values for values in overrides.values()))
    }
    if missing:
        raise ValueError(f"The following attributes are missing: {sorted(missing)}")
    for key in explicit:
        common = config._global_value(key, _ABSENT)
        if common is _ABSENT:
            continue
        for values in overrides.values():
            if key in values and values[key] == common:
                del values[key]
    for index in [index for index, values in overrides.items() if not values]:
        del overrides[index]
    return Spec(
        per_layer_overrides=overrides,
        per_layer_attributes=_overridden(overrides),
        explicit_per_layer_attributes=explicit,
    )


class Spec(SimpleNamespace):
    """What layers override: by layer, the names, and the names as they were given."""


def _layer(config: Any, overrides: dict[str, Any]) -> Any:
    layer = copy.copy(config)
    layer.__dict__.pop(_SPEC, None)
    layer.skip = overrides.get("skip", [])
    for key, value in overrides.items():
        if key != "skip":
            setattr(layer, key, value)
    return layer


def _explicit_overrides(config: Any, spec: Any) -> dict[int, dict[str, Any]]:
    output = {}
    for index in range(config.num_hidden_layers):
        values = copy.deepcopy(spec.per_layer_overrides.get(index, {}))
        for key in spec.explicit_per_layer_attributes:
            if key not in values:
                values[key] = config._global_value(key)
        if values:
            output[index] = values
    return output
