"""A set some of whose elements are not known: it answers membership, nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import Condition
from sgcheck.values.symbols import Fact
from sgcheck.values.unknown import Unknown


class UnknownSet(Fact):
    """`set(items)` where an item is an unknown."""

    __slots__ = ("items",)

    def __init__(self, items: Iterable[Any], reason: Reason, label: str) -> None:
        super().__init__(reason, label)
        object.__setattr__(self, "items", tuple(items))

    def sg_contains(self, ops: Any, key: Any) -> Condition:
        items = object.__getattribute__(self, "items")
        condition: Condition = ops.space.any_of(ops.equal(item, key) for item in items)
        return condition

    def overlap(self, ops: Any, other: Any) -> Condition:
        """The condition under which an element is in `other` too."""
        items = object.__getattribute__(self, "items")
        condition: Condition = ops.space.any_of(ops.membership(item, other) for item in items)
        return condition

    def sg_truth(self, ops: Any) -> Condition:
        from sgcheck.values.condition import FALSE, TRUE

        return TRUE if object.__getattribute__(self, "items") else FALSE

    def sg_identical(self, ops: Any, other: Any) -> Condition | None:
        from sgcheck.values.condition import FALSE, TRUE

        return TRUE if other is self else FALSE

    def sg_isinstance(self, ops: Any, classes: tuple[Any, ...]) -> Any:
        return any(issubclass(type(c), type) and issubclass(set, c) for c in classes)

    def sg_method(self, ops: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name == "isdisjoint" and len(args) == 1:
            return ops.test(ops.space.negate(self.overlap(ops, args[0])))
        shown = ", ".join(ops.show(a) for a in args)
        return Unknown(self.reason, f"{self.label}.{name}({shown})")

    def sg_read(self, ops: Any, name: str) -> Any:
        return Unknown(self.reason, f"{self.label}.{name}")

    def sg_item(self, ops: Any, key: Any) -> Any:
        return Unknown(self.reason, f"{self.label}[{ops.show(key)}]")


class Overlap(Fact):
    """`unknown_set & other`: true where they have an element in common."""

    __slots__ = ("condition",)

    def __init__(self, condition: Condition, reason: Reason, label: str) -> None:
        super().__init__(reason, label)
        object.__setattr__(self, "condition", condition)

    def sg_truth(self, ops: Any) -> Condition:
        condition: Condition = object.__getattribute__(self, "condition")
        return condition

    def sg_method(self, ops: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return Unknown(self.reason, f"{self.label}.{name}()")

    def sg_read(self, ops: Any, name: str) -> Any:
        return Unknown(self.reason, f"{self.label}.{name}")
