"""What unknowns do while every answer is explored.

A question that an unknown can answer under a condition becomes a `Test` or a `Choice`; only where
Python needs one definite value does the explorer branch (`decide`, `concrete`).
"""

from __future__ import annotations

import enum
import zlib
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from sgcheck.interp import typed
from sgcheck.interp.journal import MISSING
from sgcheck.interp.runtime import RUNTIME
from sgcheck.interp.unknown_set import Overlap, UnknownSet
from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import FALSE, TRUE, Condition, Space, Variable
from sgcheck.values.signals import EngineSignal, Escape
from sgcheck.values.symbols import Choice, Drawn, Fact, Symbol, Test
from sgcheck.values.unknown import Operations, Unknown, find_unknown

_MAX_CASES = 96
_SCALARS = (str, int, float, bool, bytes, type(None), enum.Enum, complex)

FALSY = (None, False, "")
"""Values that are false; 0 and 0.0 equal False."""

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _is_open_number(value: Any) -> bool:
    if isinstance(value, Unknown):
        return type(value) is Unknown or (isinstance(value, Symbol) and value.types == (int,))
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_scalar(value: Any) -> bool:
    """A value that is compared by what it is, not by which object it is."""
    return isinstance(value, _SCALARS)


def alike(left: Any, right: Any, depth: int = 6) -> bool:
    """Whether two values cannot be told apart (unknowns: the same question)."""
    if left is right:
        return True
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return _alike_unknown(left, right)
    if type(left) is not type(right) or depth == 0:
        return False
    if is_scalar(left):
        return bool(left == right)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(
            alike(a, b, depth - 1) for a, b in zip(left, right, strict=True)
        )
    if isinstance(left, dict):
        return list(left) == list(right) and all(alike(left[k], right[k], depth - 1) for k in left)
    if isinstance(left, set | frozenset):
        return bool(left == right)
    return False


def _alike_unknown(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, Test):
        return left.condition is right.condition
    if isinstance(left, Choice):
        return len(left.cases) == len(right.cases) and all(
            c is d and alike(v, w) for (c, v), (d, w) in zip(left.cases, right.cases, strict=True)
        )
    if isinstance(left, Symbol):
        return left.variable is right.variable
    return type(left) in (Unknown, Drawn) and left.label == right.label


class SymbolicOperations(Operations):
    """Answers that need no branch; `decide` and `choose` are the explorer's."""

    def __init__(self, space: Space | None = None) -> None:
        self.space = space if space is not None else Space()
        self.path: Condition = TRUE
        self._objects: dict[int, tuple[Any, int]] = {}
        self._numbers: dict[Any, int] = {}
        self._computed = 0

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
        if isinstance(value, Test):
            return f"test {self._number(value.condition)}"
        if isinstance(value, Choice):
            return f"choice {self._number(value)}"
        if isinstance(value, Unknown):
            return str(object.__getattribute__(value, "label"))
        if is_scalar(value):
            text = str(value) if isinstance(value, enum.Enum) else repr(value)
            return text if len(text) <= 80 else f"{text[:60]}…{zlib.crc32(text.encode()):08x}"
        if isinstance(value, list | tuple | set | frozenset) and len(value) <= 8:
            inner = ", ".join(
                self.show(v)
                for v in (sorted(value, key=repr) if isinstance(value, set | frozenset) else value)
            )
            return f"({inner})"
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if isinstance(name, str):
            return name
        return f"{type(value).__name__} {self._number(value)}"

    def _number(self, value: Any) -> int:
        """A number for an object; the same one whenever it is asked for."""
        return self._objects.setdefault(id(value), (value, len(self._objects) + 1))[1]

    def opaque(self, reason: Reason, label: str) -> Unknown:
        return Unknown(reason, label)

    def flag(self, label: str, reason: Reason) -> Condition:
        """The condition "`label` is true", a question of its own."""
        variable = self.space.variable(label, (True, False), _unanswerable(reason), "flag")
        return self.space.among(variable, [True])

    def test(self, condition: Condition) -> Any:
        """A test as a value; True or False where the path already decides it."""
        both = self.space.both(self.path, condition)
        if both is FALSE:
            return False
        if both is self.path:
            return True
        return Test(condition)

    def cases(self, value: Any) -> list[tuple[Condition, Any]]:
        """The possible values on this path, with their conditions."""
        if not isinstance(value, Choice):
            return [(TRUE, value)]
        out = []
        for condition, case in value.cases:
            if self.space.both(self.path, condition) is not FALSE:
                out.append((condition, case))
        return out

    def choice(self, cases: Sequence[tuple[Condition, Any]]) -> Any:
        """A value from cases: equal ones joined, nested choices flattened."""
        flat: list[tuple[Condition, Any]] = []
        for condition, value in cases:
            inner = self.cases(value) if isinstance(value, Choice) else [(TRUE, value)]
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
        if joined and all(isinstance(v, bool | Test) for _, v in joined):
            return self.test(
                self.space.any_of(self.space.both(c, self.condition_of(v)) for c, v in joined)
            )
        return Choice(tuple(joined))

    def _collapse(self, cases: list[tuple[Condition, Any]]) -> list[tuple[Condition, Any]]:
        """Numbers that depend on the model's facts in several ways become one open number.

        Which formula gives it rarely matters; keeping every one would multiply with each step.
        """
        numbers = [(c, v) for c, v in cases if _is_open_number(v)]
        if len(numbers) < 2 or not any(isinstance(v, Unknown) for _, v in numbers):
            return cases
        reason = next(_blame(v) for _, v in numbers if isinstance(v, Unknown))
        key = tuple(sorted((self._number(c), self.show(v)) for c, v in numbers))
        label = (
            f"number {self._numbers.setdefault(key, len(self._numbers) + 1)} derived from the model"
        )
        kept = [(c, v) for c, v in cases if not _is_open_number(v)]
        return [*kept, (self.space.any_of(c for c, _ in numbers), Unknown(reason, label))]

    def condition_of(self, value: Any) -> Condition:
        """The condition under which a value is true."""
        if isinstance(value, Test):
            mine: Condition = value.condition
            return mine
        if isinstance(value, Choice):
            return self.space.any_of(
                self.space.both(c, self.condition_of(v)) for c, v in self.cases(value)
            )
        if isinstance(value, Symbol):
            return self.symbol_truth(value)
        if isinstance(value, Fact):
            return value.sg_truth(self)
        if isinstance(value, Unknown):
            variable = self.space.variable(value.label, None, _unanswerable(value.reason), "value")
            if variable.domain is not None:
                return self.space.among(variable, [v for v in variable.domain if v])
            return self.space.negate(self.space.among(variable, FALSY))
        return TRUE if value else FALSE

    def symbol_truth(self, value: Symbol) -> Condition:
        """Truth of a fact: false for None, False, 0 and the empty string."""
        if value.variable.domain is not None:
            return self.space.among(value.variable, [v for v in value.variable.domain if v])
        return self.space.negate(self.space.among(value.variable, [None, False, 0, ""]))

    # -- questions -----------------------------------------------------------------

    def truth(self, value: Unknown) -> bool:
        return self.decide(self.condition_of(value))

    def question(self, question: str, reason: Reason) -> Any:
        return self.test(self.flag(question, reason))

    def ask(self, question: str, reason: Reason) -> bool:
        return self.decide(self.flag(question, reason))

    def computed(self, escape: Escape) -> Any:
        self._computed += 1
        return Unknown(escape.reason, f"value {self._computed} computed from the model")

    def set_item(self, value: Unknown, key: Any, new: Any) -> None:
        from sgcheck.interp import guards

        if isinstance(value, Choice):
            guards.set_item(new, self.pick(value), key)
        elif isinstance(value, Fact):
            value.sg_set_item(self, key, new)
        else:
            raise Escape(_blame(value))

    def equal(self, left: Any, right: Any) -> Condition:
        """The condition under which `left == right`."""
        space = self.space
        if isinstance(left, Choice):
            return space.any_of(space.both(c, self.equal(v, right)) for c, v in self.cases(left))
        if isinstance(right, Choice):
            return space.any_of(space.both(c, self.equal(left, v)) for c, v in self.cases(right))
        if type(left) is tuple and type(right) is tuple and find_unknown([left, right]) is not None:
            if len(left) != len(right):
                return FALSE
            result = TRUE
            for a, b in zip(left, right, strict=True):
                result = space.both(result, self.equal(a, b))
            return result
        if not isinstance(left, Unknown) and not isinstance(right, Unknown):
            try:
                return TRUE if left == right else FALSE
            except EngineSignal:
                raise
            except Exception:
                return FALSE
        if not isinstance(left, Unknown):
            left, right = right, left
        if alike(left, right) and not isinstance(left, Drawn):
            return TRUE
        if isinstance(right, Unknown):
            if isinstance(left, Test) and isinstance(right, Test):
                same = space.both(left.condition, right.condition)
                neither = space.both(space.negate(left.condition), space.negate(right.condition))
                return space.either(same, neither)
            return self.flag(f"{self.show(left)} == {self.show(right)}", left.reason)
        if isinstance(left, Test):
            if isinstance(right, bool | int) and right in (0, 1):
                return left.condition if right else space.negate(left.condition)
            return FALSE
        if isinstance(left, Symbol):
            if is_scalar(right):
                return space.among(left.variable, [right])
            if self.excludes(left, right):
                return FALSE
            return self.flag(f"{left.label} == {self.show(right)}", left.reason)
        if isinstance(left, Fact):
            verdict = left.sg_equal(self, right)
            if verdict is not None:
                return verdict
        if is_scalar(right):
            variable = space.variable(left.label, None, _unanswerable(left.reason), "value")
            if variable.domain is None:
                return space.among(variable, [right])
        return self.flag(f"{left.label} == {self.show(right)}", left.reason)

    def excludes(self, symbol: Symbol, value: Any) -> bool:
        """Whether a fact's type says that it cannot equal an object that is no scalar."""
        return bool(symbol.types) and not isinstance(value, symbol.types)

    def identical(self, left: Any, right: Any) -> Condition:
        """The condition under which `left is right`."""
        if isinstance(left, Choice):
            return self.space.any_of(
                self.space.both(c, self.identical(v, right)) for c, v in self.cases(left)
            )
        if isinstance(right, Choice):
            return self.space.any_of(
                self.space.both(c, self.identical(left, v)) for c, v in self.cases(right)
            )
        if not isinstance(left, Unknown) and not isinstance(right, Unknown):
            return TRUE if left is right else FALSE
        other = right if isinstance(left, Unknown) else left
        for mine, its in ((left, right), (right, left)):
            if isinstance(mine, Fact):
                verdict = mine.sg_identical(self, its)
                if verdict is not None:
                    return verdict
        if isinstance(left, Test) or isinstance(right, Test):
            if not isinstance(other, bool | Test):
                return FALSE
            return self.equal(left, right)
        if is_scalar(other) and not isinstance(other, bool | enum.Enum | type(None)):
            unknown = left if isinstance(left, Unknown) else right
            return self.flag(f"{self.show(unknown)} is {self.show(other)}", unknown.reason)
        return self.equal(left, right)

    def membership(self, left: Any, right: Any) -> Condition:
        """The condition under which `left in right`."""
        space = self.space
        if isinstance(right, Choice):
            return space.any_of(
                space.both(c, self.membership(left, v)) for c, v in self.cases(right)
            )
        if isinstance(right, Fact):
            return right.sg_contains(self, left)
        if isinstance(right, Symbol) and isinstance(left, str):
            return self._predicate(right, f"contains {left!r}", lambda text: left in text)
        if isinstance(right, Unknown):
            return self.flag(f"{self.show(left)} in {self.show(right)}", right.reason)
        if isinstance(left, Choice):
            return space.any_of(
                space.both(c, self.membership(v, right)) for c, v in self.cases(left)
            )
        if isinstance(right, dict):
            return self._key_present(left, right)
        if isinstance(right, list | tuple | set | frozenset) or type(right).__name__ in (
            "dict_keys",
            "dict_values",
        ):
            items = list(right)
            if isinstance(left, Symbol) and all(is_scalar(i) for i in items):
                return space.among(left.variable, items)
            return space.any_of(self.equal(left, item) for item in items)
        if isinstance(left, Unknown) and isinstance(right, str):
            return self._predicate(left, f"in {right!r}", lambda text: text in right)
        if not isinstance(left, Unknown):
            return TRUE if left in right else FALSE
        return self.flag(f"{self.show(left)} in {self.show(right)}", left.reason)

    def _key_present(self, key: Any, mapping: dict[Any, Any]) -> Condition:
        if not isinstance(key, Unknown) and find_unknown(key) is None:
            if key not in mapping:
                return FALSE
            value = mapping[key]
            if isinstance(value, Choice) and any(v is MISSING for _, v in value.cases):
                return self.space.any_of(c for c, v in self.cases(value) if v is not MISSING)
            return TRUE
        keys = list(mapping)
        present = (
            self.space.any_of(
                self.space.both(self.equal(key, k), self._key_present(k, mapping)) for k in keys
            )
            if any(isinstance(mapping[k], Choice) for k in keys)
            else None
        )
        if present is not None:
            return present
        if isinstance(key, Symbol) and all(is_scalar(k) for k in keys):
            return self.space.among(key.variable, keys)
        return self.space.any_of(self.equal(key, k) for k in keys)

    def _predicate(self, value: Unknown, text: str, predicate: Callable[[Any], bool]) -> Condition:
        """A test of a fact's text: evaluated for every value that has a name, asked for the rest."""
        if isinstance(value, Symbol):
            known: Sequence[Hashable] = value.variable.extra.get("named", ())
            matching = [v for v in known if isinstance(v, str) and predicate(v)]
            rest = self.space.negate(self.space.among(value.variable, known))
            other = self.flag(f"{value.label} (another one) {text}", value.reason)
            return self.space.either(
                self.space.among(value.variable, matching), self.space.both(rest, other)
            )
        return self.flag(f"{self.show(value)} {text}", value.reason)

    # -- operators -----------------------------------------------------------------

    def binary(self, op: str, left: Any, right: Any) -> Any:
        if op == "==":
            return self.test(self.equal(left, right))
        if op == "!=":
            return self.test(self.space.negate(self.equal(left, right)))
        if op == "in":
            return self.test(self.membership(left, right))
        if op == "is":
            return self.test(self.identical(left, right))
        if op in ("f-string", "format"):
            return self._text(op, left, right)
        if op == "&":
            for mine, other in ((left, right), (right, left)):
                if isinstance(mine, UnknownSet):
                    return Overlap(
                        mine.overlap(self, other), mine.reason, f"{mine.label} & {self.show(other)}"
                    )
        native = _BINARY[op]
        known = find_unknown([left, right])
        assert known is not None
        mapped = self.map(native, [left, right])
        if mapped is not NotImplemented:
            return mapped
        label = f"({self.show(left)} {op} {self.show(right)})"
        if op in ("<", "<=", ">", ">="):
            label = f"{self.show(left)} {op} {self.show(right)}"
            return self.test(self.flag(label, _blame(known)))
        return Unknown(_blame(known), label)

    def _text(self, op: str, left: Any, right: Any) -> Any:
        if op == "f-string":
            parts = [p if isinstance(p, str) else self.show(p[0]) for p in left]
            unknown = next(
                u for p in left if not isinstance(p, str) and (u := find_unknown(p[0])) is not None
            )
            return Unknown(_blame(unknown), "".join(parts))
        return Unknown(_blame(right), f"{left} {self.show(right)}")

    def unary(self, op: str, value: Unknown) -> Any:
        if op == "not":
            return self.test(self.space.negate(self.condition_of(value)))
        natives: dict[str, Callable[[Any], Any]] = {
            "-": lambda a: -a,
            "+": lambda a: +a,
            "~": lambda a: ~a,
            "abs": abs,
        }
        mapped = self.map(natives[op], [value])
        return (
            mapped
            if mapped is not NotImplemented
            else Unknown(_blame(value), f"{op}{self.show(value)}")
        )

    def map(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """A pure function over choices, case by case; NotImplemented where that is not possible."""
        combined: list[tuple[Condition, list[Any]]] = [(TRUE, [])]
        for arg in args:
            if isinstance(arg, Test):
                cases: list[tuple[Condition, Any]] = [
                    (arg.condition, True),
                    (self.space.negate(arg.condition), False),
                ]
            elif isinstance(arg, Choice):
                cases = self.cases(arg)
            elif isinstance(arg, Unknown):
                return NotImplemented
            else:
                cases = [(TRUE, arg)]
            following = []
            for condition, values in combined:
                for more, value in cases:
                    both = self.space.both(condition, more)
                    if self.space.both(self.path, both) is not FALSE:
                        following.append((both, [*values, value]))
            combined = following
            if len(combined) > _MAX_CASES:
                return NotImplemented
        out: list[tuple[Condition, Any]] = []
        for condition, values in combined:
            if any(v is MISSING for v in values):
                return NotImplemented
            try:
                out.append((condition, self._mapped(function, values)))
            except EngineSignal:
                raise
            except Exception:
                # Some case fails: split, so that the failure belongs to its own path.
                chosen = [self.pick(a) if isinstance(a, Choice | Test) else a for a in args]
                return self._mapped(function, chosen)
        return self.choice(out)

    def _mapped(self, function: Callable[..., Any], values: list[Any]) -> Any:
        """One case of `map`; an unknown inside it makes a native function's result unknown."""
        special = _APPLY.get(function) if isinstance(function, type) else None
        if special is not None:
            answer = special(self, *values)
            if answer is not NotImplemented:
                return answer
        if isinstance(function, type) or type(function).__name__ in (
            "builtin_function_or_method",
            "method_descriptor",
        ):
            unknown = next((v for v in values if isinstance(v, Unknown)), None)
            if unknown is not None:
                return self.apply(function, tuple(values), {})
        return function(*values)

    # -- attributes, items, calls --------------------------------------------------------

    def attribute(self, value: Unknown, name: str) -> Any:
        if isinstance(value, Choice):
            from sgcheck.interp.guards import attribute as read

            mapped = self.map(lambda v: read(v, name), [value])
            if mapped is not NotImplemented:
                return mapped
        if isinstance(value, Fact):
            return value.sg_read(self, name)
        return Unknown(_blame(value), f"{self.show(value)}.{name}")

    def method(
        self, value: Unknown, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        from sgcheck.interp import guards

        if isinstance(value, Choice):
            cases = self.cases(value)
            if all(isinstance(v, str | int | float | bytes | tuple | type(None)) for _, v in cases):
                mapped = self.map(
                    lambda v, *a: guards.method(v, name, *a, **kwargs), [value, *args]
                )
                if mapped is not NotImplemented:
                    return mapped
            return self.split(lambda: guards.method(self.pick(value), name, *args, **kwargs))
        if isinstance(value, Fact):
            return value.sg_method(self, name, args, kwargs)
        lower = name in ("lower", "strip") and not args
        if lower and isinstance(value, Symbol) and "named" in value.variable.extra:
            return value
        if (
            isinstance(value, Symbol)
            and name in ("startswith", "endswith")
            and len(args) == 1
            and find_unknown(args) is None
        ):
            text = (
                f"{name[:-1]}s with {args[0]!r}"
                if name == "startswith"
                else f"ends with {args[0]!r}"
            )
            text = f"starts with {args[0]!r}" if name == "startswith" else text
            return self.test(
                self._predicate(value, text, lambda v: bool(getattr(v, name)(args[0])))
            )
        shown = ", ".join(
            [*(self.show(a) for a in args), *(f"{k}={self.show(v)}" for k, v in kwargs.items())]
        )
        return Unknown(_blame(value), f"{self.show(value)}.{name}({shown})")

    def set_attribute(self, value: Unknown, name: str, new: Any) -> None:
        from sgcheck.interp import guards

        if isinstance(value, Choice):
            guards.set_attribute(new, self.pick(value), name)
        elif isinstance(value, Fact):
            value.sg_set(self, name, new)
        else:
            raise Escape(_blame(value))

    def call(self, value: Unknown, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from sgcheck.interp import guards

        if isinstance(value, Choice):
            return self.split(lambda: guards.call(self.pick(value), *args, **kwargs))
        shown = ", ".join(
            [*(self.show(a) for a in args), *(f"{k}={self.show(v)}" for k, v in kwargs.items())]
        )
        return Unknown(_blame(value), f"{self.show(value)}({shown})")

    def apply(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        known = typed.answer(func, args, kwargs)
        if known is not NotImplemented:
            return known
        special = _APPLY.get(func)
        if special is not None:
            answer = special(self, *args, **kwargs)
            if answer is not NotImplemented:
                return answer
        if not kwargs:
            mapped = self.map(func, args)
            if mapped is not NotImplemented:
                return mapped
        unknown = find_unknown([args, kwargs], 6)
        assert unknown is not None
        shown = ", ".join(
            [*(self.show(a) for a in args), *(f"{k}={self.show(v)}" for k, v in kwargs.items())]
        )
        return Unknown(_blame(unknown), f"{getattr(func, '__name__', 'call')}({shown})")

    def item(self, value: Any, key: Any) -> Any:
        from sgcheck.interp.guards import item as read

        if isinstance(value, Choice):
            mapped = self.map(read, [value, key])
            if mapped is not NotImplemented:
                return mapped
        if isinstance(value, Fact):
            return value.sg_item(self, key)
        if isinstance(value, dict) and find_unknown(key) is not None:
            present = self.membership(key, value)
            if not self.decide(present):
                raise KeyError(self.show(key))
            return self.lookup(value, key, None)
        if isinstance(key, Choice | Test) and not isinstance(value, Unknown):
            return read(value, self.concrete(key))
        unknown = value if isinstance(value, Unknown) else key
        return Unknown(_blame(unknown), f"{self.show(value)}[{self.show(key)}]")

    def lookup(self, mapping: dict[Any, Any], key: Any, default: Any) -> Any:
        """`mapping.get(key, default)` for an unknown key."""
        cases: list[tuple[Condition, Any]] = []
        rest = TRUE
        for known, value in list(mapping.items()):
            condition = self.equal(key, known)
            if condition is FALSE:
                continue
            cases.append((condition, value))
            rest = self.space.both(rest, self.space.negate(condition))
        if rest is not FALSE:
            cases.append((rest, default))
        return self.choice(
            [
                (c, default if v is MISSING else v)
                for c, v in cases
                if self.space.both(self.path, c) is not FALSE
            ]
        )

    # -- dictionaries whose keys may be absent ---------------------------------------------

    def present(self, mapping: dict[Any, Any], key: Any, value: Any) -> Any:
        cases = self.cases(value)
        there = [(c, v) for c, v in cases if v is not MISSING]
        if len(there) == len(cases):
            return value if len(there) > 1 else there[0][1]
        if not self.decide(self.space.any_of(c for c, _ in there)):
            raise KeyError(key)
        return self.choice([(c, v) for c, v in self.cases(value) if v is not MISSING])

    def present_attribute(self, obj: Any, name: str, value: Any) -> Any:
        cases = self.cases(value)
        there = [(c, v) for c, v in cases if v is not MISSING]
        if len(there) == len(cases):
            return value if len(there) > 1 else there[0][1]
        if not self.decide(self.space.any_of(c for c, _ in there)):
            for cls in type(obj).__mro__:
                if name in cls.__dict__:
                    found = cls.__dict__[name]
                    return (
                        found.__get__(obj, type(obj)) if hasattr(type(found), "__get__") else found
                    )
            raise AttributeError(f"{type(obj).__name__!r} object has no attribute {name!r}")
        return self.choice([(c, v) for c, v in self.cases(value) if v is not MISSING])

    def defaulted(self, value: Any, default: Any) -> Any:
        return self.choice([(c, default if v is MISSING else v) for c, v in self.cases(value)])

    def overlaid(self, value: Any, mapping: dict[Any, Any], key: Any) -> Any:
        below = mapping.get(key, MISSING)
        return self.choice([(c, below if v is MISSING else v) for c, v in self.cases(value)])

    def _maybe(self, mapping: dict[Any, Any]) -> list[Any]:
        return [
            k
            for k, v in mapping.items()
            if type(v) is Choice and any(w is MISSING for _, w in self.cases(v))
        ]

    def settle(self, mapping: dict[Any, Any]) -> None:
        for key in self._maybe(mapping):
            value = mapping[key]
            there = self.space.any_of(c for c, v in self.cases(value) if v is not MISSING)
            present = self.decide(there)
            if RUNTIME.journal is not None:
                RUNTIME.journal.container(mapping)
            if present:
                mapping[key] = self.choice(
                    [(c, v) for c, v in self.cases(value) if v is not MISSING]
                )
            else:
                del mapping[key]

    def dict_truth(self, mapping: dict[Any, Any]) -> Any:
        maybe = self._maybe(mapping)
        if not maybe or len(maybe) < len(mapping):
            return mapping
        return self.test(self.space.any_of(self._key_present(k, mapping) for k in maybe))

    def iterate(self, value: Unknown) -> Any:
        return iter(self.concrete(value))

    def pick(self, value: Unknown) -> Any:
        """One case of a choice (by branching); the case itself may be unknown."""
        if isinstance(value, Choice):
            cases = self.cases(value)
            if not cases:
                raise Escape(Reason("impossible"))
            return cases[self.choose([c for c, _ in cases])][1]
        return self.concrete(value)

    def concrete(self, value: Unknown) -> Any:
        if isinstance(value, Test):
            return self.decide(value.condition)
        if isinstance(value, Choice):
            cases = self.cases(value)
            if not cases:
                raise Escape(Reason("impossible"))
            found = cases[self.choose([c for c, _ in cases])][1]
            return self.concrete(found) if isinstance(found, Unknown) else found
        if isinstance(value, Symbol) and value.variable.domain is not None:
            options = sorted(value.variable.domain, key=repr)
            feasible = [
                v
                for v in options
                if self.space.both(self.path, self.space.among(value.variable, [v])) is not FALSE
            ]
            return feasible[self.choose([self.space.among(value.variable, [v]) for v in feasible])]
        raise Escape(value.reason)


def _unanswerable(reason: Reason) -> Reason | None:
    """Reasons of facts that a user can give are none: the condition itself says what is asked."""
    return None if reason.code.startswith("model-unknown") or reason is BRANCHES_REASON else reason


def _blame(value: Unknown) -> Reason:
    """The reason to pass on: that of an unknown inside a choice, where there is one."""
    if isinstance(value, Choice):
        for _, case in value.cases:
            if isinstance(case, Unknown):
                return _blame(case)
    reason: Reason = value.reason
    return reason


def _apply_isinstance(ops: SymbolicOperations, obj: Any, cls: Any) -> Any:
    classes = cls if isinstance(cls, tuple) else (cls,)
    if isinstance(obj, Test):
        return any(issubclass(bool, c) for c in classes if isinstance(c, type))
    if isinstance(obj, Choice):
        from sgcheck.interp.builtins import _isinstance

        return ops.choice([(c, _isinstance(v, cls)) for c, v in ops.cases(obj)])
    if isinstance(obj, Fact):
        verdict = obj.sg_isinstance(ops, classes)
        if verdict is not NotImplemented:
            return verdict
    if isinstance(obj, Symbol) and obj.types and all(isinstance(c, type) for c in classes):
        verdicts = {issubclass(t, classes) for t in obj.types}
        if verdicts == {True, False} and type(None) in obj.types:
            none = ops.space.among(obj.variable, [None])
            return ops.test(none if type(None) in classes else ops.space.negate(none))
    if isinstance(obj, Unknown):
        names = " or ".join(getattr(c, "__name__", str(c)) for c in classes)
        return ops.test(ops.flag(f"{ops.show(obj)} is of type {names}", _blame(obj)))
    return NotImplemented


def _apply_getattr(ops: SymbolicOperations, obj: Any, name: Any, *default: Any) -> Any:
    if isinstance(obj, Choice):
        from sgcheck.interp.builtins import _getattr

        return ops.choice([(c, _getattr(v, name, *default)) for c, v in ops.cases(obj)])
    if isinstance(obj, Fact):
        return obj.sg_getattr(ops, name, *default)
    if default and isinstance(obj, Unknown):
        there = ops.flag(f"{ops.show(obj)} has {name}", _blame(obj))
        value = Unknown(_blame(obj), f"{ops.show(obj)}.{name}")
        return ops.choice([(there, value), (ops.space.negate(there), default[0])])
    return NotImplemented


def _apply_hasattr(ops: SymbolicOperations, obj: Any, name: Any) -> Any:
    if isinstance(obj, Choice):
        from sgcheck.interp.builtins import _hasattr

        return ops.choice([(c, _hasattr(v, name)) for c, v in ops.cases(obj)])
    if isinstance(obj, Fact):
        return ops.test(obj.sg_has(ops, name))
    if isinstance(obj, Unknown):
        return ops.test(ops.flag(f"{ops.show(obj)} has {name}", _blame(obj)))
    return NotImplemented


def _apply_get(
    ops: SymbolicOperations, mapping: dict[Any, Any], key: Any, default: Any = None
) -> Any:
    return ops.lookup(mapping, key, default) if isinstance(key, Unknown) else NotImplemented


def _apply_bool(ops: SymbolicOperations, value: Any = False) -> Any:
    return ops.test(ops.condition_of(value))


def _apply_set(ops: SymbolicOperations, *args: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], list | tuple):
        unknown = find_unknown(args[0])
        if unknown is not None:
            return UnknownSet(args[0], _blame(unknown), f"set({ops.show(args[0])})")
    return NotImplemented


def _apply_same_type(kind: type) -> Callable[..., Any]:
    def convert(ops: SymbolicOperations, value: Any, *rest: Any) -> Any:
        if isinstance(value, Symbol) and value.types == (kind,) and not rest:
            return value
        return NotImplemented

    return convert


_APPLY: dict[Any, Callable[..., Any]] = {
    isinstance: _apply_isinstance,
    getattr: _apply_getattr,
    hasattr: _apply_hasattr,
    dict.get: _apply_get,
    bool: _apply_bool,
    set: _apply_set,
    frozenset: _apply_set,
    int: _apply_same_type(int),
    str: _apply_same_type(str),
    float: _apply_same_type(float),
}
BRANCHES_REASON = Test(TRUE).reason
_ = Variable
