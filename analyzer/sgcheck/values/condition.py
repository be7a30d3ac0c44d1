"""Conditions over finite questions, in a canonical form.

A condition is a decision diagram: inner nodes ask for the value of one variable, edges carry sets of
values, leaves are TRUE and FALSE. Variables are ordered by creation, nodes are shared, so two
conditions are the same exactly when they are the same object. That makes "can this be?" and "do
these exclude each other?" an identity test.

Inside, a set of values is a number with one bit for each value that the variable has been asked for.
A negative number has all further bits too: every value that nobody has named.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import LimitReached
from sgcheck.values.value_set import ValueSet

__all__ = [
    "FALSE", "TRUE", "Condition", "Space", "ValueSet", "Variable", "holds", "paths", "size",
    "variables_of",
]  # fmt: skip


@dataclass(eq=False, slots=True)
class Variable:
    """One question. `name` is in the user's terms; `domain` is None where values are open.

    `reason` is set for questions that no user can answer (something of the world that is not
    modelled): what depends on them is reported as unknown for that reason.
    """

    index: int
    name: str
    domain: frozenset[Hashable] | None = None
    reason: Reason | None = None
    kind: str = "fact"
    extra: dict[str, Any] = field(default_factory=dict)
    all: int = -1
    """Every value, in bits."""
    _places: dict[Hashable, int] = field(default_factory=dict, repr=False)
    _sets: dict[int, ValueSet] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.domain is not None:
            for value in sorted(self.domain, key=repr):
                self._places[value] = 1 << len(self._places)
            self.all = (1 << len(self._places)) - 1

    def __repr__(self) -> str:
        return f"Variable({self.name})"

    def bits(self, values: Iterable[Hashable]) -> int:
        """Some values in bits; those that the variable cannot have are left out."""
        places, found = self._places, 0
        for value in values:
            bit = places.get(value)
            if bit is None:
                if self.domain is not None:
                    continue
                bit = places[value] = 1 << len(places)
            found |= bit
        return found

    def bits_of(self, values: ValueSet) -> int:
        """A set of values in bits."""
        named = self.bits(values.values)
        return self.all & ~named if values.others else named

    def values(self, bits: int) -> ValueSet:
        """The set that some bits stand for."""
        known = self._sets.get(bits)
        if known is None:
            others = bits < 0
            named = ~bits if others else bits
            known = ValueSet(frozenset(v for v, bit in self._places.items() if named & bit), others)
            self._sets[bits] = known
        return known


class Condition:
    """A node; see the module's text. Make conditions through a `Space`.

    `ways` are the sets of values, in bits, each with what holds then.
    """

    __slots__ = ("_edges", "_index", "_opposite", "_ordered", "variable", "ways")

    def __init__(self, variable: Variable | None, ways: tuple[tuple[int, Condition], ...]) -> None:
        self.variable = variable
        self.ways = ways
        self._index = variable.index if variable is not None else -1
        self._edges: tuple[tuple[ValueSet, Condition], ...] | None = None
        self._ordered: tuple[tuple[int, Condition], ...] | None = None
        self._opposite: Condition | None = None

    @property
    def edges(self) -> tuple[tuple[ValueSet, Condition], ...]:
        """The values with what holds then, in a stable order."""
        if self._edges is None:
            self._edges = tuple((self._values(bits), child) for bits, child in self.ordered)
        return self._edges

    @property
    def ordered(self) -> tuple[tuple[int, Condition], ...]:
        """The ways in a stable order, that of the values."""
        if self._ordered is None:
            ways = sorted(self.ways, key=lambda way: self._values(way[0]).sort_key())
            self._ordered = tuple(ways)
        return self._ordered

    def _values(self, bits: int) -> ValueSet:
        assert self.variable is not None, "TRUE and FALSE have no ways"
        return self.variable.values(bits)

    def __repr__(self) -> str:
        if self is TRUE:
            return "TRUE"
        if self is FALSE:
            return "FALSE"
        return f"Condition({self.variable})"


TRUE = Condition(None, ())
FALSE = Condition(None, ())


MAX_OPERATIONS = 400_000
"""Distinct operations on conditions in one exploration; beyond it the rest is unknown(limit)."""
MAX_SPARE = 30_000
"""Further ones for work whose result is only nicer to read."""
MAX_OF_ANSWERS = 1_200_000
"""The same for all answers of a launch together, which may have many machines."""
MAX_OF_FIELD = 300_000
"""Operations for the answer to one field, of those that all answers have together."""
MAX_MEETINGS = 4_000_000
"""The same for the cheaper question whether two conditions can hold together."""

_Pair = tuple[Condition, Condition]


class Space:
    """Variables and the conditions over them."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self._nodes: dict[Any, Condition] = {}
        self._both: dict[_Pair, Condition] = {}
        self._either: dict[_Pair, Condition] = {}
        self._assumed: dict[_Pair, Condition] = {}
        self._meetings: dict[_Pair, bool] = {}
        self._operations = 0
        self._limit = MAX_OPERATIONS
        self._spare = MAX_SPARE

    @contextmanager
    def apart(self, operations: int) -> Iterator[None]:
        """Work that only puts conditions in other words: it may take so many operations more.

        Beyond them, or beyond what is left for all such work, LimitReached is raised; they count
        for nothing else.
        """
        start, limit = self._operations, self._limit
        self._limit = start + min(operations, self._spare)
        try:
            yield
        finally:
            self._limit = limit
            self._spare = max(0, self._spare - (self._operations - start))
            self._operations = start

    @contextmanager
    def at_most(self, operations: int) -> Iterator[None]:
        """Work that may take so many of the operations that are left; then LimitReached is raised."""
        limit = self._limit
        self._limit = min(limit, self._operations + operations)
        try:
            yield
        finally:
            self._limit = limit

    def variable(
        self,
        name: str,
        domain: Iterable[Hashable] | None = None,
        reason: Reason | None = None,
        kind: str = "fact",
    ) -> Variable:
        """The variable of that name, made when it is first asked for."""
        found = self.variables.get(name)
        if found is None:
            values = frozenset(domain) if domain is not None else None
            found = self.variables[name] = Variable(len(self.variables), name, values, reason, kind)
        return found

    def among(self, variable: Variable, values: Iterable[Hashable]) -> Condition:
        """`variable` has one of the values."""
        return self.among_bits(variable, variable.bits(values))

    def among_set(self, variable: Variable, values: ValueSet) -> Condition:
        """`variable` has a value of the set."""
        return self.among_bits(variable, variable.bits_of(values))

    def among_bits(self, variable: Variable, bits: int) -> Condition:
        """`variable` has a value of a set that is given in bits."""
        return self._node(variable, ((bits, TRUE), (variable.all & ~bits, FALSE)))

    def _node(self, variable: Variable, ways: Iterable[tuple[int, Condition]]) -> Condition:
        merged: dict[Condition, int] = {}
        for bits, child in ways:
            if bits:
                merged[child] = merged.get(child, 0) | bits
        if len(merged) == 1:
            return next(iter(merged))
        key = (variable.index, frozenset(merged.items()))
        node = self._nodes.get(key)
        if node is None:
            made = tuple((bits, child) for child, bits in merged.items())
            node = self._nodes[key] = Condition(variable, made)
        return node

    def start_counting(self, limit: int = MAX_OPERATIONS, *, forget: bool = True) -> None:
        """Let `limit` count afresh: a part of its own begins.

        With `forget` what was worked out before is given up, for the sake of memory.
        """
        self._operations = 0
        self._limit = limit
        if not forget:
            # Asked again where it is needed: what follows must not fail for what was before it.
            if len(self._meetings) > MAX_MEETINGS // 2:
                self._meetings.clear()
            return
        self._both.clear()
        self._either.clear()
        self._assumed.clear()

    def _count(self) -> None:
        self._operations += 1
        if self._operations > self._limit:
            raise LimitReached("conditions")

    # -- algebra -------------------------------------------------------------------

    def both(self, left: Condition, right: Condition) -> Condition:
        """Conjunction."""
        if left is right or right is TRUE or left is FALSE:
            return left
        if left is TRUE or right is FALSE:
            return right
        pair = (left, right) if id(left) < id(right) else (right, left)
        found = self._both.get(pair)
        if found is not None:
            return found
        result = self._both[pair] = self._combined(left, right, self.both)
        self._count()
        return result

    def either(self, left: Condition, right: Condition) -> Condition:
        """Disjunction."""
        if left is right or right is FALSE or left is TRUE:
            return left
        if left is FALSE or right is TRUE:
            return right
        pair = (left, right) if id(left) < id(right) else (right, left)
        found = self._either.get(pair)
        if found is not None:
            return found
        result = self._either[pair] = self._combined(left, right, self.either)
        self._count()
        return result

    def _combined(
        self,
        left: Condition,
        right: Condition,
        again: Callable[[Condition, Condition], Condition],
    ) -> Condition:
        """`again` of every pair of ways that go together; neither side is TRUE or FALSE."""
        mine, other = left._index, right._index
        if mine == other:
            ways = [
                (bits, again(x, y)) for a, x in left.ways for b, y in right.ways if (bits := a & b)
            ]
        else:
            if mine > other:
                left, right = right, left
            ways = [(a, again(x, right)) for a, x in left.ways]
        return self._node(left.variable, ways)  # type: ignore[arg-type]

    def meet(self, left: Condition, right: Condition) -> bool:
        """Whether both can hold together: `both(left, right) is not FALSE`, without making it."""
        if left is FALSE or right is FALSE:
            return False
        if left is TRUE or right is TRUE or left is right:
            return True
        pair = (left, right) if id(left) < id(right) else (right, left)
        found = self._meetings.get(pair)
        if found is not None:
            return found
        meet = self.meet
        mine, other = left._index, right._index
        result = False
        if mine == other:
            for a, x in left.ways:
                for b, y in right.ways:
                    if a & b and meet(x, y):
                        result = True
                        break
                if result:
                    break
        else:
            if mine > other:
                left, right = right, left
            for _, x in left.ways:
                if meet(x, right):
                    result = True
                    break
        self._meetings[pair] = result
        if len(self._meetings) > MAX_MEETINGS:
            raise LimitReached("conditions")
        return result

    def negate(self, of: Condition) -> Condition:
        """Negation."""
        if of is TRUE:
            return FALSE
        if of is FALSE:
            return TRUE
        found = of._opposite
        if found is None:
            assert of.variable is not None
            found = self._node(of.variable, [(bits, self.negate(c)) for bits, c in of.ways])
            of._opposite, found._opposite = found, of
            self._count()
        return found

    def any_of(self, conditions: Iterable[Condition]) -> Condition:
        """Disjunction of many."""
        found = list(conditions)
        while len(found) > 1:
            # Neighbours first: what is large is met seldom.
            rest = found[-1:] if len(found) % 2 else []
            found = [*map(self.either, found[::2], found[1::2]), *rest]
        return found[0] if found else FALSE

    def values_in(self, of: Condition, variable: Variable, given: Condition = TRUE) -> ValueSet:
        """The values that a variable can have where two conditions hold."""
        return variable.values(self._bits_in(of, given, variable, {}))

    def _bits_in(
        self, left: Condition, right: Condition, variable: Variable, known: dict[_Pair, int]
    ) -> int:
        mine, other = left._index, right._index
        if mine < 0 or (0 <= other < mine):
            left, right, mine, other = right, left, other, mine
        if left is FALSE or right is FALSE:
            return 0
        if mine < 0 or mine > variable.index:
            return variable.all if self.meet(left, right) else 0
        bits = known.get((left, right))
        if bits is None:
            bits = 0
            for way, child in left.ways:
                for also, beside in right.ways if mine == other else ((-1, right),):
                    both = way & also
                    if not both or child is FALSE or beside is FALSE:
                        continue
                    if left.variable is variable:
                        bits |= both if self.meet(child, beside) else 0
                    else:
                        bits |= self._bits_in(child, beside, variable, known)
            known[(left, right)] = bits
        return bits

    def without(self, of: Condition, variable: Variable) -> Condition:
        """`of` with a variable left open (true if it is true for some value)."""
        if of is TRUE or of is FALSE:
            return of
        assert of.variable is not None
        if of.variable is variable:
            return self.any_of(child for _, child in of.ways)
        if of.variable.index > variable.index:
            return of
        return self._node(of.variable, [(bits, self.without(c, variable)) for bits, c in of.ways])

    def assume(self, of: Condition, given: Condition) -> Condition:
        """`of` made simpler where `given` already says so: equal to `of` whenever `given` holds."""
        if given is TRUE or of is TRUE or of is FALSE:
            return of
        if given is FALSE:
            return FALSE
        pair = (of, given)
        found = self._assumed.get(pair)
        if found is None:
            found = self._assumed[pair] = self._assume(of, given)
            self._count()
        return found

    def _assume(self, of: Condition, given: Condition) -> Condition:
        variable = of.variable
        assert variable is not None
        if given._index < of._index:
            return self.assume(of, self.any_of(child for _, child in given.ways))
        if of._index < given._index:
            return self._node(variable, [(bits, self.assume(c, given)) for bits, c in of.ways])
        ways: list[tuple[int, Condition]] = []
        origins: list[tuple[int, int]] = []
        impossible = 0
        for bits, child in of.ways:
            for other, inner in given.ways:
                both = bits & other
                if not both:
                    continue
                if inner is FALSE:
                    impossible |= both
                else:
                    ways.append((both, self.assume(child, inner)))
                    origins.append((bits, other))
        if impossible and ways:
            # What cannot happen joins the alternative that is easiest to say.
            ease = [_ease(bits) for bits, _ in ways]
            best = max(ease)
            target = min(
                (i for i, found in enumerate(ease) if found == best),
                key=lambda i: [variable.values(bits).sort_key() for bits in origins[i]],
            )
            ways[target] = (ways[target][0] | impossible, ways[target][1])
        return self._node(variable, ways)


def _ease(bits: int) -> tuple[bool, int]:
    """How easily a set of values is said; the highest most easily."""
    others = bits < 0
    return others, (~bits if others else bits).bit_count()


def variables_of(condition: Condition) -> list[Variable]:
    """The questions that a condition asks, in order."""
    found: dict[int, Variable] = {}
    seen: set[int] = set()
    stack = [condition]
    while stack:
        node = stack.pop()
        if id(node) in seen or node.variable is None:
            continue
        seen.add(id(node))
        found[node.variable.index] = node.variable
        stack.extend(child for _, child in node.ways)
    return [found[i] for i in sorted(found)]


def size(condition: Condition) -> int:
    """How many nodes a condition has."""
    seen: set[int] = set()
    stack = [condition]
    while stack:
        node = stack.pop()
        if id(node) not in seen and node.variable is not None:
            seen.add(id(node))
            stack.extend(child for _, child in node.ways)
    return len(seen)


def paths(condition: Condition, limit: int = 64) -> Iterator[list[tuple[Variable, ValueSet]]]:
    """The ways to make a condition true, each a list of (variable, values); at most `limit`."""
    count = 0
    stack: list[tuple[Condition, list[tuple[Variable, ValueSet]]]] = [(condition, [])]
    while stack and count < limit:
        node, way = stack.pop()
        if node is TRUE:
            count += 1
            yield way
        elif node is not FALSE:
            assert node.variable is not None
            for values, child in reversed(node.edges):
                if child is not FALSE:
                    stack.append((child, [*way, (node.variable, values)]))


def holds(condition: Condition, answer: Callable[[Variable], Hashable]) -> bool:
    """Whether a condition is true when every question has the given answer."""
    while condition is not TRUE and condition is not FALSE:
        assert condition.variable is not None
        value = answer(condition.variable)
        condition = next(child for values, child in condition.edges if value in values)
    return condition is TRUE
