"""A set of the values that a question may have."""

from __future__ import annotations

from collections.abc import Hashable


class ValueSet:
    """A finite set of values, or (`others`) everything but a finite set. Not to be changed.

    For people and for questions to single values; conditions themselves count in bits.
    """

    __slots__ = ("_key", "others", "values")

    def __init__(self, values: frozenset[Hashable], others: bool = False) -> None:
        self.values = values
        self.others = others
        self._key: tuple[bool, list[str]] | None = None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ValueSet)
            and self.others is other.others
            and self.values == other.values
        )

    def __hash__(self) -> int:
        return hash((self.values, self.others))

    def __repr__(self) -> str:
        return f"{'~' if self.others else ''}{{{', '.join(self.sort_key()[1])}}}"

    def __and__(self, other: ValueSet) -> ValueSet:
        if self.others and other.others:
            return ValueSet(self.values | other.values, True)
        if self.others:
            return ValueSet(other.values - self.values)
        if other.others:
            return ValueSet(self.values - other.values)
        return ValueSet(self.values & other.values)

    def __or__(self, other: ValueSet) -> ValueSet:
        if self.others and other.others:
            return ValueSet(self.values & other.values, True)
        if self.others:
            return ValueSet(self.values - other.values, True)
        if other.others:
            return ValueSet(other.values - self.values, True)
        return ValueSet(self.values | other.values)

    def __invert__(self) -> ValueSet:
        return ValueSet(self.values, not self.others)

    def __bool__(self) -> bool:
        return self.others or bool(self.values)

    def __contains__(self, value: Hashable) -> bool:
        return (value in self.values) != self.others

    def meets(self, other: ValueSet) -> bool:
        """Whether some value is in both: `bool(self & other)`."""
        if self.others:
            return other.others or not other.values <= self.values
        if other.others:
            return not self.values <= other.values
        return not self.values.isdisjoint(other.values)

    def sort_key(self) -> tuple[bool, list[str]]:
        """A stable order."""
        if self._key is None:
            self._key = self.others, sorted(map(repr, self.values))
        return self._key
