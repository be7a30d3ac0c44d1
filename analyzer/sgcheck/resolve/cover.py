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
    said = [tuple((v, v.values(bits)) for v, bits in way) for way in _merged(ways)]
    return sorted(said, key=_order)


_Bits: TypeAlias = "tuple[tuple[Variable, int], ...]"
"""A way whose sets of values are in bits, as conditions have them."""


def _condition(space: Space, way: _Bits) -> Condition:
    out = TRUE
    for variable, bits in reversed(way):
        out = space.both(space.among_bits(variable, bits), out)
    return out


def _widened(space: Space, ways: list[_Bits], upper: Condition) -> list[_Bits]:
    """Each way without what it need not ask."""
    beyond = space.negate(upper)
    out: dict[_Bits, None] = {}
    for way in ways:
        kept = list(way)
        for step in reversed(way):
            fewer = [s for s in kept if s is not step]
            if not space.meet(_condition(space, tuple(fewer)), beyond):
                kept = fewer
        out[tuple(kept)] = None
    return list(out)


def _needed(space: Space, ways: list[_Bits], lower: Condition) -> list[_Bits]:
    """The ways without those whose cases others cover; long ones go first."""
    kept = sorted(ways, key=lambda way: (-len(way), _order(_values(way))))
    made = {way: _condition(space, way) for way in kept}
    for way in list(kept):
        others = space.any_of(made[other] for other in kept if other is not way)
        if not space.meet(lower, space.negate(others)):
            kept.remove(way)
    return kept


def _values(way: _Bits) -> Way:
    return tuple((variable, variable.values(bits)) for variable, bits in way)


def _merged(ways: list[_Bits]) -> list[_Bits]:
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


def _together(left: _Bits, right: _Bits) -> _Bits | None:
    if len(left) != len(right):
        return None
    at = -1
    for index, (a, b) in enumerate(zip(left, right, strict=True)):
        if a[0] is not b[0]:
            return None
        if a[1] != b[1]:
            if at >= 0:
                return None
            at = index
    if at < 0:
        return None
    variable, bits = left[at]
    bits |= right[at][1]
    return (
        *left[:at],
        *(() if _everything(variable, bits) else ((variable, bits),)),
        *left[at + 1 :],
    )


def _everything(variable: Variable, bits: int) -> bool:
    return bits & variable.all == variable.all


def _order(way: Way) -> tuple[int, list[tuple[int, tuple[bool, list[str]]]]]:
    return len(way), [(variable.index, values.sort_key()) for variable, values in way]


class _Cover:
    def __init__(self, space: Space) -> None:
        self.space = space
        self.known: dict[tuple[Condition, Condition], tuple[list[_Bits], Condition]] = {}

    def between(self, lower: Condition, upper: Condition) -> tuple[list[_Bits], Condition]:
        """Ways that hold wherever `lower` does and nowhere but in `upper`, and their disjunction."""
        if lower is FALSE:
            return [], FALSE
        if upper is TRUE:
            return [()], TRUE
        key = (lower, upper)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._split(lower, upper)
        return found

    def _split(self, lower: Condition, upper: Condition) -> tuple[list[_Bits], Condition]:
        space = self.space
        variable = _first(lower, upper)
        pieces = [
            (both, low, high)
            for bits, low in _ways(lower, variable)
            for others, high in _ways(upper, variable)
            if (both := bits & others)
        ]
        everywhere = TRUE
        for _, _, high in pieces:
            everywhere = space.both(everywhere, high)
        beyond = space.negate(everywhere)
        # The same ways may serve several values: what is asked of the variable is then their union.
        groups: dict[_Bits, int] = {}
        rest = FALSE
        total = FALSE
        for bits, low, high in pieces:
            ways, covered = self.between(space.both(low, beyond), high)
            for way in ways:
                groups[way] = groups.get(way, 0) | bits
            here = space.both(space.among_bits(variable, bits), covered)
            total = space.either(total, here)
            rest = space.either(rest, space.both(low, space.negate(covered)))
        shared, common = self.between(rest, everywhere)
        out: list[_Bits] = list(shared)
        for way, bits in groups.items():
            whole = _everything(variable, bits)
            out.append(way if whole else ((variable, bits), *way))
        return out, space.either(total, common)


def _first(left: Condition, right: Condition) -> Variable:
    variables = [c.variable for c in (left, right) if c.variable is not None]
    return min(variables, key=lambda v: v.index)


def _ways(condition: Condition, variable: Variable) -> tuple[tuple[int, Condition], ...]:
    return condition.ordered if condition.variable is variable else ((variable.all, condition),)
