"""Unknowns of which something is known: a test, a choice, a fact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import Condition, Variable
from sgcheck.values.unknown import Unknown

BRANCHES = Reason("depends")


class Test(Unknown):
    """True exactly where `condition` holds."""

    __slots__ = ("condition",)

    def __init__(self, condition: Condition, label: str = "test") -> None:
        super().__init__(BRANCHES, label)
        object.__setattr__(self, "condition", condition)


class Choice(Unknown):
    """One of several values, each under its condition; the conditions exclude each other.

    The value may be `journal.MISSING` inside a dictionary: then the key may be absent.
    """

    __slots__ = ("cases",)

    def __init__(self, cases: tuple[tuple[Condition, Any], ...], label: str = "choice") -> None:
        super().__init__(BRANCHES, label)
        object.__setattr__(self, "cases", cases)


class Text(Unknown):
    """A text of which parts are not known: its label tells it apart, `sg_words` is for people."""

    __slots__ = ("sg_words",)

    def __init__(
        self, reason: Reason, label: str, words: str, of: tuple[Unknown, ...] = ()
    ) -> None:
        super().__init__(reason, label, of)
        object.__setattr__(self, "sg_words", words)


class Typed(Unknown):
    """An unknown whose possible types are known (`types`; empty: they are not)."""

    __slots__ = ("types",)

    def __init__(
        self,
        reason: Reason,
        label: str,
        types: tuple[type, ...],
        of: tuple[Unknown, ...] = (),
    ) -> None:
        super().__init__(reason, label, of)
        object.__setattr__(self, "types", types)


class Drawn(Typed):
    """A value drawn at random, from the clock or from the machine: nobody can know it beforehand.

    Two of them are never known to be equal.
    """

    __slots__ = ()


class DrawnObject(Drawn):
    """A drawn object, of whose attributes (`sg_parts`, by name) the types are known."""

    __slots__ = ("sg_parts",)

    def __init__(self, reason: Reason, label: str, parts: Mapping[str, type]) -> None:
        super().__init__(reason, label, ())
        found = {name: Drawn(reason, f"{label}.{name}", (kind,)) for name, kind in parts.items()}
        object.__setattr__(self, "sg_parts", found)


def part_of(value: Unknown, name: str) -> Unknown | None:
    """An attribute of a drawn object, where its type is known."""
    if not isinstance(value, DrawnObject):
        return None
    parts: dict[str, Unknown] = object.__getattribute__(value, "sg_parts")
    return parts.get(name)


class Symbol(Typed):
    """A fact that the user did not give: the value of one variable."""

    __slots__ = ("variable",)

    def __init__(self, variable: Variable, reason: Reason, types: tuple[type, ...] = ()) -> None:
        super().__init__(reason, variable.name, types)
        object.__setattr__(self, "variable", variable)


class Fact(Unknown):
    """An unknown with structure of its own (a model's configuration): it answers by itself.

    Its methods start with `sg_`, so that they hide no attribute of the thing that it stands for.
    `ops` is the engine that asks.
    """

    __slots__ = ()

    sg_types: tuple[type, ...] = ()
    """The types that it can have where it is calculated with; empty: they are not known."""

    def sg_read(self, ops: Any, name: str) -> Any:
        """The attribute `name`."""
        raise NotImplementedError

    def sg_truth(self, ops: Any) -> Condition:
        """The condition under which it is true."""
        raise NotImplementedError

    def sg_has(self, ops: Any, name: str) -> Condition:
        """The condition under which the attribute is there."""
        raise NotImplementedError

    def sg_getattr(self, ops: Any, name: str, *default: Any) -> Any:
        """`getattr(self, name[, default])`."""
        raise NotImplementedError

    def sg_set(self, ops: Any, name: str, value: Any) -> None:
        """An attribute is set."""
        raise NotImplementedError

    def sg_method(self, ops: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A method is called."""
        raise NotImplementedError

    def sg_call(self, ops: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """It is called; NotImplemented where nothing is known of the result."""
        return NotImplemented

    def sg_item(self, ops: Any, key: Any) -> Any:
        """`self[key]`."""
        raise NotImplementedError

    def sg_set_item(self, ops: Any, key: Any, value: Any) -> None:
        """`self[key] = value`."""
        raise NotImplementedError

    def sg_contains(self, ops: Any, key: Any) -> Condition:
        """The condition under which `key in self`."""
        raise NotImplementedError

    def sg_equal(self, ops: Any, other: Any) -> Condition | None:
        """The condition under which it equals a known value; None: by the fact's name."""
        return None

    def sg_identical(self, ops: Any, other: Any) -> Condition | None:
        """The condition under which `self is other`; None where that is a question of its own."""
        return None

    def sg_isinstance(self, ops: Any, classes: tuple[Any, ...]) -> Any:
        """`isinstance(self, classes)`, or NotImplemented."""
        return NotImplemented
