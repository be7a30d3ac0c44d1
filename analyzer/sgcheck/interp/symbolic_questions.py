"""Questions about unknowns whose answer is a condition: equality, identity, membership."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from sgcheck.interp import typed
from sgcheck.interp.journal import MISSING
from sgcheck.interp.symbolic_cases import Cases
from sgcheck.interp.symbolic_values import alike, is_scalar, possible, unanswerable
from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import FALSE, TRUE, Condition
from sgcheck.values.kinds import is_a
from sgcheck.values.signals import EngineSignal, Escape
from sgcheck.values.symbols import Choice, Drawn, Fact, Symbol, Test, Typed
from sgcheck.values.unknown import Unknown, find_unknown


class Questions(Cases):
    """The questions; what Python needs decided is the explorer's."""

    # -- questions -----------------------------------------------------------------

    def truth(self, value: Unknown) -> bool:
        return self.decide(self.condition_of(value))

    def question(self, question: str, reason: Reason) -> Any:
        return self.test(self.flag(question, reason))

    def ask(self, question: str, reason: Reason) -> bool:
        return self.decide(self.flag(question, reason))

    def computed(self, escape: Escape, kind: type | None = None) -> Any:
        self.numbered += 1
        label = f"value {self.numbered} computed from the model"
        if kind is not None:
            return Typed(escape.reason, label, (kind,))
        return Unknown(escape.reason, label)

    def equal(self, left: Any, right: Any) -> Condition:
        """The condition under which `left == right`."""
        space = self.space
        if issubclass(type(left), Choice):
            return space.any_of(space.both(c, self.equal(v, right)) for c, v in self.cases(left))
        if issubclass(type(right), Choice):
            return space.any_of(space.both(c, self.equal(left, v)) for c, v in self.cases(right))
        if type(left) is tuple and type(right) is tuple and find_unknown([left, right]) is not None:
            if len(left) != len(right):
                return FALSE
            result = TRUE
            for a, b in zip(left, right, strict=True):
                result = space.both(result, self.equal(a, b))
            return result
        if not issubclass(type(left), Unknown) and not issubclass(type(right), Unknown):
            try:
                return TRUE if left == right else FALSE
            except EngineSignal:
                raise
            except Exception:
                return FALSE
        if not issubclass(type(left), Unknown):
            left, right = right, left
        if alike(left, right) and not issubclass(type(left), Drawn):
            return TRUE
        if issubclass(type(right), Unknown):
            if issubclass(type(left), Test) and issubclass(type(right), Test):
                same = space.both(left.condition, right.condition)
                neither = space.both(space.negate(left.condition), space.negate(right.condition))
                return space.either(same, neither)
            return self.flag(f"{self.show(left)} == {self.show(right)}", left.reason)
        if issubclass(type(left), Test):
            if issubclass(type(right), bool | int) and right in (0, 1):
                return left.condition if right else space.negate(left.condition)
            return FALSE
        if issubclass(type(left), Symbol):
            if is_scalar(right):
                return space.among(left.variable, possible(left, [right]))
            if self.excludes(left, right):
                return FALSE
            return self.flag(f"{left.label} == {self.show(right)}", left.reason)
        if is_a(left, Fact):
            verdict = left.sg_equal(self, right)
            if verdict is not None:
                return verdict
        if is_scalar(right):
            variable = space.variable(left.label, None, unanswerable(left.reason), "value")
            if variable.domain is None:
                return space.among(variable, [right])
        return self.flag(f"{left.label} == {self.show(right)}", left.reason)

    def excludes(self, symbol: Symbol, value: Any) -> bool:
        """Whether a fact's type says that it cannot equal an object that is no scalar."""
        return bool(symbol.types) and not issubclass(type(value), symbol.types)

    def identical(self, left: Any, right: Any) -> Condition:
        """The condition under which `left is right`."""
        if issubclass(type(left), Choice):
            return self.space.any_of(
                self.space.both(c, self.identical(v, right)) for c, v in self.cases(left)
            )
        if issubclass(type(right), Choice):
            return self.space.any_of(
                self.space.both(c, self.identical(left, v)) for c, v in self.cases(right)
            )
        if not issubclass(type(left), Unknown) and not issubclass(type(right), Unknown):
            return TRUE if left is right else FALSE
        if typed.distinct(left, right):
            return FALSE
        other = right if issubclass(type(left), Unknown) else left
        for mine, its in ((left, right), (right, left)):
            if is_a(mine, Fact):
                verdict = mine.sg_identical(self, its)
                if verdict is not None:
                    return verdict
        if issubclass(type(left), Test) or issubclass(type(right), Test):
            if not issubclass(type(other), bool | Test):
                return FALSE
            return self.equal(left, right)
        if is_scalar(other) and not issubclass(type(other), bool | enum.Enum | type(None)):
            unknown = left if issubclass(type(left), Unknown) else right
            return self.flag(f"{self.show(unknown)} is {self.show(other)}", unknown.reason)
        return self.equal(left, right)

    def membership(self, left: Any, right: Any) -> Condition:
        """The condition under which `left in right`."""
        space = self.space
        if issubclass(type(right), Choice):
            return space.any_of(
                space.both(c, self.membership(left, v)) for c, v in self.cases(right)
            )
        if is_a(right, Fact):
            return right.sg_contains(self, left)
        if issubclass(type(right), Symbol) and issubclass(type(left), str):
            return self._predicate(right, f"contains {left!r}", lambda text: left in text)
        if issubclass(type(right), Unknown):
            return self.flag(f"{self.show(left)} in {self.show(right)}", right.reason)
        if issubclass(type(left), Choice):
            return space.any_of(
                space.both(c, self.membership(v, right)) for c, v in self.cases(left)
            )
        if issubclass(type(right), dict):
            return self._key_present(left, right)
        if issubclass(type(right), list | tuple | set | frozenset) or type(right).__name__ in (
            "dict_keys",
            "dict_values",
        ):
            items = list(right)
            if issubclass(type(left), Symbol) and all(is_scalar(i) for i in items):
                return space.among(left.variable, possible(left, items))
            return space.any_of(self.equal(left, item) for item in items)
        if issubclass(type(left), Unknown) and issubclass(type(right), str):
            return self._predicate(left, f"in {right!r}", lambda text: text in right)
        if not issubclass(type(left), Unknown):
            return TRUE if left in right else FALSE
        return self.flag(f"{self.show(left)} in {self.show(right)}", left.reason)

    def _key_present(self, key: Any, mapping: dict[Any, Any]) -> Condition:
        if not issubclass(type(key), Unknown) and find_unknown(key) is None:
            if key not in mapping:
                return FALSE
            value = mapping[key]
            if issubclass(type(value), Choice) and any(v is MISSING for _, v in value.cases):
                return self.space.any_of(c for c, v in self.cases(value) if v is not MISSING)
            return TRUE
        keys = list(mapping)
        present = (
            self.space.any_of(
                self.space.both(self.equal(key, k), self._key_present(k, mapping)) for k in keys
            )
            if any(issubclass(type(mapping[k]), Choice) for k in keys)
            else None
        )
        if present is not None:
            return present
        if issubclass(type(key), Symbol) and all(is_scalar(k) for k in keys):
            return self.space.among(key.variable, possible(key, keys))
        return self.space.any_of(self.equal(key, k) for k in keys)

    def _predicate(self, value: Unknown, text: str, predicate: Callable[[Any], bool]) -> Condition:
        """A test of a fact's text: evaluated for every value that has a name, asked for the rest."""
        if issubclass(type(value), Symbol):
            known: Sequence[Hashable] = value.variable.extra.get("named", ())
            matching = [v for v in known if issubclass(type(v), str) and predicate(v)]
            rest = self.space.negate(self.space.among(value.variable, known))
            other = self.flag(f"{value.label} (another one) {text}", value.reason)
            return self.space.either(
                self.space.among(value.variable, matching), self.space.both(rest, other)
            )
        return self.flag(f"{self.show(value)} {text}", value.reason)
