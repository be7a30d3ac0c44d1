"""Which attributes code of the tree may read and change: by list, on anything that is not its own.

An object of the tree (or of the world) leads to the running interpreter through its attributes:
functions to their globals, classes to their descriptors, tracebacks to frames. Whatever reads or
sets an attribute by name asks here first.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
import weakref
from abc import ABCMeta
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from types import (
    FrameType,
    FunctionType,
    GenericAlias,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from types import WrapperDescriptorType as SlotWrapper
from typing import Any

from sgcheck.interp import natives
from sgcheck.interp.journal import MISSING
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.syntax.names import (
    FORBIDDEN_ATTRIBUTES,
    GUARDED_ATTRIBUTES,
    HIDDEN,
    READABLE_DUNDERS,
    guard,
    is_reserved,
)
from sgcheck.values.kinds import is_a
from sgcheck.values.records import class_names, mro
from sgcheck.values.signals import Refused

MARK = guard("c")
"""The name by which the namespace of the guards is known."""
ON_LISTING = guard("listing")
"""A name of a world's module: what is called before its names are shown as a dictionary."""

ENGINE = str(Path(__file__).parent.parent)
"""Where the engine's own modules lie, as its functions' code says."""

RAW = frozenset({"__getattribute__", "__setattr__", "__delattr__"})
"""Methods that access an attribute by a name given at run time."""

_PLAIN_CLASS_NAMES = frozenset(
    {"__annotations__", "__doc__", "__module__", "__name__", "__qualname__", "__slots__"}
)
_DESCRIPTORS = frozenset({"getset_descriptor", "member_descriptor"})


def exact(name: str) -> str:
    """An attribute's name as a plain string: a subclass of `str` may lie about itself."""
    return name if type(name) is str else str.__str__(name)


def is_dunder(name: str) -> bool:
    """Whether a name is one of the language's own."""
    return name.startswith("__") and name.endswith("__") and len(name) > 4


def is_tree_function(obj: Any) -> bool:
    """Whether a function was defined by the tree."""
    if type(obj) is not FunctionType:
        return False
    space = obj.__globals__.get("__builtins__")
    return type(space) is dict and MARK in space


def tree_frame() -> FrameType:
    """The innermost frame that runs code of the tree."""
    found = frame_of_tree(sys._getframe(1))
    if found is None:
        raise Refused("no frame of the tree")
    return found


def frame_of_tree(frame: FrameType | None) -> FrameType | None:
    """The frame, or the next one further out, that runs code of the tree."""
    while frame is not None and MARK not in frame.f_builtins:
        frame = frame.f_back
    return frame


def class_attribute(cls: type, name: str) -> Any:
    """What the first class of `cls.__mro__` that has `name` holds under it, unbound; else `MISSING`."""
    for base in mro(cls):
        names = class_names(base)
        if name in names:
            return names[name]
    return MISSING


_HANDING_ON = frozenset(
    {GenericAlias, MethodType, super, weakref.ProxyType, weakref.CallableProxyType}
)
"""Types of Python's that ask, or change, another object than the one whose attribute it is."""


def _is_plain(found: Any) -> bool:
    """Whether what accesses attributes is the tree's, ours, or Python's usual way."""
    if type(found) is SlotWrapper:
        return found.__objclass__ not in _HANDING_ON
    return found is MISSING or (
        type(found) is FunctionType and (is_tree_function(found) or _is_of_the_world(found))
    )


def _is_of_the_world(function: FunctionType) -> bool:
    return function.__code__.co_filename.startswith(ENGINE)


def looks_up_plainly(cls: type) -> bool:
    """Whether an attribute of an instance is one that the object itself or its class has.

    An alias (`list[int]`), a weak proxy or a `super` hands the question on to another object.
    """
    return all(
        _is_plain(class_attribute(cls, name)) for name in ("__getattribute__", "__getattr__")
    )


def is_own(obj: Any, name: str) -> bool:
    """Whether the tree itself gave `obj` (or its class) an attribute of that name."""
    kind = type(obj)
    is_class = issubclass(kind, type)
    if not looks_up_plainly(kind):
        return False
    for base in mro(obj if is_class else kind):
        if name in class_names(base):
            return natives.is_tree_class(base)
    if kind is FunctionType:
        return name in obj.__dict__
    if issubclass(kind, ModuleType):
        return name in module_names(obj) and not is_reserved(name)
    return not is_class and natives.is_tree_class(kind) and name in getattr(obj, "__dict__", ())


def is_own_class_attribute(cls: type, name: str) -> bool:
    """Whether the first class of `cls.__mro__` that has `name` is the tree's."""
    for base in mro(cls):
        if name in class_names(base):
            return natives.is_tree_class(base)
    return False


FACES: set[type] = set()
"""Classes of the world that show a forbidden name as plain data of their own."""


def tree_subclasses(cls: type) -> list[type]:
    """`cls.__subclasses__()` of a class of the tree: those that the tree made."""
    found: list[type] = type.__subclasses__(cls)
    return [each for each in found if natives.is_tree_class(each)]


def check_read(obj: Any, name: str) -> None:
    """Refuse what may not be read. `name` is a plain string."""
    if name in FORBIDDEN_ATTRIBUTES:
        if type(obj) in FACES and not name.startswith("__"):
            return
        if name in _CARRIED:
            if _may_carry(obj):
                raise Refused(f"attribute {name}")
        elif name.startswith("__") or not is_own(obj, name):
            raise Refused(f"attribute {name}")
    elif (
        is_dunder(name)
        and name not in READABLE_DUNDERS
        and not is_own(obj, name)
        and (name in RAW or hasattr(obj, name))
    ):
        raise Refused(f"attribute {name}")


def _sets_plainly(cls: type) -> bool:
    """The same for setting. What `dataclasses` writes for a frozen class asks the next class."""
    for base in mro(cls):
        found = class_names(base).get("__setattr__")
        if found is not None and not _is_generated(found):
            return _is_plain(found)
    return True


def _is_generated(found: Any) -> bool:
    return type(found) is FunctionType and found.__code__.co_filename == "<string>"


_CARRIED = frozenset({"obj"})
"""Attributes by which an exception hands out an object of whoever raised it."""


def _may_carry(obj: Any) -> bool:
    kind = type(obj)
    if issubclass(kind, type):
        return issubclass(obj, AttributeError)
    return issubclass(kind, BaseException) or not looks_up_plainly(kind)


_USUAL_SETTER: Any = object.__setattr__


def check_write(obj: Any, name: str) -> None:
    """Refuse what may not be set or deleted. `name` is a plain string."""
    kind = type(obj)
    if issubclass(kind, _SPECIAL):
        _check_special(obj, name)
    elif (type(kind) is not type or kind.__setattr__ is not _USUAL_SETTER) and not _sets_plainly(
        kind
    ):
        # An alias or a proxy would set it on the object that it stands for.
        raise Refused(f"setting {name} through {kind.__name__}")
    elif kind in _ONES or (kind.__module__ in _EVERYBODYS and not natives.is_tree_class(kind)):
        raise Refused(f"changing {kind.__name__}.{name}")
    if name in FORBIDDEN_ATTRIBUTES and (is_dunder(name) or not is_own(obj, name)):
        raise Refused(f"attribute {name}")


_EVERYBODYS = frozenset({"typing", "typing_extensions", "functools", "ipaddress", "pathlib"})
"""Modules of Python's that have objects of their classes which all trees have in common."""
_ONES = (type(dataclasses.MISSING), type(dataclasses.KW_ONLY), enum.property)
"""Classes of which all trees have objects in common, or whose objects read what they are told to."""
_SPECIAL = (type, ModuleType, FunctionType, enum.Enum)


def _check_special(obj: Any, name: str) -> None:
    if is_a(obj, type):
        if not natives.is_tree_class(obj) and not natives.may_be_patched(obj):
            raise Refused(f"changing {obj.__name__}.{name}")
    elif is_a(obj, ModuleType):
        if is_reserved(name) or name == "__dict__" or not (is_tree_module(obj) or _is_facade(obj)):
            raise Refused(f"changing {name} of a module")
    elif type(obj) is FunctionType and not is_tree_function(obj):
        # What the world makes for one interpreter; any other function is everybody's.
        ours = obj.__globals__["__name__"].startswith("sgcheck.world") and (
            "<locals>" in obj.__qualname__
        )
        if not ours or is_dunder(name):
            raise Refused(f"changing {name} of a function")
    elif is_a(obj, enum.Enum) and not natives.is_tree_class(type(obj)):
        raise Refused(f"changing {type(obj).__name__}")


# -- namespaces ----------------------------------------------------------------------


def module_names(module: ModuleType) -> dict[str, Any]:
    """A module's own dictionary, whatever its class says."""
    found: dict[str, Any] = ModuleType.__getattribute__(module, "__dict__")
    return found


def is_tree_module(module: ModuleType) -> bool:
    """Whether a module runs under the guards."""
    space = module_names(module).get("__builtins__")
    return type(space) is dict and MARK in space


def _is_facade(module: ModuleType) -> bool:
    return "_closed" in module_names(module)


class Lazy:
    """A name bound by `from module import name` that nobody has used yet."""

    __slots__ = ("bound", "load", "module", "name", "space")

    def __init__(
        self, module: str, name: str, bound: str, space: dict[str, Any], load: Callable[..., Any]
    ) -> None:
        self.module, self.name, self.bound, self.space, self.load = module, name, bound, space, load

    def value(self) -> Any:
        """The object behind the name, which replaces it in its module."""
        found = self.load(self.module, self.name)
        if self.space.get(self.bound) is self:
            self.space[self.bound] = found
        return found


def _hidden(space: Namespace) -> dict[str, Any]:
    found: dict[str, Any] = object.__getattribute__(space, HIDDEN)
    return found


def _set_hidden(space: Namespace, names: dict[str, Any]) -> None:
    object.__setattr__(space, HIDDEN, names)


class Namespace(MutableMapping[str, Any]):
    """The names of a module or class body, without those of the guards."""

    __slots__ = (HIDDEN,)

    def __init__(self, names: dict[str, Any]) -> None:
        _set_hidden(self, names)

    def __getitem__(self, key: str) -> Any:
        if is_a(key, str) and is_reserved(exact(key)):
            raise KeyError(key)
        value = _hidden(self)[key]
        return value.value() if type(value) is Lazy else value

    def __setitem__(self, key: str, value: Any) -> None:
        self._check(key)
        if R.journal is not None:
            R.journal.space(_hidden(self), key)
        _hidden(self)[exact(key)] = value

    def __delitem__(self, key: str) -> None:
        self._check(key)
        if R.journal is not None:
            R.journal.space(_hidden(self), key)
        del _hidden(self)[exact(key)]

    def _check(self, key: Any) -> None:
        if not is_a(key, str) or is_reserved(exact(key)):
            raise Refused("changing a reserved name")

    def __iter__(self) -> Iterator[str]:
        return iter([k for k in _hidden(self) if not (is_a(k, str) and is_reserved(exact(k)))])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def copy(self) -> dict[str, Any]:
        """The names as they are now."""
        return {key: self[key] for key in self}

    def __repr__(self) -> str:
        return f"<namespace of {_hidden(self).get('__name__')}>"


def real_names(space: Any) -> dict[str, Any]:
    """The dictionary behind a namespace."""
    if type(space) is Namespace:
        return _hidden(space)
    return dict(space) if not is_a(space, dict) else space


def namespace(obj: Any) -> Any:
    """What `obj.__dict__` and `vars(obj)` are. Raises AttributeError like Python."""
    if is_a(obj, ModuleType):
        names = module_names(obj)
        if is_tree_module(obj):
            return Namespace(names)
        if _is_facade(obj):
            if ON_LISTING in names:
                names[ON_LISTING]()
            hidden = ("_", ON_LISTING)
            return MappingProxyType({k: v for k, v in names.items() if not k.startswith(hidden)})
        raise Refused("the names of a module")
    if is_a(obj, type) and not natives.is_tree_class(obj):
        return MappingProxyType({k: v for k, v in class_names(obj).items() if _is_harmless(k, v)})
    if not looks_up_plainly(type(obj)) and not natives.is_tree_class(type(obj)):
        raise Refused("the names behind an alias")
    found = obj.__dict__
    if type(obj) in _FUNCTIONS and not is_tree_function(getattr(obj, "__func__", obj)):
        return MappingProxyType(dict(found))
    return found


_REGISTER = ABCMeta.register


def registering(found: Any) -> Any:
    """What was found under the name `register`: that of an abstract class takes the tree's own only."""
    bound = type(found) is MethodType
    if (found.__func__ if bound else found) is not _REGISTER:
        return found

    def register(*args: Any) -> Any:
        cls, *others = (found.__self__, *args) if bound else args
        if not (is_a(cls, type) and natives.is_tree_class(cls)):
            raise Refused("registering with an abstract class")
        return _REGISTER(cls, *others)

    return register


_FUNCTIONS = (FunctionType, MethodType)
_SHARED = frozenset({dict, list, set})


def unshared(obj: Any, value: Any) -> Any:
    """What was read of `obj`: where that is not the tree's, a container in it is a copy."""
    if type(value) in _SHARED:
        kind = type(obj)
        if kind in _FUNCTIONS:
            foreign = not is_tree_function(getattr(obj, "__func__", obj))
        else:
            cls = obj if issubclass(kind, type) else kind
            foreign = not natives.is_tree_class(cls) and not natives.may_be_patched(cls)
        if foreign:
            return value.copy()
    return value


def _is_harmless(name: str, value: Any) -> bool:
    """Whether an entry of a foreign class's dictionary may be handed out."""
    if (
        name in FORBIDDEN_ATTRIBUTES
        or name in GUARDED_ATTRIBUTES
        or type(value).__name__ in _DESCRIPTORS
    ):
        return False
    return not is_dunder(name) or name in _PLAIN_CLASS_NAMES


# -- access by name --------------------------------------------------------------------


def raw_access(
    found: Any,
    name: str,
    read: Callable[[Any, str], Any],
) -> Any:
    """`object.__getattribute__` and its kin as a value: the same, with every name checked.

    `found` is what Python has under `name`; `read` reads an attribute through the guards.
    """
    if is_tree_function(found) or (type(found) is MethodType and is_tree_function(found.__func__)):
        return found
    bound = type(found) in (MethodType, MethodWrapperType)
    if not bound and type(found) not in (SlotWrapper, FunctionType):
        raise Refused(f"attribute {name}")

    def access(*args: Any) -> Any:
        target, rest = (found.__self__, args) if bound else (args[0], args[1:])
        if is_a(target, super):
            target = target.__self__  # type: ignore[attr-defined]
        if not rest or not is_a(rest[0], str):
            raise Refused("attribute by a strange name")
        key = exact(rest[0])
        values = (key, *rest[1:])
        if name == "__getattribute__":
            check_read(target, key)
            if key == "__dict__" or key in RAW:
                return read(target, key)
        else:
            check_write(target, key)
            if key == "__del__":
                return None
            if R.journal is not None:
                R.journal.attr(target, key)
        return found(*values) if bound else found(args[0], *values)

    access.__name__ = access.__qualname__ = name
    return access
