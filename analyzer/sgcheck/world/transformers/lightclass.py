"""Fields of a configuration class, collected as `dataclasses` does, but without code generation.

Since transformers 5.4 every subclass of its base configuration becomes a dataclass the moment
it is defined. A release of SGLang defines some eighty such classes; generating methods for each
would cost more than the whole prediction, so only what can be seen of a dataclass is made: the
field table, the defaults on the class, equality by fields and the missing hash.
"""

import dataclasses
import inspect
import types
import typing
from typing import Any, cast

_FIELDS = "__dataclass_fields__"
_PARAMS = "__dataclass_params__"
_FIELD = cast(Any, dataclasses)._FIELD
_FIELD_CLASSVAR = cast(Any, dataclasses)._FIELD_CLASSVAR


def is_class_variable(annotation: object) -> bool:
    """Whether an annotation says `ClassVar`, as an object or as text."""
    if isinstance(annotation, str):
        head = annotation.strip().partition("[")[0].strip()
        return head in ("ClassVar", "typing.ClassVar", "t.ClassVar")
    return annotation is typing.ClassVar or typing.get_origin(annotation) is typing.ClassVar


def collect_fields(cls: type) -> None:
    """Give the class its field table and what else a keyword-only dataclass without repr has.

    :raises ValueError: a mutable default, in the words of `dataclasses`.
    """
    table: dict[str, dataclasses.Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        table.update(getattr(base, _FIELDS, None) or {})
    for name, annotation in inspect.get_annotations(cls).items():
        found = cls.__dict__.get(name, dataclasses.MISSING)
        if isinstance(found, dataclasses.Field):
            field: Any = found
        else:
            field = (
                dataclasses.field(default=found)
                if found is not dataclasses.MISSING
                else dataclasses.field()
            )
        field.name = name
        field.type = annotation
        if is_class_variable(annotation):
            field._field_type = _FIELD_CLASSVAR
        else:
            field._field_type = _FIELD
            field.kw_only = True
            if field.default.__class__.__hash__ is None:
                raise ValueError(
                    f"mutable default {type(field.default)} for field {name} is not allowed: "
                    "use default_factory"
                )
        table[name] = field
        if isinstance(found, dataclasses.Field):
            if field.default is dataclasses.MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, field.default)
    setattr(cls, _FIELDS, table)
    # A dataclass derived from this one asks whether it is frozen.
    setattr(cls, _PARAMS, types.SimpleNamespace(frozen=False, eq=True, repr=False, order=False))
    if "__eq__" not in cls.__dict__:
        cls.__eq__ = _equal_fields  # type: ignore[assignment]
    if "__hash__" not in cls.__dict__:
        cls.__hash__ = None  # type: ignore[assignment]


def field_table(cls: type) -> dict[str, dataclasses.Field[Any]]:
    """The instance fields of a class by name, in order of definition."""
    table = cast("dict[str, Any]", getattr(cls, _FIELDS))
    return {name: field for name, field in table.items() if field._field_type is _FIELD}


def fill_fields(instance: object, cls: type, given: dict[str, Any]) -> dict[str, Any]:
    """Set every field of `cls` on the instance from `given` or its default; return what is left.

    :raises TypeError: a field has neither value nor default.
    """
    table = field_table(cls)
    for name, field in table.items():
        if name in given:
            setattr(instance, name, given[name])
        elif field.default is not dataclasses.MISSING:
            setattr(instance, name, field.default)
        elif field.default_factory is not dataclasses.MISSING:
            setattr(instance, name, field.default_factory())
        else:
            raise TypeError(f"Missing required field - '{name}'")
    return {name: value for name, value in given.items() if name not in table}


def _equal_fields(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    names = list(field_table(type(self)))
    return all(getattr(self, name) == getattr(other, name) for name in names)
