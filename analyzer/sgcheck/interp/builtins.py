"""The builtins of translated code: what is harmless as it is, and guarded versions of the rest."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from sgcheck.interp import access, constructors, guards, iterators, natives
from sgcheck.interp.access import Namespace, tree_frame
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.resolve.resolution import Reason
from sgcheck.syntax.names import is_reserved
from sgcheck.values.signals import Refused
from sgcheck.values.unknown import ASK, Unknown

_MISSING = object()


def _globals() -> Namespace:
    return Namespace(tree_frame().f_globals)


def _locals() -> Any:
    frame = tree_frame()
    if (
        frame.f_code.co_flags & inspect.CO_NEWLOCALS
        and frame.f_code.co_flags & inspect.CO_OPTIMIZED
    ):
        return {k: v for k, v in frame.f_locals.items() if not is_reserved(k)}
    return Namespace(frame.f_locals)


def _vars(*args: Any) -> Any:
    if not args:
        return _locals()
    if issubclass(type(args[0]), Unknown):
        return ASK[-1].attribute(args[0], "__dict__")
    return access.namespace(args[0]) if hasattr(args[0], "__dict__") else vars(args[0])


def _dir(*args: Any) -> Any:
    if not args:
        return sorted(_locals())
    return [n for n in dir(args[0]) if not is_reserved(n)]


def _getattr(obj: Any, name: Any, default: Any = _MISSING, /) -> Any:
    if issubclass(type(obj), Unknown):
        if default is _MISSING:
            return ASK[-1].attribute(obj, name)
        return ASK[-1].apply(
            getattr,
            (
                obj,
                name,
                default,
            ),
            {},
        )
    if issubclass(type(name), Unknown):
        name = ASK[-1].concrete(name)
    if default is _MISSING:
        return guards.attribute(obj, name)
    try:
        return guards.attribute(obj, name)
    except AttributeError:
        return default


def _hasattr(obj: Any, name: Any) -> Any:
    if issubclass(type(obj), Unknown):
        return ASK[-1].apply(
            hasattr,
            (
                obj,
                name,
            ),
            {},
        )
    if issubclass(type(name), Unknown):
        name = ASK[-1].concrete(name)
    try:
        guards.attribute(obj, name)
    except AttributeError:
        return False
    return True


def _setattr(obj: Any, name: Any, value: Any) -> None:
    if issubclass(type(name), Unknown):
        name = ASK[-1].concrete(name)
    if issubclass(type(obj), Unknown):
        ASK[-1].set_attribute(obj, name, value)
        return
    if not issubclass(type(name), str):
        raise TypeError("attribute name must be string")
    guards.write_attribute(obj, name, value, tree_frame() if R.on_write is not None else None)


def _delattr(obj: Any, name: Any) -> None:
    guards.del_attribute(obj, name)


def _isinstance(obj: Any, cls: Any) -> Any:
    kind = type(cls)
    if kind is type and not issubclass(type(obj), Unknown):
        return isinstance(obj, cls)
    if issubclass(type(obj), Unknown) or issubclass(kind, Unknown):
        return ASK[-1].apply(
            isinstance,
            (
                obj,
                cls,
            ),
            {},
        )
    if type(cls) is not tuple:
        if isinstance(cls, type) and cls.__dict__.get("_unmodelled") and not _certainly_plain(obj):
            if isinstance(obj, cls):
                return True
            name = f"{cls.__module__}.{cls.__name__}"
            return Unknown(
                Reason(f"not-modelled({name})"), f"isinstance({ASK[-1].show(obj)}, {name})"
            )
    else:
        for part in cls:
            if type(part) is not type and issubclass(type(part), Unknown):
                known = tuple(c for c in cls if not issubclass(type(c), Unknown))
                return isinstance(obj, known) or ASK[-1].apply(isinstance, (obj, part), {})
    return isinstance(obj, cls)


def _certainly_plain(obj: Any) -> bool:
    """An object whose class is known not to derive from a class of some other package."""
    kind = type(obj)
    return kind.__module__ == "builtins" or natives.is_tree_class(kind)


def _issubclass(obj: Any, cls: Any) -> Any:
    for value in (obj, *(cls if type(cls) is tuple else (cls,))):
        if issubclass(type(value), Unknown):
            return ASK[-1].apply(
                issubclass,
                (
                    obj,
                    cls,
                ),
                {},
            )
    return issubclass(obj, cls)


def _len(obj: Any) -> Any:
    if issubclass(type(obj), Unknown):
        return ASK[-1].apply(len, (obj,), {})
    return len(guards.iterated(obj))


def _lift(native: Callable[..., Any]) -> Callable[..., Any]:
    name = native.__name__
    walks = name in ("enumerate", "reversed", "zip")

    def run(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if issubclass(type(value), Unknown):
                return ASK[-1].apply(native, (*args,), kwargs)
        if walks and R.region is not None:
            return iterators.combined(native, args, kwargs)
        return guards.native_call(native, args, kwargs)

    run.__name__ = run.__qualname__ = name
    if walks:
        iterators.WALKING.add(run)
    return run


def _keyed(native: Callable[..., Any]) -> Callable[..., Any]:
    """`min`, `max`, `sorted`: the key is called under guard."""
    lifted = _lift(native)

    def run(*args: Any, key: Any = None, **kwargs: Any) -> Any:
        if len(args) == 1:
            args = (constructors.limited(args[0]),)
        if key is None:
            return lifted(*args, **kwargs)
        return lifted(*args, key=lambda value: guards.call(key, value), **kwargs)

    run.__name__ = run.__qualname__ = native.__name__
    return run


def _over(native: Callable[..., Any]) -> Callable[..., Any]:
    """A function that consumes an iterable: its elements are counted."""

    def run(elements: Any, *args: Any, **kwargs: Any) -> Any:
        return native(constructors.limited(elements), *args, **kwargs)

    run.__name__ = run.__qualname__ = native.__name__
    return _lift(run)


def _map(function: Any, *iterables: Any) -> Any:
    for value in iterables:
        if issubclass(type(value), Unknown):
            return ASK[-1].apply(map, (function, *iterables), {})
    if R.region is not None:
        return iterators.mapped(partial(guards.call, function), iterables)
    sources = [iter(i) for i in iterables]

    def results() -> Any:
        for values in zip(*sources, strict=False):
            guards.tick()
            yield guards.call(function, *values)

    return results()


def _filter(function: Any, elements: Any) -> Any:
    if issubclass(type(elements), Unknown):
        return ASK[-1].apply(filter, (function, elements), {})
    if R.region is not None:
        test = bool if function is None else partial(guards.call, function)
        return iterators.filtered(test, elements)
    source = iter(elements)

    def results() -> Any:
        for value in source:
            guards.tick()
            if value if function is None else guards.call(function, value):
                yield value

    return results()


def _build_class(body: Any, name: str, *bases: Any, **options: Any) -> Any:
    """The statement `class`. A namespace of the tree's own making could hide the guards."""
    metaclass = options.get("metaclass")
    for candidate in (metaclass, *(type(b) for b in bases)):
        prepare = getattr(candidate, "__prepare__", None) if candidate is not None else None
        if prepare is not None and not _is_foreign(prepare):
            raise Refused("__prepare__")
    made = builtins.__build_class__(body, name, *bases, **options)
    return natives.without_destructor(made)


def _is_foreign(function: Any) -> bool:
    """Whether a function is a builtin one, or one of a package outside the tree."""
    inner = function.__func__ if issubclass(type(function), MethodType) else function
    if issubclass(type(inner), FunctionType):
        return not access.is_tree_function(inner)
    return type(inner) is natives.BUILTIN


class Interrupted(BaseException):
    """What the tree sees as `KeyboardInterrupt`: the real one belongs to the user."""

    __module__ = "builtins"
    __qualname__ = "KeyboardInterrupt"


Interrupted.__name__ = "KeyboardInterrupt"


def _iter(obj: Any, *sentinel: Any) -> Any:
    if issubclass(type(obj), Unknown):
        return ASK[-1].iterate(obj)
    if not sentinel:
        return iter(obj) if R.region is None else iterators.walked(obj)

    def calls() -> Any:
        while True:
            guards.tick()
            value = guards.call(obj)
            if value == sentinel[0]:
                return
            yield value

    return calls()


def _print(*args: Any, **kwargs: Any) -> None:
    return None


def _refused(name: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        raise Refused(f"{name}()")

    run.__name__ = run.__qualname__ = name
    return run


def _hash(obj: Any) -> int:
    if issubclass(type(obj), Unknown):
        return hash(ASK[-1].concrete(obj))
    return hash(obj)


_AS_THEY_ARE = (
    "abs ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter "
    "float frozenset hex id int list locals map memoryview next object oct ord property range repr "
    "reversed round set slice sorted staticmethod str super tuple type zip __build_class__ "
    "NotImplemented Ellipsis None True False __debug__ __name__"
).split()
_LIFTED = (
    "abs",
    "min",
    "max",
    "sum",
    "sorted",
    "round",
    "divmod",
    "repr",
    "ascii",
    "ord",
    "chr",
    "hex",
    "bin",
    "oct",
    "reversed",
    "enumerate",
    "zip",
    "next",
    "callable",
)


def make_builtins(extra: dict[str, Any]) -> dict[str, Any]:
    """The `__builtins__` of one interpreter; `extra` holds the guards that belong to it."""
    space: dict[str, Any] = {name: getattr(builtins, name) for name in _AS_THEY_ARE}
    for name, value in vars(builtins).items():
        if issubclass(type(value), type) and issubclass(value, BaseException):
            space[name] = value
    for name in _LIFTED:
        space[name] = _lift(getattr(builtins, name))
    for name in ("min", "max", "sorted"):
        space[name] = _keyed(getattr(builtins, name))
    for name in ("sum", "any", "all"):
        space[name] = _over(getattr(builtins, name))
    space.update(
        {
            "globals": _globals,
            "locals": _locals,
            "map": _map,
            "filter": _filter,
            "KeyboardInterrupt": Interrupted,
            "__build_class__": _build_class,
            "vars": _vars,
            "dir": _dir,
            "getattr": _getattr,
            "hasattr": _hasattr,
            "setattr": _setattr,
            "delattr": _delattr,
            "isinstance": _isinstance,
            "issubclass": _issubclass,
            "len": _len,
            "iter": _iter,
            "print": _print,
            "hash": _hash,
            "pow": lambda *a: guards.power(*a) if len(a) == 2 else pow(*a),
            "format": lambda value, spec="": guards.formatted((value, -1, spec)),
        }
    )
    for name in (
        "eval",
        "exec",
        "compile",
        "input",
        "breakpoint",
        "open",
        "exit",
        "quit",
    ):
        space[name] = _refused(name)
    space.update(guards.BUILTIN_GUARDS)
    space.update(extra)
    return space
