"""Modules of the world: namespaces that answer what is modelled and nothing else."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterable
from copy import copy
from types import FunctionType, ModuleType
from typing import Any

from sgcheck.interp import access, natives
from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape, Refused
from sgcheck.values.symbols import Drawn
from sgcheck.values.unknown import ASK, Unknown, find_unknown
from sgcheck.world.tensors.recorder import RECORDER, record


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
        if name[0].isupper() and not name.isupper():
            value = self.__dict__[name] = unmodelled_class(f"{self.__name__}.{name}")
            return value
        if name.islower() and not name.startswith(_FLAG_PREFIXES):
            made = self.__dict__[name] = ForeignObject(f"{self.__name__}.{name}")
            return made
        return not_modelled(f"{self.__name__}.{name}")

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}>"


_FLAG_PREFIXES = ("is_", "has_", "use_", "enable_", "disable_", "_")


class ForeignObject:
    """A function or module that an installed package offers: it is there; nothing else is known.

    Names in lower case only: constants and flags (`HAS_X`, `is_y`) stay unknown.
    """

    __slots__ = ("_name", "_overloads")

    def __init__(self, name: str, *, overloads: bool = False) -> None:
        self._name = name
        self._overloads = overloads

    @property
    def __name__(self) -> str:
        return self._name.rpartition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        record(self._name, args, kwargs)
        if RECORDER.starting:
            # Shapes are a matter of starts: nothing else loads them.
            from sgcheck.world.kernel_results import result_of

            found = result_of(self._name, args, kwargs)
            if found is not NotImplemented:
                return found
        return not_modelled(f"{self._name}()")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._overloads and name == "default":
            return self
        return not_modelled(f"{self._name}.{name}")

    def _operated(self, *others: Any) -> Any:
        return not_modelled(self._name)

    def _stopped(self, *others: Any) -> Any:
        raise Escape(Reason(f"not-modelled({self._name})"))

    # What it is, is not known: no operator may fail as if it were certain that there is none.
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = _operated
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _operated
    __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _operated
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __neg__ = __pos__ = _operated
    __invert__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = _operated
    __len__ = __iter__ = __contains__ = __int__ = __float__ = __index__ = _stopped
    __enter__ = __exit__ = __setitem__ = __delitem__ = _stopped

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{self._name}>"


class LazyFacade(Facade):
    """A facade over a mapping whose values are made when they are asked for.

    `all_names` of the mapping are the names of the real module: one that is in there but not in the
    mapping is not modelled, any other does not exist.
    """

    def __init__(self, name: str, names: Any, submodule: Callable[[str], Any]) -> None:
        super().__init__(name, {})
        self.__dict__["_names"] = names
        self.__dict__["_submodule"] = submodule

    def __getattr__(self, name: str) -> Any:
        names = self.__dict__["_names"]
        if name in names:
            value = self.__dict__[name] = names[name]
            return value
        module = self.__dict__["_submodule"](f"{self.__name__}.{name}")
        if module is not None:
            self.__dict__[name] = module
            return module
        if name in names.all_names:
            return not_modelled(f"{self.__name__}.{name}")
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class UnmodelledMeta(ABCMeta):
    """Classes of other packages that nobody modelled: they can be named, not used."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.__dict__.get("_unmodelled"):
            return not_modelled(f"{cls.__module__}.{cls.__name__}()")
        return super().__call__(*args, **kwargs)

    def register(cls, *args: Any, **kwargs: Any) -> Any:
        # Its own method of that name hides that of every abstract class.
        if cls.__dict__.get("_unmodelled"):
            return not_modelled(f"{cls.__module__}.{cls.__name__}.register()")
        return super().register(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        what = f"{cls.__module__}.{cls.__name__}.{name}"
        if name[0].isupper() and not name.isupper():
            # What looked like a class was a module (`PIL.Image`).
            made = unmodelled_class(what)
            type.__setattr__(cls, name, made)
            return made
        return not_modelled(what)


def _instance_attribute(self: Any, name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return not_modelled(f"{type(self).__name__}.{name}")


def unmodelled_class(what: str) -> type:
    """A class known by name only. The tree may subclass it and use it in annotations."""
    module, _, name = what.rpartition(".")
    names = {
        "__module__": module,
        "_unmodelled": True,
        "__init__": lambda self, *a, **k: None,
        "__init_subclass__": classmethod(lambda cls, **k: None),
        "__getattr__": _instance_attribute,
        "__class_getitem__": classmethod(lambda cls, item: cls),
    }
    return UnmodelledMeta(name, (), names)


def not_modelled(what: str) -> Unknown:
    """The answer of the world to a question that nobody taught it."""
    return Unknown(Reason(f"not-modelled({what})"), what)


def nondeterministic(what: str, *types: type) -> Unknown:
    """A value drawn at random, from the clock or from the machine, of one of `types`."""
    return Drawn(Reason("nondeterministic", detail=what), what, types)


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A world function that knows nothing of unknowns: given one, it answers with one."""

    def run(*args: Any, **kwargs: Any) -> Any:
        found = find_unknown([args, kwargs], 5)
        if found is not None:
            return ASK[-1].apply(function, (*args,), kwargs)
        # The library remembers answers by what it was asked, and text of the tree's own kind may
        # say that it equals any other.
        return function(
            *[a if type(a) is str else plain_text(a) for a in args],
            **{name: plain_text(a) for name, a in kwargs.items()},
        )

    run.__name__ = getattr(function, "__name__", "run")
    run.__qualname__ = getattr(function, "__qualname__", run.__name__)
    run.__doc__ = function.__doc__
    return run


def plain_text(value: Any) -> Any:
    """The value; text of a subclass, which may lie about itself, as Python's own."""
    kind = type(value)
    if issubclass(kind, str):
        return value if kind is str else str.__str__(value)
    if issubclass(kind, bytes) and kind is not bytes:
        return bytes(memoryview(value))
    return value


def own_class(value: Any) -> Any:
    """Refuse to change a class that is not the tree's."""
    if issubclass(type(value), type) and not natives.is_tree_class(value):
        raise Refused(f"changing {value.__name__}")
    return value


def changing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that sets attributes of what it is given: the tree's own only."""

    def run(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            own_class(value)
            if issubclass(type(value), FunctionType) and not access.is_tree_function(value):
                raise Refused("changing a function")
        return function(*args, **kwargs)

    run.__name__ = run.__qualname__ = getattr(function, "__name__", "run")
    return run


def public_names(
    module: ModuleType, *, without: Iterable[str] = (), lift: bool = False
) -> dict[str, Any]:
    """The public names of a pure module of the standard library, without modules inside it.

    Lists, sets and dictionaries are copies: the tree may change them.
    """
    leave = set(without)
    names: dict[str, Any] = {}
    for name in getattr(module, "__all__", None) or dir(module):
        if name in leave or name.startswith("_"):
            continue
        value = getattr(module, name)
        if issubclass(type(value), ModuleType):
            continue
        if type(value) in (list, dict, set):
            value = copy(value)
        if lift and callable(value) and not issubclass(type(value), type):
            value = lifted(value)
        names[name] = value
    return names
