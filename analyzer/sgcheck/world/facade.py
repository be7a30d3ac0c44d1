"""Modules of the world: namespaces that answer what is modelled and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.unknown import ASK, Unknown, find_unknown


class Facade(ModuleType):
    """A module outside the tree. A name that is not modelled is an unknown with that reason.

    `closed` facades are complete: a missing name raises AttributeError, as Python does.
    """

    def __init__(self, name: str, names: dict[str, Any], *, closed: bool = False) -> None:
        super().__init__(name)
        self.__dict__.update(names)
        self.__dict__["_closed"] = closed
        self.__dict__["__path__"] = []

    def __getattr__(self, name: str) -> Any:
        if (
            (name.startswith("__") and name.endswith("__"))
            or self.__dict__.get("_closed")
            or name in self.__dict__.get("_missing", ())
        ):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return not_modelled(f"{self.__name__}.{name}")

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}>"


def not_modelled(what: str) -> Unknown:
    """The answer of the world to a question that nobody taught it."""
    return Unknown(Reason(f"not-modelled({what})"), what)


def nondeterministic(what: str) -> Unknown:
    """A value drawn at random, from the clock or from the machine."""
    return Unknown(Reason("nondeterministic", detail=what), what)


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A world function that knows nothing of unknowns: given one, it answers with one."""

    def run(*args: Any, **kwargs: Any) -> Any:
        found = find_unknown([args, kwargs], 5)
        if found is not None:
            return ASK[-1].call(Unknown(found.reason, function.__name__), (function, *args), kwargs)
        return function(*args, **kwargs)

    run.__name__ = getattr(function, "__name__", "run")
    run.__qualname__ = getattr(function, "__qualname__", run.__name__)
    run.__doc__ = function.__doc__
    return run


def public_names(
    module: ModuleType, *, without: Iterable[str] = (), lift: bool = False
) -> dict[str, Any]:
    """The public names of a pure module of the standard library, without modules inside it."""
    leave = set(without)
    names: dict[str, Any] = {}
    for name in getattr(module, "__all__", None) or dir(module):
        if name in leave or name.startswith("_"):
            continue
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            continue
        if lift and callable(value) and not isinstance(value, type):
            value = lifted(value)
        names[name] = value
    return names
