"""Checks of values against recorded field types, as huggingface_hub's strict classes make them.

A type is recorded as a string (``int``, ``dict``, ``never`` ...) or as a list whose first item
names the form: ``["union", int, none]``, ``["list", int]``, ``["dict", str, int]``,
``["tuple", int, int]``, ``["tuple*", int]``, ``["set", int]``, ``["seq", int]``,
``["literal", 1, "a"]``.
"""

from collections.abc import Callable, Sequence
from typing import Any

Check = Callable[[str, Any], None]
TypeSpec = str | list[Any]

_PLAIN: dict[str, type] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "dict": dict,
    "list": list,
    "tuple": tuple,
    "set": set,
    "bytes": bytes,
}


class TypeChecker:
    """Checks values; `classes` gives the meaning of names that are no builtin types.

    :param is_a: whether a value is a `config` (any configuration), a `config:Name` or a `dtype`.
    """

    def __init__(self, is_a: Callable[[str, Any], bool]) -> None:
        self._is_a = is_a

    def check(self, name: str, value: Any, spec: TypeSpec) -> None:
        """Raise `TypeError` if the value does not have the type."""
        if isinstance(spec, str):
            self._check_plain(name, value, spec)
            return
        form, *args = spec
        getattr(self, _FORMS[form])(name, value, args)

    def _check_plain(self, name: str, value: Any, spec: str) -> None:
        if spec == "any":
            return
        if spec == "none":
            if value is not None:
                raise TypeError(f"Field '{name}' expected None, got {type(value).__name__}")
            return
        if spec == "never":
            raise TypeError(f"Field '{name}' cannot be checked against its type")
        kind = _PLAIN.get(spec)
        if kind is None:
            right = self._is_a(spec, value)
        else:
            right = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
        if not right:
            raise TypeError(
                f"Field '{name}' expected {spec}, got {type(value).__name__} (value: {value!r})"
            )

    def _check_union(self, name: str, value: Any, args: list[Any]) -> None:
        errors = []
        for option in args:
            try:
                self.check(name, value, option)
            except TypeError as error:
                errors.append(str(error))
            else:
                return
        shown = ", ".join(describe(option) for option in args)
        raise TypeError(
            f"Field '{name}' with value {value!r} doesn't match any type in ({shown}). "
            f"Errors: {'; '.join(errors)}"
        )

    def _check_literal(self, name: str, value: Any, args: list[Any]) -> None:
        allowed: list[Any]
        if isinstance(value, bool):
            allowed = [item for item in args if isinstance(item, bool)]
        elif isinstance(value, int):
            allowed = [i for i in args if isinstance(i, int) and not isinstance(i, bool)]
        else:
            allowed = args
        if value not in allowed:
            raise TypeError(f"Field '{name}' expected one of {tuple(args)}, got {value}")

    def _check_items(self, name: str, value: Any, kind: str, spec: TypeSpec) -> None:
        for index, item in enumerate(value):
            try:
                self.check(f"{name}[{index}]", item, spec)
            except TypeError as error:
                message = f"Invalid item at index {index} in {kind} '{name}'"
                raise TypeError(message) from error

    def _check_list(self, name: str, value: Any, args: list[Any]) -> None:
        if not isinstance(value, list):
            raise TypeError(f"Field '{name}' expected a list, got {type(value).__name__}")
        self._check_items(name, value, "list", args[0])

    def _check_dict(self, name: str, value: Any, args: list[Any]) -> None:
        if not isinstance(value, dict):
            raise TypeError(f"Field '{name}' expected a dict, got {type(value).__name__}")
        for key, item in value.items():
            try:
                self.check(f"{name}.key", key, args[0])
                self.check(f"{name}[{key!r}]", item, args[1])
            except TypeError as error:
                raise TypeError(f"Invalid key or value in dict '{name}'") from error

    def _check_tuple(self, name: str, value: Any, args: list[Any]) -> None:
        if not isinstance(value, tuple):
            raise TypeError(f"Field '{name}' expected a tuple, got {type(value).__name__}")
        if len(args) != len(value):
            raise TypeError(
                f"Field '{name}' expected a tuple of length {len(args)}, got {len(value)}"
            )
        for index, (item, spec) in enumerate(zip(value, args, strict=True)):
            try:
                self.check(f"{name}[{index}]", item, spec)
            except TypeError as error:
                message = f"Invalid item at index {index} in tuple '{name}'"
                raise TypeError(message) from error

    def _check_any_tuple(self, name: str, value: Any, args: list[Any]) -> None:
        if not isinstance(value, tuple):
            raise TypeError(f"Field '{name}' expected a tuple, got {type(value).__name__}")
        self._check_items(name, value, "tuple", args[0])

    def _check_set(self, name: str, value: Any, args: list[Any]) -> None:
        if not isinstance(value, set):
            raise TypeError(f"Field '{name}' expected a set, got {type(value).__name__}")
        for item in value:
            try:
                self.check(f"{name} item", item, args[0])
            except TypeError as error:
                raise TypeError(f"Invalid item in set '{name}'") from error

    def _check_sequence(self, name: str, value: Any, args: list[Any]) -> None:
        if not isinstance(value, Sequence):
            raise TypeError(f"Field '{name}' expected a Sequence, got {type(value).__name__}")
        if args:
            self._check_items(name, value, "sequence", args[0])


_FORMS = {
    "union": "_check_union",
    "literal": "_check_literal",
    "list": "_check_list",
    "dict": "_check_dict",
    "tuple": "_check_tuple",
    "tuple*": "_check_any_tuple",
    "set": "_check_set",
    "seq": "_check_sequence",
}


def describe(spec: TypeSpec) -> str:
    """A type spec for an error message."""
    if isinstance(spec, str):
        return spec
    form, *args = spec
    return f"{form}[{', '.join(a if isinstance(a, str) else describe(a) for a in args)}]"


def interval(value: Any, low: float | None, high: float | None) -> None:
    """Raise `ValueError` if the value lies outside the closed interval."""
    lowest = float("-inf") if low is None else low
    highest = float("inf") if high is None else high
    if not (lowest <= value <= highest):
        parts = []
        if low is not None:
            parts.append(f" greater or equal to {low}")
        if high is not None:
            parts.append(f" smaller or equal to {high}")
        raise ValueError(f"Value must be{' and'.join(parts)}, got {value}.")
