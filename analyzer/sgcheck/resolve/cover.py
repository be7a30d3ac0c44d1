"""A condition as few short ways to make it true.

The paths of a decision diagram exclude each other, which makes them long: each says what the ways
before it did not. Here a way says only what it needs (an irredundant sum of products, after
Minato, for variables with several values). What cannot happen may be used to be shorter still.
"""

from __future__ import annotations

from typing import TypeAlias

from sgcheck.values.condition import FALSE, TRUE, Condition, Space, ValueSet, Variable
from sgcheck.values.signals import LimitReached

Way: TypeAlias = "tuple[tuple[Variable, ValueSet], ...]"
"""What must hold, in the order of the variables."""

OPERATIONS = 2_000
"""Operations on conditions that one cover may take, and as many again to make its ways shorter."""
MAX_WIDENED = 24
"""Ways up to which each is looked at once more, for what it need not ask."""


def cover(
    space: Space, condition: Condition, given: Condition = TRUE, *, spare: bool = True
) -> list[Way]:
    """Ways that together say `condition` wherever `given` holds. Raises LimitReached.

    It takes what the space has to spare, or (not `spare`) of what the answers have.
    """
    bounded = space.apart if spare else space.at_most
    with bounded(OPERATIONS):
        lower = space.both(condition, given)
        upper = space.either(condition, space.negate(given))
        ways, _ = _Cover(space).between(lower, upper)
    if len(ways) <= MAX_WIDENED:
        try:
            with bounded(OPERATIONS):
                ways = _needed(space, _widened(space, ways, upper), lower)
        except LimitReached:
            pass
    return sorted(_merged(ways), key=_order)


def _condition(space: Space, way: Way) -> Condition:
    out = TRUE
    for variable, values in way:
        out = space.both(out, space.among_set(variable, values))
    return out


def _widened(space: Space, ways: list[Way], upper: Condition) -> list[Way]:
    """Each way without what it need not ask."""
    beyond = space.negate(upper)
    out: dict[Way, None] = {}
    for way in ways:
        kept = list(way)
        for step in reversed(way):
            fewer = [s for s in kept if s is not step]
            if space.both(_condition(space, tuple(fewer)), beyond) is FALSE:
                kept = fewer
        out[tuple(kept)] = None
    return list(out)


def _needed(space: Space, ways: list[Way], lower: Condition) -> list[Way]:
    """The ways without those whose cases others cover; long ones go first."""
    kept = sorted(ways, key=lambda way: (-len(way), _order(way)))
    for way in list(kept):
        others = space.any_of(_condition(space, other) for other in kept if other is not way)
        if space.both(lower, space.negate(others)) is FALSE:
            kept.remove(way)
    return kept


def _merged(ways: list[Way]) -> list[Way]:
    """Ways that differ in the values of one variable only become one."""
    out = list(ways)
    index = 0
    while index < len(out):
        for other in range(index + 1, len(out)):
            both = _together(out[index], out[other])
            if both is not None:
                out[index] = both
                del out[other]
                break
        else:
            index += 1
    return out


def _together(left: Way, right: Way) -> Way | None:
    if [v for v, _ in left] != [v for v, _ in right]:
        return None
    differing = [i for i, (a, b) in enumerate(zip(left, right, strict=True)) if a[1] != b[1]]
    if len(differing) != 1:
        return None
    at = differing[0]
    variable, values = left[at]
    values = values | right[at][1]
    return (
        *left[:at],
        *(() if _everything(variable, values) else ((variable, values),)),
        *left[at + 1 :],
    )


def _everything(variable: Variable, values: ValueSet) -> bool:
    if not ~values:
        return True
    return variable.domain is not None and not (ValueSet(variable.domain) & ~values)


def _order(way: Way) -> tuple[int, list[tuple[int, tuple[bool, list[str]]]]]:
    return len(way), [(variable.index, values.sort_key()) for variable, values in way]


class _Cover:
    def __init__(self, space: Space) -> None:
        self.space = space
        self.known: dict[tuple[int, int], tuple[list[Way], Condition]] = {}

    def between(self, lower: Condition, upper: Condition) -> tuple[list[Way], Condition]:
        """Ways that hold wherever `lower` does and nowhere but in `upper`, and their disjunction."""
        if lower is FALSE:
            return [], FALSE
        if upper is TRUE:
            return [()], TRUE
        key = (id(lower), id(upper))
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._split(lower, upper)
        return found

    def _split(self, lower: Condition, upper: Condition) -> tuple[list[Way], Condition]:
        space = self.space
        variable = _first(lower, upper)
        pieces = [
            (values & others, low, high)
            for values, low in _edges(lower, variable)
            for others, high in _edges(upper, variable)
            if values & others
        ]
        everywhere = TRUE
        for _, _, high in pieces:
            everywhere = space.both(everywhere, high)
        beyond = space.negate(everywhere)
        # The same ways may serve several values: what is asked of the variable is then their union.
        groups: dict[Way, ValueSet] = {}
        rest = FALSE
        total = FALSE
        for values, low, high in pieces:
            ways, covered = self.between(space.both(low, beyond), high)
            for way in ways:
                known = groups.get(way)
                groups[way] = values if known is None else known | values
            here = space.both(space.among_set(variable, values), covered)
            total = space.either(total, here)
            rest = space.either(rest, space.both(low, space.negate(covered)))
        shared, common = self.between(rest, everywhere)
        out: list[Way] = list(shared)
        for way, values in groups.items():
            whole = _everything(variable, values)
            out.append(way if whole else ((variable, values), *way))
        return out, space.either(total, common)


def _first(left: Condition, right: Condition) -> Variable:
    variables = [c.variable for c in (left, right) if c.variable is not None]
    return min(variables, key=lambda v: v.index)


def _edges(condition: Condition, variable: Variable) -> list[tuple[ValueSet, Condition]]:
    if condition.variable is variable:
        return list(condition.edges)
    return [(ValueSet(frozenset(), others=True), condition)]
