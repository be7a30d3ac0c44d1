"""Raw values to answers: decided, one of several, or unknown, on the paths that start."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from msgspec import Struct

from sgcheck.interp.journal import MISSING
from sgcheck.resolve.plain import plain
from sgcheck.resolve.resolution import JsonValue, Reason
from sgcheck.values.condition import FALSE, TRUE, Condition, Space, Variable, variables_of
from sgcheck.values.symbols import Choice, Symbol, Test
from sgcheck.values.unknown import Unknown
from sgcheck.world.stdlib.system import PROCESS_ID

_MAX_CASES = 64
_DEPTH = 8


class _Split(Exception):
    def __init__(self, condition: Condition) -> None:
        self.condition = condition


class _Open(Exception):
    def __init__(self, reason: Reason) -> None:
        self.reason = reason


class Expanded(Struct, frozen=True):
    """`cases` (condition, JSON value) cover the given condition; or `reason` says why not."""

    cases: tuple[tuple[Condition, JsonValue], ...] = ()
    reason: Reason | None = None


def expand(space: Space, value: Any, given: Condition, *, where_there: bool = False) -> Expanded:
    """All values that `value` has where `given` holds; with `where_there` it may be absent there."""
    todo = [given]
    done: list[tuple[Condition, JsonValue]] = []
    steps = 0
    while todo:
        condition = todo.pop()
        steps += 1
        if steps > 4 * _MAX_CASES:
            return Expanded(reason=Reason("limit(cases)"))
        try:
            found = _known(space, value, condition)
            if found is MISSING:
                if where_there:
                    continue
                raise _Open(Reason("engine(absent value read)"))
            result = plain(found)
        except _Open as open_:
            return Expanded(reason=open_.reason)
        except _Split as split:
            for half in (split.condition, space.negate(split.condition)):
                both = space.both(condition, half)
                if both is not FALSE:
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
            for variable in variables_of(space.assume(condition, given)):
                if variable.reason is not None:
                    return Expanded(reason=variable.reason)
    return Expanded(tuple(done))


def _by_path(space: Space, variable: Variable, path: Condition) -> Any:
    """The one value of a fact where a path leaves no other; `MISSING` where it does."""
    named: set[Any] = set()
    todo, seen = [path], set()
    while todo:
        node = todo.pop()
        if id(node) in seen or node.variable is None:
            continue
        seen.add(id(node))
        if node.variable is variable:
            for values, _ in node.edges:
                named |= values.values
        todo.extend(child for _, child in node.ways)
    if not named:
        return MISSING
    if space.both(path, space.negate(space.among(variable, named))) is not FALSE:
        return MISSING
    possible = [
        value
        for value in sorted(named, key=repr)
        if space.both(path, space.among(variable, [value])) is not FALSE
    ]
    if len(possible) > 1:
        raise _Split(space.among(variable, possible[:1]))
    plain_types = (str, int, float, bool, type(None))
    return possible[0] if possible and isinstance(possible[0], plain_types) else MISSING


def _known(space: Space, value: Any, path: Condition, depth: int = 0) -> Any:
    """`value` with every choice settled by `path`."""
    if isinstance(value, Choice):
        for condition, case in value.cases:
            both = space.both(path, condition)
            if both is FALSE:
                continue
            if both is not path:
                raise _Split(condition)
            return _known(space, case, path, depth)
        raise _Open(Reason("impossible"))
    if isinstance(value, Test):
        both = space.both(path, value.condition)
        if both is not FALSE and both is not path:
            raise _Split(value.condition)
        return both is path
    if isinstance(value, Symbol):
        found = _by_path(space, value.variable, path)
        if found is not MISSING:
            return found
    if isinstance(value, Unknown):
        raise _Open(object.__getattribute__(value, "reason"))
    if isinstance(value, str):
        if str(PROCESS_ID) in value:
            raise _Open(Reason("nondeterministic", detail="process id"))
        return value
    if value is None or isinstance(value, bool | int | float | enum.Enum) or depth > _DEPTH:
        if type(value) is int and value == PROCESS_ID:
            raise _Open(Reason("nondeterministic", detail="process id"))
        return value
    if isinstance(value, dict):
        out = {}
        for key, item in value.items():
            if item is MISSING:
                continue
            known = _known(space, item, path, depth + 1)
            if known is not MISSING:
                out[key] = known
        return out
    if isinstance(value, list | tuple):
        return [_known(space, item, path, depth + 1) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: _known(space, getattr(value, f.name, None), path, depth + 1)
            for f in dataclasses.fields(value)
        }
    names = getattr(type(value), "__struct_fields__", None)
    if names is not None:
        return {n: _known(space, getattr(value, n, None), path, depth + 1) for n in names}
    return value


_ = TRUE
