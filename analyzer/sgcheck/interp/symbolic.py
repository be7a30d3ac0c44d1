"""What unknowns do while every answer is explored.

A question that an unknown can answer under a condition becomes a `Test` or a `Choice`; only where
Python needs one definite value does the explorer branch (`decide`, `concrete`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from sgcheck.interp import typed
from sgcheck.interp.journal import MISSING
from sgcheck.interp.runtime import RUNTIME
from sgcheck.interp.symbolic_apply import APPLY
from sgcheck.interp.symbolic_questions import Questions
from sgcheck.interp.symbolic_values import (
    FALSY,
    NUMBERS,
    alike,
    blame,
    calculated,
    derived,
    is_scalar,
)
from sgcheck.interp.unknown_set import Overlap, UnknownSet
from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import FALSE, TRUE, Condition
from sgcheck.values.signals import EngineSignal, Escape
from sgcheck.values.spoken import spoken
from sgcheck.values.symbols import Choice, Fact, Symbol, Test, Text, part_of
from sgcheck.values.unknown import Unknown, find_unknown

__all__ = ["FALSY", "SymbolicOperations", "alike", "is_scalar"]

_MAX_CASES = 96
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


def _said(value: Any, conversion: int) -> str:
    """A part of an f-string as a user would read it."""
    known = conversion == ord("r") and find_unknown(value) is None
    return repr(value) if known else spoken(value)


class SymbolicOperations(Questions):
    """Answers that need no branch; `decide` and `choose` are the explorer's."""

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
                if issubclass(type(mine), UnknownSet):
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
            return self.test(self.flag(label, blame(known)))
        return derived(label, left, right, types=calculated(op, left, right))

    def _text(self, op: str, left: Any, right: Any) -> Any:
        if op == "f-string":
            parts = [p if issubclass(type(p), str) else self.show(p[0]) for p in left]
            held = (find_unknown(p[0]) for p in left if not issubclass(type(p), str))
            unknown = next((u for u in held if u is not None), right)
            words = "".join(p if issubclass(type(p), str) else _said(p[0], p[1]) for p in left)
            return Text(blame(unknown), "".join(parts), words, (unknown,))
        return derived(f"{left} {self.show(right)}", right)

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
            else derived(f"{op}{self.show(value)}", value, types=calculated("-", value, value))
        )

    def map(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """A pure function over choices, case by case; NotImplemented where that is not possible."""
        if not any(issubclass(type(arg), Unknown) for arg in args):
            # The unknown is inside an argument: a native function would not see what it is.
            return NotImplemented
        combined: list[tuple[Condition, list[Any]]] = [(TRUE, [])]
        for arg in args:
            if issubclass(type(arg), Test):
                cases: list[tuple[Condition, Any]] = [
                    (arg.condition, True),
                    (self.space.negate(arg.condition), False),
                ]
            elif issubclass(type(arg), Choice):
                cases = self.cases(arg)
            elif issubclass(type(arg), Unknown):
                return NotImplemented
            else:
                cases = [(TRUE, arg)]
            following = []
            for condition, values in combined:
                for more, value in cases:
                    both = self.space.both(condition, more)
                    if self.possible(both):
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
                chosen = [self.pick(a) if issubclass(type(a), Choice | Test) else a for a in args]
                return self._mapped(function, chosen)
        return self.choice(out)

    def _mapped(self, function: Callable[..., Any], values: list[Any]) -> Any:
        """One case of `map`; an unknown inside it makes a native function's result unknown."""
        special = APPLY.get(function) if issubclass(type(function), type) else None
        if special is not None:
            answer = special(self, *values)
            if answer is not NotImplemented:
                return answer
        if issubclass(type(function), type) or type(function).__name__ in (
            "builtin_function_or_method",
            "method_descriptor",
        ):
            unknown = next((v for v in values if issubclass(type(v), Unknown)), None)
            if unknown is not None:
                return self.apply(function, tuple(values), {})
        return function(*values)

    # -- attributes, items, calls --------------------------------------------------------

    def attribute(self, value: Unknown, name: str) -> Any:
        if issubclass(type(value), Choice):
            from sgcheck.interp.guards import attribute as read

            mapped = self.map(lambda v: read(v, name), [value])
            if mapped is not NotImplemented:
                return mapped
        if issubclass(type(value), Fact):
            return value.sg_read(self, name)
        part = part_of(value, name)
        if part is not None:
            return part
        return derived(f"{self.show(value)}.{name}", value)

    def method(
        self, value: Unknown, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        from sgcheck.interp import guards

        if issubclass(type(value), Choice):
            cases = self.cases(value)
            if all(
                issubclass(type(v), str | int | float | bytes | tuple | type(None))
                for _, v in cases
            ):
                mapped = self.map(
                    lambda v, *a: guards.method(v, name, *a, **kwargs), [value, *args]
                )
                if mapped is not NotImplemented:
                    return mapped
            return self.split(lambda: guards.method(self.pick(value), name, *args, **kwargs))
        if issubclass(type(value), Fact):
            return value.sg_method(self, name, args, kwargs)
        lower = name in ("lower", "strip") and not args
        if lower and issubclass(type(value), Symbol) and "named" in value.variable.extra:
            return value
        if (
            issubclass(type(value), Symbol)
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
        return derived(f"{self.show(value)}.{name}({shown})", value, args, kwargs)

    def set_attribute(self, value: Unknown, name: str, new: Any) -> None:
        from sgcheck.interp import guards

        if issubclass(type(value), Choice):
            guards.set_attribute(new, self.pick(value), name)
        elif issubclass(type(value), Fact):
            value.sg_set(self, name, new)
        else:
            raise Escape(blame(value))

    def set_item(self, value: Unknown, key: Any, new: Any) -> None:
        from sgcheck.interp import guards

        if issubclass(type(value), Choice):
            guards.set_item(new, self.pick(value), key)
        elif issubclass(type(value), Fact):
            value.sg_set_item(self, key, new)
        else:
            raise Escape(blame(value))

    def call(self, value: Unknown, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from sgcheck.interp import guards

        if issubclass(type(value), Choice):
            return self.split(lambda: guards.call(self.pick(value), *args, **kwargs))
        if issubclass(type(value), Fact):
            answer = value.sg_call(self, args, kwargs)
            if answer is not NotImplemented:
                return answer
        shown = ", ".join(
            [*(self.show(a) for a in args), *(f"{k}={self.show(v)}" for k, v in kwargs.items())]
        )
        return derived(f"{self.show(value)}({shown})", value, args, kwargs)

    def apply(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        known = typed.answer(func, args, kwargs)
        if known is not NotImplemented:
            return known
        special = APPLY.get(func)
        if special is not None:
            answer = special(self, *args, **kwargs)
            if answer is not NotImplemented:
                return answer
        if not kwargs:
            mapped = self.map(func, args)
            if mapped is not NotImplemented:
                return mapped
        shown = ", ".join(
            [*(self.show(a) for a in args), *(f"{k}={self.show(v)}" for k, v in kwargs.items())]
        )
        label = f"{getattr(func, '__name__', 'call')}({shown})"
        types = NUMBERS if typed.gives_number(func, args) else ()
        return derived(label, *args, *kwargs.values(), types=types)

    def member(self, kind: Any, value: Unknown) -> Any:
        return self.split(lambda: kind(self.concrete(value)))

    def item(self, value: Any, key: Any) -> Any:
        from sgcheck.interp.guards import item as read

        if issubclass(type(value), Choice):
            mapped = self.map(read, [value, key])
            if mapped is not NotImplemented:
                return mapped
        if issubclass(type(value), Fact):
            return value.sg_item(self, key)
        if issubclass(type(value), dict) and find_unknown(key) is not None:
            present = self.membership(key, value)
            if not self.decide(present):
                raise KeyError(self.show(key))
            return self.lookup(value, key, None)
        if issubclass(type(key), Choice | Test) and not issubclass(type(value), Unknown):
            return read(value, self.concrete(key))
        held = value if issubclass(type(value), Unknown) else key
        return derived(f"{self.show(value)}[{self.show(key)}]", held, key)

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
            [(c, default if v is MISSING else v) for c, v in cases if self.possible(c)]
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

    def certain(self, func: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keywords that are given on some paths only (from `**fields`): decide where it matters.

        What a function only collects in its own `**fields` may stay open.
        """
        maybe = {
            name: value
            for name, value in kwargs.items()
            if type(value) is Choice and any(case is MISSING for _, case in value.cases)
        }
        code = getattr(func, "__code__", None)
        if maybe and code is not None and code.co_flags & inspect.CO_VARKEYWORDS:
            named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            maybe = {name: value for name, value in maybe.items() if name in named}
        if not maybe:
            return kwargs
        given = dict(maybe)
        self.settle(given)
        rest = {name: value for name, value in kwargs.items() if name not in maybe}
        return {
            name: given.get(name, rest.get(name))
            for name in kwargs
            if name in given or name in rest
        }

    def dict_truth(self, mapping: dict[Any, Any]) -> Any:
        maybe = self._maybe(mapping)
        if not maybe or len(maybe) < len(mapping):
            return mapping
        return self.test(self.space.any_of(self._key_present(k, mapping) for k in maybe))

    def iterate(self, value: Unknown) -> Any:
        found = self.concrete(value)
        if type(found) is dict:
            self.settle(found)
        return iter(found)

    def pick(self, value: Unknown) -> Any:
        """One case of a choice (by branching); the case itself may be unknown."""
        if issubclass(type(value), Choice):
            cases = self.cases(value)
            if not cases:
                raise Escape(Reason("impossible"))
            return cases[self.choose([c for c, _ in cases])][1]
        return self.concrete(value)

    def concrete(self, value: Unknown) -> Any:
        if issubclass(type(value), Test):
            return self.decide(value.condition)
        if issubclass(type(value), Choice):
            cases = self.cases(value)
            if not cases:
                raise Escape(Reason("impossible"))
            found = cases[self.choose([c for c, _ in cases])][1]
            return self.concrete(found) if issubclass(type(found), Unknown) else found
        if issubclass(type(value), Symbol) and value.variable.domain is not None:
            options = sorted(value.variable.domain, key=repr)
            feasible = [v for v in options if self.possible(self.space.among(value.variable, [v]))]
            return feasible[self.choose([self.space.among(value.variable, [v]) for v in feasible])]
        raise Escape(blame(value))
