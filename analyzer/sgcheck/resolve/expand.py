"""Raw values to answers: decided, one of several, or unknown, on the paths that start."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from msgspec import Struct

from sgcheck.interp.journal import MISSING
from sgcheck.resolve.depends import reason_of
from sgcheck.resolve.plain import is_long, plain
from sgcheck.resolve.resolution import JsonValue, Reason
from sgcheck.values.condition import TRUE, Condition, Space, Variable, variables_of
from sgcheck.values.records import record_names
from sgcheck.values.symbols import Choice, Symbol, Test
from sgcheck.values.unknown import Unknown
from sgcheck.world.stdlib.system import HOST_NAME, PROCESS_ID

_MAX_CASES = 256
_MAX_STEPS = 2_000
_DEPTH = 8
_SCALARS = frozenset({type(None), bool, int, str})
_NUMBERS = frozenset({type(None), bool, int, float})
_SHOWN_ID = str(PROCESS_ID)


class _Split(Exception):
    """What has to be known: one of several conditions, or (of one) whether it holds."""

    def __init__(self, *conditions: Condition) -> None:
        self.conditions = conditions


class _Open(Exception):
    def __init__(self, reason: Reason) -> None:
        self.reason = reason


class Expanded(Struct, frozen=True):
    """`cases` (condition, JSON value) cover the given condition; or `reason` says why not.

    They exclude each other, and have to be read together with the given condition: they do not
    repeat it.
    """

    cases: tuple[tuple[Condition, JsonValue], ...] = ()
    reason: Reason | None = None


def expand(
    space: Space,
    value: Any,
    given: Condition,
    *,
    within: Condition = TRUE,
    where_there: bool = False,
) -> Expanded:
    """All values that `value` has where `given` and `within` hold.

    With `where_there` it may be absent there.
    """
    if type(value) in _SCALARS and not _names_process(value) and not is_long(value):
        return Expanded(((within, value),))
    todo = [within]
    done: list[tuple[Condition, JsonValue]] = []
    steps = 0
    while todo:
        condition = todo.pop()
        steps += 1
        if steps > _MAX_STEPS or len(done) > _MAX_CASES:
            return Expanded(reason=Reason("limit(cases)"))
        try:
            found = _known(_Path(space, given, condition), value)
            if found is MISSING:
                if where_there:
                    continue
                raise _Open(Reason("engine(absent value read)"))
            result = plain(found)
        except _Open as open_:
            return Expanded(reason=open_.reason)
        except _Split as split:
            ways = split.conditions
            for way in ways if len(ways) > 1 else (*ways, space.negate(ways[0])):
                both = space.both(condition, way)
                if space.meet(given, both):
                    todo.append(both)
            continue
        for index, (known, other) in enumerate(done):
            if other == result and type(other) is type(result):
                done[index] = (space.either(known, condition), other)
                break
        else:
            done.append((condition, result))
    if len(done) > 1:
        for condition, _ in done:
            for variable in variables_of(space.assume(space.assume(condition, within), given)):
                if variable.reason is not None:
                    return Expanded(reason=variable.reason)
    return Expanded(tuple(done))


def shown(answer: Expanded) -> JsonValue:
    """The value of one step: a list of its cases where it has several."""
    if answer.reason is not None:
        return f"<unknown: {answer.reason.code}>"
    if len(answer.cases) == 1:
        return answer.cases[0][1]
    return [case for _, case in answer.cases]


@dataclasses.dataclass(frozen=True, slots=True)
class _Path:
    """Where `given` and `condition` hold. Their conjunction is rarely made: `given` may be large."""

    space: Space
    given: Condition
    condition: Condition

    def may(self, condition: Condition) -> bool:
        """Whether a condition can hold here."""
        return self.space.meet(self.given, self.space.both(self.condition, condition))

    def decides(self, condition: Condition) -> bool | None:
        """Whether a condition holds here; None where both can be."""
        if not self.may(condition):
            return False
        return None if self.may(self.space.negate(condition)) else True

    def value_of(self, variable: Variable) -> Any:
        """The one value of a fact where this leaves no other; `MISSING` where it does."""
        values = self.space.values_in(self.given, variable, self.condition)
        asked = variables_of(self.given) + variables_of(self.condition)
        if values.others or (variable.domain is not None and variable not in asked):
            return MISSING
        possible = sorted(values.values, key=repr)
        if len(possible) > 1:
            raise _Split(self.space.among(variable, possible[:1]))
        plain_types = (str, int, float, bool, type(None))
        return possible[0] if possible and isinstance(possible[0], plain_types) else MISSING


def _names_process(value: Any) -> bool:
    """Whether a number or a text is or holds the number of the process, which is different each time."""
    if type(value) is int:
        return value == PROCESS_ID
    return isinstance(value, str) and _SHOWN_ID in value


def _known(path: _Path, value: Any, depth: int = 0) -> Any:
    """`value` with every choice settled by `path`."""
    kind = type(value)
    if kind in _SCALARS and not _names_process(value):
        return value
    if kind is list and _NUMBERS.issuperset(map(type, value)) and PROCESS_ID not in value:
        return value
    if isinstance(value, Choice):
        there = [(condition, case) for condition, case in value.cases if path.may(condition)]
        conditions = [condition for condition, _ in there]
        if not there or path.may(path.space.negate(path.space.any_of(conditions))):
            raise _Open(Reason("impossible"))
        if len(there) > 1:
            raise _Split(*conditions)
        return _known(path, there[0][1], depth)
    if isinstance(value, Test):
        verdict = path.decides(value.condition)
        if verdict is None:
            raise _Split(value.condition)
        return verdict
    if isinstance(value, Symbol):
        found = path.value_of(value.variable)
        if found is not MISSING:
            return found
    if isinstance(value, Unknown):
        raise _Open(reason_of(value))
    if isinstance(value, str | int):
        if _names_process(value):
            of_host = isinstance(value, str) and HOST_NAME in value
            raise _Open(Reason("nondeterministic", detail="host name" if of_host else "process id"))
        return value
    if value is None or isinstance(value, float | enum.Enum) or depth > _DEPTH:
        return value
    if isinstance(value, dict):
        out = {}
        for key, item in value.items():
            if item is MISSING:
                continue
            known = _known(path, item, depth + 1)
            if known is not MISSING:
                out[key] = known
        return out
    if isinstance(value, list | tuple):
        return [_known(path, item, depth + 1) for item in value]
    names = record_names(value)
    if names is not None:
        return {n: _known(path, getattr(value, n, None), depth + 1) for n in names}
    return value
