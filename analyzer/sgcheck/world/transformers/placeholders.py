"""Classes of transformers that SGLang names while it resolves a launch, but never uses.

A placeholder has the attributes of the real class, so that `hasattr` and subclassing answer
rightly; whatever is done with one raises `NotModelled`.
"""

from collections.abc import Callable
from typing import Any

from .errors import NotModelled
from .release import Release

_KEPT = frozenset(
    (
        "__class__",
        "__dict__",
        "__doc__",
        "__module__",
        "__weakref__",
        "__init_subclass__",
        "__subclasshook__",
        "__new__",
        "__getattribute__",
        "__setattr__",
        "__delattr__",
        "__abstractmethods__",
        "__parameters__",
        "__orig_bases__",
        "__annotations__",
        "__slots__",
        "__hash__",
        "__eq__",
        "__repr__",
        "__str__",
        "__dir__",
        "__sizeof__",
        "__format__",
        "__reduce__",
        "__reduce_ex__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__getstate__",
        "__init__",
    )
)


class _Unread:
    """An attribute whose value is not known."""

    def __init__(self, code: str) -> None:
        self._code = code

    def __get__(self, instance: object, owner: object = None) -> Any:
        raise NotModelled(self._code)


def _refuse(code: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotModelled(code)

    return refuse


def _registered(*args: Any, **kwargs: Any) -> None:
    """What is registered with a class that cannot be used is never looked up."""


def placeholder(
    name: str, module: str, callables: list[str], values: list[str], bases: tuple[type, ...] = ()
) -> type[Any]:
    """A class with the given attributes that raises `NotModelled` when it is used."""
    code = f"transformers.{name}"
    names: dict[str, Any] = {
        member: _registered if member == "register" else _refuse(f"{code}.{member}")
        for member in callables
        if member not in _KEPT
    }
    names |= {
        member: _Unread(f"{code}.{member}") for member in values if not member.startswith("__")
    }
    names |= {"__module__": module, "__doc__": None, "__init__": _refuse(code)}
    return type(name, bases, names)


class Registry:
    """A table from configuration classes to something that only running models use."""

    def __init__(self, release: Release, taken: set[str]) -> None:
        """:param taken: the names of configuration classes that the release serves itself."""
        self._release = release
        self._taken = taken

    def register(self, key: Any, value: Any, exist_ok: bool = False) -> None:
        """Accept a class.

        :raises ValueError: the release has an entry for a class with this name.
        """
        if getattr(key, "__name__", None) in self._taken and not exist_ok:
            raise ValueError(f"'{key}' is already used by a Transformers model.")
