"""A method of an unknown object that is read before it is called: `get = config.get`."""

from __future__ import annotations

from typing import Any

from sgcheck.values.condition import FALSE, TRUE, Condition
from sgcheck.values.symbols import Fact
from sgcheck.values.unknown import Unknown


class FactMethod(Fact):
    """A method of a fact, read without being called yet."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Fact, name: str) -> None:
        super().__init__(owner.reason, f"{owner.label}.{name}")
        object.__setattr__(self, "owner", owner)
        object.__setattr__(self, "name", name)

    def sg_call(self, ops: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        owner: Fact = object.__getattribute__(self, "owner")
        return owner.sg_method(ops, object.__getattribute__(self, "name"), args, kwargs)

    def sg_truth(self, ops: Any) -> Condition:
        return TRUE

    def sg_equal(self, ops: Any, other: Any) -> Condition:
        return TRUE if other is self else FALSE

    def sg_identical(self, ops: Any, other: Any) -> Condition:
        return TRUE if other is self else FALSE

    def sg_read(self, ops: Any, name: str) -> Any:
        return Unknown(self.reason, f"{self.label}.{name}")

    def sg_item(self, ops: Any, key: Any) -> Any:
        raise TypeError("'method' object is not subscriptable")
