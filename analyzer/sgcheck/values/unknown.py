"""A value that is not known.

An `Unknown` is no Python value: outside the interpreter every question to it raises. While the
interpreter runs, the operators below hand the question to the engine that is installed in `ASK`
(see `interp/symbolic.py`), which decides explicitly: a derived unknown, a branch, or an escape.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape


class Operations:
    """How unknowns behave. The base refuses everything; the engine installs its own."""

    @contextmanager
    def module_body(self) -> Iterator[Any]:
        """The body of a module runs: it holds on every path. Gives what explores its calls, or None."""
        yield None

    def truth(self, value: Unknown) -> bool:
        raise Escape(value.reason)

    def split(self, thunk: Callable[[], Any]) -> Any:
        """Run something once for each answer that it needs."""
        return thunk()

    def pick(self, value: Unknown) -> Any:
        """One of the values that an unknown may have."""
        raise Escape(value.reason)

    def binary(self, op: str, left: Any, right: Any) -> Any:
        raise Escape((left if issubclass(type(left), Unknown) else right).reason)

    def unary(self, op: str, value: Unknown) -> Any:
        raise Escape(value.reason)

    def attribute(self, value: Unknown, name: str) -> Any:
        raise Escape(value.reason)

    def call(self, value: Unknown, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An unknown is called."""
        raise Escape(value.reason)

    def method(
        self, value: Unknown, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A method of an unknown is called."""
        raise Escape(value.reason)

    def apply(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A known function that changes nothing is given unknowns."""
        found = find_unknown([args, kwargs])
        assert found is not None
        raise Escape(found.reason)

    def branch(self, test: Unknown, then: Any, other: Any) -> None:
        """An `if` statement whose test is not known."""
        if self.truth(test):
            then()
        elif other is not None:
            other()

    def set_attribute(self, value: Unknown, name: str, new: Any) -> None:
        """An attribute of an unknown is set."""
        raise Escape(value.reason)

    def set_item(self, value: Unknown, key: Any, new: Any) -> None:
        """An item of an unknown is set."""
        raise Escape(value.reason)

    def member(self, kind: Any, value: Unknown) -> Any:
        """The member of an enumeration that has a value."""
        raise Escape(value.reason)

    def question(self, question: str, reason: Reason) -> Any:
        """A yes-or-no question of the world, not yet decided."""
        return Unknown(reason, question)

    def ask(self, question: str, reason: Reason) -> bool:
        """A yes-or-no question of the world."""
        raise Escape(reason)

    def computed(self, escape: Escape, kind: type | None = None) -> Any:
        """What a computation over something unknown gives."""
        raise escape

    def present(self, mapping: dict[Any, Any], key: Any, value: Any) -> Any:
        """The value of a key that may be absent. Raises KeyError where it is."""
        return value

    def present_attribute(self, obj: Any, name: str, value: Any) -> Any:
        """The value of an attribute that may be absent. Raises AttributeError where it is."""
        return value

    def defaulted(self, value: Any, default: Any) -> Any:
        """`get` of a key that may be absent."""
        return value

    def overlaid(self, value: Any, mapping: dict[Any, Any], key: Any) -> Any:
        """What a key holds after an update by a value that may be absent."""
        return value

    def settle(self, mapping: dict[Any, Any]) -> None:
        """Decide for each key that may be absent whether it is there."""

    def dict_truth(self, mapping: dict[Any, Any]) -> Any:
        """Whether a dictionary is not empty."""
        return mapping

    def show(self, value: Any) -> str:
        """How a value is named in conditions."""
        return repr(value)

    def item(self, value: Unknown, key: Any) -> Any:
        raise Escape(value.reason)

    def iterate(self, value: Unknown) -> Any:
        raise Escape(value.reason)

    def concrete(self, value: Unknown) -> Any:
        """One known value (by branching), or an escape."""
        raise Escape(value.reason)


ASK: list[Operations] = [Operations()]


class _UnknownBase:
    """What a class of the tree inherits when its base is not modelled."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Unknown(Reason(f"not-modelled({type(self).__name__}.{name})"))


BIRTHS = itertools.count()
"""Numbers unknowns and plain objects in the order in which they are made."""


class Unknown:  # noqa: PLW1641 (`__hash__` is one of those that refuse)
    """An opaque unknown: only the reason is known.

    `sg_of` are the unknowns that it was computed from, none for one that is a question by itself.
    """

    __slots__ = ("label", "reason", "sg_born", "sg_of")

    def __init__(self, reason: Reason, label: str = "", of: tuple[Unknown, ...] = ()) -> None:
        object.__setattr__(self, "sg_born", next(BIRTHS))
        object.__setattr__(self, "sg_of", of)
        object.__setattr__(self, "reason", reason)
        object.__setattr__(self, "label", label or reason.code)

    def __repr__(self) -> str:
        return f"<unknown {object.__getattribute__(self, 'label')}>"

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (_UnknownBase,)

    def __bool__(self) -> bool:
        return ASK[-1].truth(self)

    def __getattr__(self, name: str) -> Any:
        if (
            name.startswith("__")
            and name.endswith("__")
            and name not in ("__name__", "__version__", "__dict__")
        ):
            raise AttributeError(name)
        return ASK[-1].attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise Escape(self.reason)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return ASK[-1].call(self, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        return ASK[-1].item(self, key)

    def __iter__(self) -> Any:
        return ASK[-1].iterate(self)

    def _native(self, *args: Any) -> NoReturn:
        raise Escape(self.reason)

    __hash__ = __len__ = __index__ = __int__ = __float__ = __str__ = __format__ = _native
    __contains__ = __enter__ = __exit__ = __fspath__ = __next__ = _native

    def __deepcopy__(self, memo: Any) -> Unknown:
        return self

    def __copy__(self) -> Unknown:
        return self

    def __eq__(self, other: Any) -> Any:
        return ASK[-1].binary("==", self, other)

    def __ne__(self, other: Any) -> Any:
        return ASK[-1].binary("!=", self, other)


def _binary(op: str, reflected: bool) -> Any:
    if reflected:
        return lambda self, other: ASK[-1].binary(op, other, self)
    return lambda self, other: ASK[-1].binary(op, self, other)


for _name, _op in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Unknown, f"__{_name}__", _binary(_op, False))
for _name, _op in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@",
}.items():  # fmt: skip
    setattr(Unknown, f"__{_name}__", _binary(_op, False))
    setattr(Unknown, f"__r{_name}__", _binary(_op, True))
for _name, _op in {"neg": "-", "pos": "+", "invert": "~", "abs": "abs"}.items():
    setattr(Unknown, f"__{_name}__", lambda self, _op=_op: ASK[-1].unary(_op, self))


class PlainObject:
    """What `object()` gives in the tree: mostly a sentinel.

    An unknown that was there before it cannot stand for it.
    """

    __slots__ = ("sg_born",)

    def __init__(self) -> None:
        self.sg_born = next(BIRTHS)

    def __repr__(self) -> str:
        return f"<object object at {id(self):#x}>"


PlainObject.__name__ = PlainObject.__qualname__ = "object"


def find_unknown(value: Any, depth: int = 4) -> Unknown | None:
    """The first unknown in `value` or in its containers down to `depth`, or None."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return None
    if issubclass(kind, Unknown):
        return value  # type: ignore[no-any-return]
    if depth == 0:
        return None
    if issubclass(kind, dict):
        items: Any = [*value.keys(), *value.values()]
    elif issubclass(kind, (list, tuple, set, frozenset)):
        items = value
    else:
        return None
    for item in items:
        kind = type(item)
        if kind is str or kind is int or kind is bool or item is None:
            continue
        found = find_unknown(item, depth - 1)
        if found is not None:
            return found
    return None
