"""Makes configuration classes out of recorded facts, one set for each interpreter instance."""

import copy
import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

from . import strictness
from .errors import NotModelled
from .release import Release
from .steps import Run

# Overriding one of these changes what every instance does; without a rule the class is unknown.
DECISIVE = (
    "__setattr__",
    "__getattribute__",
    "__getattr__",
    "__iter__",
    "_attn_implementation",
    "convert_rope_params_to_dict",
    "from_dict",
    "from_pretrained",
    "get_text_config",
    "standardize_rope_params",
    "sub_configs",
    "to_dict",
    "update",
    "validate_rope",
)


class Factory:
    """The configuration classes of a release.

    :ivar base: the release's `PretrainedConfig`.
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        if release.at_least(5):
            from .config_v5 import make_base
        else:
            from .config_v4 import make_base
        self.base = make_base(release)
        self.base.__doc__ = None
        self._made: dict[str, type[Any]] = {}
        self._registered: dict[str, type[Any]] = {}

    def knows(self, name: str) -> bool:
        """Whether the class is recorded."""
        return name in self._made or self.release.knows(name)

    def config_class(self, name: str) -> type[Any]:
        """The class with this name.

        :raises NotModelled: it is not recorded.
        """
        if name in ("PretrainedConfig", "PreTrainedConfig"):
            return self.base
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._make(name, self.release.fact(name))
        return made

    def class_for_model_type(self, model_type: Any) -> type[Any]:
        """What `CONFIG_MAPPING[model_type]` gives; set by the auto module."""
        return self.mapping(model_type)

    mapping: Callable[[Any], type[Any]]

    def _make(self, name: str, fact: dict[str, Any]) -> type[Any]:
        bases = tuple(self.config_class(base) for base in fact["bases"])
        names: dict[str, Any] = {"__module__": fact["module"], "__doc__": None}
        names.update(copy.deepcopy(fact.get("attributes", {})))
        if "sub_configs" in fact:
            names["sub_configs"] = {
                key: self._sub_config(inner) for key, inner in fact["sub_configs"].items()
            }
        self._add_members(name, fact, names)
        fields = fact.get("fields")
        if fields is None and "params" in fact:
            names["__init__"] = self._constructor(name, fact)
        elif fields is not None:
            _add_fields(fields, names)
        if "steps" in fact and "params" not in fact:
            names["__post_init__"] = self._post_init(name, fact)
        cls = type(fact.get("name", name), bases, names)
        if fact.get("strict"):
            strictness.make_strict(cls, self.release, fields or {})
        return cls

    def _sub_config(self, name: str) -> Any:
        if name == "AutoConfig":
            return self.auto_config
        return self.config_class(name)

    auto_config: Any = None

    def _add_members(self, name: str, fact: dict[str, Any], names: dict[str, Any]) -> None:
        from .families import MEMBERS

        for member, spec in fact.get("members", {}).items():
            made = MEMBERS.get((name, member))
            if made is not None:
                names[member] = made
            elif isinstance(spec, list):
                names[member] = self._member(member, spec)
            elif member in DECISIVE or member.startswith("validate_"):
                raise NotModelled(f"transformers.{name}.{member}")
            else:
                names[member] = _unknown_member(name, member, settable=spec == "settable property")

    def _member(self, member: str, spec: list[Any]) -> Any:
        kind, *content = spec
        classes = self
        if kind == "property":

            def read(self: Any) -> Any:
                return Run(self, {}, {}, classes, _no_base).value(content[0])

            return property(read)

        def check(self: Any) -> None:
            Run(self, {}, {}, classes, _no_base).steps(content[0])

        check.__name__ = member
        return check

    def _constructor(self, name: str, fact: dict[str, Any]) -> Callable[..., None]:
        parameters = fact["params"]
        order = [parameter for parameter, *_ in parameters]
        defaults = {parameter: value[0] for parameter, *value in parameters if value}
        takes_rest = fact.get("rest", True)
        steps = fact["steps"]
        classes = self

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            if len(args) > len(order):
                raise TypeError(
                    f"{name}.__init__() takes from 1 to {len(order) + 1} positional arguments "
                    f"but {len(args) + 1} were given"
                )
            values = dict(zip(order, args, strict=False))
            for parameter in values:
                if parameter in kwargs:
                    raise TypeError(
                        f"{name}.__init__() got multiple values for argument '{parameter}'"
                    )
            for parameter in order[len(args) :]:
                if parameter in kwargs:
                    values[parameter] = kwargs.pop(parameter)
                elif parameter in defaults:
                    # Mutable defaults are one object for all calls, as in Python.
                    values[parameter] = defaults[parameter]
                else:
                    raise TypeError(
                        f"{name}.__init__() missing 1 required positional argument: '{parameter}'"
                    )
            if kwargs and not takes_rest:
                raise TypeError(
                    f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            Run(self, values, kwargs, classes, super(cls_cell[0], self).__init__).steps(steps)

        cls_cell: list[Any] = []
        __init__.__qualname__ = f"{name}.__init__"
        return _with_class(__init__, cls_cell, name, classes)

    def _post_init(self, name: str, fact: dict[str, Any]) -> Callable[..., None]:
        steps = fact["steps"]
        classes = self
        cls_cell: list[Any] = []

        def __post_init__(self: Any, **kwargs: Any) -> None:
            base: Any = getattr(super(cls_cell[0], self), "__post_init__")  # noqa: B009
            Run(self, {}, kwargs, classes, base).steps(steps)

        return _with_class(__post_init__, cls_cell, name, classes)


def _with_class(
    function: Callable[..., None], cell: list[Any], name: str, classes: Factory
) -> Callable[..., None]:
    """Let a function find the class that it belongs to, which does not exist yet."""

    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        if not cell:
            cell.append(classes.config_class(name))
        function(self, *args, **kwargs)

    first.__name__ = function.__name__
    first.__qualname__ = function.__qualname__
    return first


def _add_fields(fields: dict[str, Any], names: dict[str, Any]) -> None:
    annotations: dict[str, Any] = {}
    for name, spec in fields.items():
        annotations[name] = Any
        if "default" in spec:
            default = spec["default"]
            if isinstance(default, list | dict | set):
                names[name] = dataclasses.field(default_factory=partial(copy.deepcopy, default))
            else:
                names[name] = default
    names["__annotations__"] = annotations


def _unknown_member(name: str, member: str, *, settable: bool) -> property:
    def refuse(self: Any, *value: Any) -> Any:
        raise NotModelled(f"transformers.{name}.{member}")

    return property(refuse, refuse if settable else None)


def _no_base(**kwargs: Any) -> None:
    raise AssertionError("a member has no constructor to call")
