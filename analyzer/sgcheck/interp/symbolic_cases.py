"""Values under conditions: how they are shown, told apart and joined."""

from __future__ import annotations

import enum
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from sgcheck.interp.runtime import RUNTIME
from sgcheck.interp.symbolic_values import (
    FALSY,
    NUMBERS,
    alike,
    blame,
    derived,
    is_number,
    is_open_number,
    is_scalar,
    possible,
    types_of,
    unanswerable,
)
from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import FALSE, TRUE, Condition, Space
from sgcheck.values.kinds import is_a
from sgcheck.values.symbols import Choice, Fact, Symbol, Test
from sgcheck.values.unknown import Operations, Unknown


class Scope:
    """What held where a region was entered; conditions inside it are relative to that.

    Conditions stay small this way, and the whole is only made where somebody needs it.
    """

    __slots__ = ("_whole", "local", "outer")

    def __init__(self, outer: Scope | None, local: Condition) -> None:
        self.outer = outer
        self.local = local
        self._whole: Condition | None = None

    def whole(self, space: Space) -> Condition:
        """The conjunction of everything that held."""
        if self._whole is None:
            outer = TRUE if self.outer is None else self.outer.whole(space)
            self._whole = space.both(outer, self.local)
        return self._whole


def _cases_key(cases: Cases, choice: Choice) -> Any:
    """What a choice of plain values shares with every other choice of the same ones, else None."""
    if all(is_scalar(case) or issubclass(type(case), Unknown) for _, case in choice.cases):
        return tuple((id(condition), cases.show(case)) for condition, case in choice.cases)
    return None


class Cases(Operations):
    """Answers that need no branch; `decide` and `choose` are the explorer's."""

    def __init__(self, space: Space | None = None) -> None:
        self.space = space if space is not None else Space()
        self.scope: Scope | None = None
        self.local: Condition = TRUE
        self._objects: dict[Any, tuple[Any, int]] = {}
        self._numbers: dict[Any, Unknown] = {}
        self.numbered = 0
        """Values that were computed from unknowns so far. A run that is made again counts as the run
        before it did: what it computes again is the same unknown, and no other run has both."""

    # -- where this path is ------------------------------------------------------------

    @property
    def path(self) -> Condition:
        """Everything that holds on this path."""
        if self.scope is None:
            return self.local
        return self.space.both(self.scope.whole(self.space), self.local)

    def possible(self, condition: Condition) -> bool:
        """Whether a condition can hold on this path."""
        if condition is FALSE:
            return False
        scope = self.scope
        here = self.space.both(self.local, condition)
        if here is FALSE or scope is None:
            return here is not FALSE
        return self.space.meet(scope.whole(self.space), here)

    # -- to be provided by the explorer ------------------------------------------------

    def decide(self, condition: Condition) -> bool:
        """Whether a condition holds on this path; branches where both are possible."""
        raise NotImplementedError

    def choose(self, options: Sequence[Condition]) -> int:
        """Which of several exclusive conditions holds on this path."""
        raise NotImplementedError

    def split(self, thunk: Callable[[], Any]) -> Any:
        """Run something once for each answer it needs, and join the ends."""
        if RUNTIME.region is not None:
            return RUNTIME.region(thunk, (), {})
        return thunk()

    # -- helpers -------------------------------------------------------------------

    def show(self, value: Any) -> str:
        if issubclass(type(value), Test):
            return f"test {self._number(value.condition)}"
        if issubclass(type(value), Choice):
            return f"choice {self._number(value, _cases_key(self, value))}"
        if issubclass(type(value), Unknown):
            return str(object.__getattribute__(value, "label"))
        if is_scalar(value):
            text = str(value) if issubclass(type(value), enum.Enum) else repr(value)
            return text if len(text) <= 80 else f"{text[:60]}…{zlib.crc32(text.encode()):08x}"
        if issubclass(type(value), list | tuple | set | frozenset) and len(value) <= 8:
            inner = ", ".join(
                self.show(v)
                for v in (
                    sorted(value, key=repr) if issubclass(type(value), set | frozenset) else value
                )
            )
            return f"({inner})"
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if is_a(name, str):
            return name
        return f"{type(value).__name__} {self._number(value)}"

    def _number(self, value: Any, key: Any = None) -> int:
        """A number for an object; the same one whenever it, or one with its key, is asked for."""
        key = id(value) if key is None else key
        return self._objects.setdefault(key, (value, len(self._objects) + 1))[1]

    def flag(self, label: str, reason: Reason) -> Condition:
        """The condition "`label` is true", a question of its own."""
        variable = self.space.variable(label, (True, False), unanswerable(reason), "flag")
        return self.space.among(variable, [True])

    def test(self, condition: Condition) -> Any:
        """A test as a value; True or False where the path already decides it."""
        if not self.possible(condition):
            return False
        if not self.possible(self.space.negate(condition)):
            return True
        return Test(condition)

    def cases(self, value: Any) -> list[tuple[Condition, Any]]:
        """The possible values on this path, with their conditions."""
        if not issubclass(type(value), Choice):
            return [(TRUE, value)]
        out = []
        for condition, case in value.cases:
            if self.possible(condition):
                out.append((condition, case))
        return out

    def choice(self, cases: Sequence[tuple[Condition, Any]]) -> Any:
        """A value from cases: equal ones joined, nested choices flattened."""
        flat: list[tuple[Condition, Any]] = []
        for condition, value in cases:
            inner = self.cases(value) if issubclass(type(value), Choice) else [(TRUE, value)]
            for more, case in inner:
                both = self.space.both(condition, more)
                if both is not FALSE:
                    flat.append((both, case))
        joined: list[tuple[Condition, Any]] = []
        for condition, value in flat:
            for index, (known, other) in enumerate(joined):
                if alike(value, other):
                    joined[index] = (self.space.either(known, condition), other)
                    break
            else:
                joined.append((condition, value))
        if len(joined) > 1:
            joined = self._collapse(joined)
        if len(joined) == 1:
            return joined[0][1]
        if joined and all(issubclass(type(v), bool | Test) for _, v in joined):
            return self.test(
                self.space.any_of(self.space.both(c, self.condition_of(v)) for c, v in joined)
            )
        return Choice(tuple(joined))

    def _collapse(self, cases: list[tuple[Condition, Any]]) -> list[tuple[Condition, Any]]:
        """Numbers that depend on the model's facts in several ways become one open number.

        Which formula gives it rarely matters; keeping every one would multiply with each step.
        """
        numbers = [(c, v) for c, v in cases if is_open_number(v)]
        if len(numbers) < 2 or not any(issubclass(type(v), Unknown) for _, v in numbers):
            return cases
        reason = next(blame(v) for _, v in numbers if issubclass(type(v), Unknown))
        of = "inputs" if reason.code == "input-unknown" else "model"
        key = tuple(sorted((self._number(c), self.show(v)) for c, v in numbers))
        number = self._numbers.get(key)
        if number is None:
            label = f"number {len(self._numbers) + 1} derived from the {of}"
            if all(is_number(v) for _, v in numbers):
                types: tuple[type, ...] = NUMBERS
            else:
                found = [types_of(v) for _, v in numbers]
                types = tuple(dict.fromkeys(t for f in found for t in f)) if all(found) else ()
            number = self._numbers[key] = derived(label, *(v for _, v in numbers), types=types)
        kept = [(c, v) for c, v in cases if not is_open_number(v)]
        return [*kept, (self.space.any_of(c for c, _ in numbers), number)]

    def condition_of(self, value: Any) -> Condition:
        """The condition under which a value is true."""
        if issubclass(type(value), Test):
            mine: Condition = value.condition
            return mine
        if issubclass(type(value), Choice):
            return self.space.any_of(
                self.space.both(c, self.condition_of(v)) for c, v in self.cases(value)
            )
        if issubclass(type(value), Symbol):
            return self.symbol_truth(value)
        if is_a(value, Fact):
            return value.sg_truth(self)
        if issubclass(type(value), Unknown):
            variable = self.space.variable(value.label, None, unanswerable(value.reason), "value")
            if variable.domain is not None:
                return self.space.among(variable, [v for v in variable.domain if v])
            return self.space.negate(self.space.among(variable, FALSY))
        if type(value) is dict:
            truth = self.dict_truth(value)
            return self.condition_of(truth) if truth is not value else TRUE if value else FALSE
        return TRUE if value else FALSE

    def symbol_truth(self, value: Symbol) -> Condition:
        """Truth of a fact: false for None, False, 0 and the empty string."""
        if value.variable.domain is not None:
            return self.space.among(value.variable, [v for v in value.variable.domain if v])
        falsy = possible(value, [None, False, 0, ""])
        return self.space.negate(self.space.among(value.variable, falsy))
