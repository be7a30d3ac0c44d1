"""Value checks of configuration classes since transformers 5.4 (huggingface_hub's `strict`)."""

from collections.abc import Callable
from typing import Any

from . import typespec
from .errors import (
    StrictDataclassClassValidationError,
    StrictDataclassFieldValidationError,
)
from .release import Release


def check_field(instance: Any, name: str, value: Any) -> None:
    """Raise `StrictDataclassFieldValidationError` if the value does not fit the field."""
    for validator in instance.__validators__.get(name, ()):
        try:
            validator(value)
        except (ValueError, TypeError) as error:
            raise StrictDataclassFieldValidationError(field=name, cause=error) from error


def make_strict(cls: type[Any], release: Release, own: dict[str, dict[str, Any]]) -> None:
    """Let the class check its fields when they are set, and the whole when it is constructed.

    :param own: of each field that the class defines, the recorded `type` and `checks`.
        Fields of base classes keep the checks that they have there.
    """
    checker = _type_checker(cls, release)
    validators: dict[str, list[Callable[[Any], None]]] = dict(cls.__validators__)
    for name, spec in own.items():
        validators[name] = _field_validators(checker, name, spec)
    cls.__validators__ = validators
    cls.__class_validators__ = [
        getattr(cls, name)
        for name in sorted({name for base in cls.__mro__ for name in vars(base)})
        if name.startswith("validate_") and callable(getattr(cls, name))
    ]

    def validate(self: Any) -> None:
        for validator in cls.__class_validators__:
            try:
                validator(self)
            except (ValueError, TypeError) as error:
                raise StrictDataclassClassValidationError(
                    validator=validator.__name__, cause=error
                ) from error

    construct: Callable[..., None] = cls.__init__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        construct(self, *args, **kwargs)
        cls.validate(self)

    cls.validate = validate
    cls.__init__ = __init__


def _type_checker(cls: type[Any], release: Release) -> typespec.TypeChecker:
    root = cls._root

    def is_a(kind: str, value: Any) -> bool:
        if kind == "dtype":
            return release.is_dtype(value)
        name = kind.partition(":")[2]
        if not name:
            return isinstance(value, root)
        return any(base.__name__ == name for base in type(value).__mro__)

    return typespec.TypeChecker(is_a)


def _field_validators(
    checker: typespec.TypeChecker, name: str, spec: dict[str, Any]
) -> list[Callable[[Any], None]]:
    found: list[Callable[[Any], None]] = []
    kind = spec.get("type")
    if kind is not None:

        def has_type(value: Any) -> None:
            checker.check(name, value, kind)

        found.append(has_type)
    for check in spec.get("checks", ()):
        form, *args = check
        if form == "interval":
            low, high = args

            def in_interval(value: Any, low: Any = low, high: Any = high) -> None:
                typespec.interval(value, low, high)

            found.append(in_interval)
    return found
