"""Conditions over finite questions, in a canonical form.

A condition is a decision diagram: inner nodes ask for the value of one variable, edges carry sets of
values, leaves are TRUE and FALSE. Variables are ordered by creation, nodes are shared, so two
conditions are the same exactly when they are the same object. That makes "can this be?" and "do
these exclude each other?" an identity test.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import LimitReached


class ValueSet:
    """A finite set of values, or (`others`) everything but a finite set. Not to be changed.

    A plain class: exploring an unknown model makes millions of them.
    """

    __slots__ = ("_key", "others", "values")

    def __init__(self, values: frozenset[Hashable], others: bool = False) -> None:
        self.values = values
        self.others = others
        self._key: tuple[bool, list[str]] | None = None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ValueSet)
            and self.others is other.others
            and self.values == other.values
        )

    def __hash__(self) -> int:
        return hash((self.values, self.others))

    def __repr__(self) -> str:
        return f"{'~' if self.others else ''}{{{', '.join(self.sort_key()[1])}}}"

    def __and__(self, other: ValueSet) -> ValueSet:
        if self.others and other.others:
            return ValueSet(self.values | other.values, True)
        if self.others:
            return ValueSet(other.values - self.values)
        if other.others:
            return ValueSet(self.values - other.values)
        return ValueSet(self.values & other.values)

    def __or__(self, other: ValueSet) -> ValueSet:
        if self.others and other.others:
            return ValueSet(self.values & other.values, True)
        if self.others:
            return ValueSet(self.values - other.values, True)
        if other.others:
            return ValueSet(other.values - self.values, True)
        return ValueSet(self.values | other.values)

    def __invert__(self) -> ValueSet:
        return ValueSet(self.values, not self.others)

    def __bool__(self) -> bool:
        return self.others or bool(self.values)

    def __contains__(self, value: Hashable) -> bool:
        return (value in self.values) != self.others

    def meets(self, other: ValueSet) -> bool:
        """Whether some value is in both: `bool(self & other)`."""
        if self.others:
            return other.others or not other.values <= self.values
        if other.others:
            return not self.values <= other.values
        return not self.values.isdisjoint(other.values)

    def sort_key(self) -> tuple[bool, list[str]]:
        """A stable order."""
        if self._key is None:
            self._key = self.others, sorted(map(repr, self.values))
        return self._key


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

    def __repr__(self) -> str:
        return f"Variable({self.name})"


class Condition:
    """A node; see the module's text. Make conditions through a `Space`."""

    __slots__ = ("edges", "variable")

    def __init__(
        self, variable: Variable | None, edges: tuple[tuple[ValueSet, Condition], ...]
    ) -> None:
        self.variable = variable
        self.edges = edges

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
MAX_MEETINGS = 4_000_000
"""The same for the cheaper question whether two conditions can hold together."""


class Space:
    """Variables and the conditions over them."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self._nodes: dict[Any, Condition] = {}
        self._sets: dict[ValueSet, ValueSet] = {}
        self._memo: dict[tuple[str, int, int], Condition] = {}
        self._meetings: dict[tuple[int, int], bool] = {}
        self._limit = MAX_OPERATIONS
        self._spare = MAX_SPARE

    @contextmanager
    def apart(self, operations: int) -> Iterator[None]:
        """Work that only puts conditions in other words: it may take so many operations more.

        Beyond them, or beyond what is left for all such work, LimitReached is raised; they count
        for nothing else.
        """
        start, limit = len(self._memo), self._limit
        self._limit = start + min(operations, self._spare)
        try:
            yield
        finally:
            self._limit = limit
            self._spare = max(0, self._spare - (len(self._memo) - start))
            while len(self._memo) > start:
                self._memo.popitem()

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
        chosen = ValueSet(frozenset(values))
        return self._node(variable, [(chosen, TRUE), (~chosen, FALSE)])

    def among_set(self, variable: Variable, values: ValueSet) -> Condition:
        """`variable` has a value of the set."""
        return self._node(variable, [(values, TRUE), (~values, FALSE)])

    def _node(self, variable: Variable, edges: list[tuple[ValueSet, Condition]]) -> Condition:
        merged: dict[int, tuple[ValueSet, Condition]] = {}
        for values, child in edges:
            if variable.domain is not None:
                if values.others:
                    values = ValueSet(variable.domain - values.values)
                elif not values.values <= variable.domain:
                    values = ValueSet(values.values & variable.domain)
            if not values:
                continue
            known = merged.get(id(child))
            merged[id(child)] = (values if known is None else known[0] | values, child)
        if len(merged) == 1:
            return next(iter(merged.values()))[1]
        if variable.domain is not None:
            merged = {
                key: (ValueSet(variable.domain - v.values) if v.others else v, child)
                for key, (v, child) in merged.items()
            }
        key = (variable.index, frozenset((values, id(child)) for values, child in merged.values()))
        node = self._nodes.get(key)
        if node is None:
            # Equal sets are one object: their order is worked out once, and memory is shared.
            shared = self._sets.setdefault
            edges = [(shared(values, values), child) for values, child in merged.values()]
            ordered = sorted(edges, key=lambda edge: edge[0].sort_key())
            node = self._nodes[key] = Condition(variable, tuple(ordered))
        return node

    def start_counting(self) -> None:
        """Let `MAX_OPERATIONS` count afresh: a part of its own begins."""
        self._memo.clear()

    # -- algebra -------------------------------------------------------------------

    def both(self, left: Condition, right: Condition) -> Condition:
        """Conjunction."""
        if left is FALSE or right is FALSE:
            return FALSE
        if left is TRUE or left is right:
            return right
        if right is TRUE:
            return left
        return self._combine("&", left, right, self.both)

    def either(self, left: Condition, right: Condition) -> Condition:
        """Disjunction."""
        if left is TRUE or right is TRUE:
            return TRUE
        if left is FALSE or left is right:
            return right
        if right is FALSE:
            return left
        return self._combine("|", left, right, self.either)

    def _combine(
        self,
        op: str,
        left: Condition,
        right: Condition,
        again: Callable[[Condition, Condition], Condition],
    ) -> Condition:
        key = (op, id(left), id(right)) if id(left) < id(right) else (op, id(right), id(left))
        found = self._memo.get(key)
        if found is not None:
            return found
        assert left.variable is not None and right.variable is not None
        if left.variable.index == right.variable.index:
            variable = left.variable
            edges = [
                (a & b, again(x, y)) for a, x in left.edges for b, y in right.edges if a.meets(b)
            ]
        elif left.variable.index < right.variable.index:
            variable = left.variable
            edges = [(a, again(x, right)) for a, x in left.edges]
        else:
            variable = right.variable
            edges = [(b, again(left, y)) for b, y in right.edges]
        result = self._memo[key] = self._node(variable, edges)
        if len(self._memo) > self._limit:
            raise LimitReached("conditions")
        return result

    def meet(self, left: Condition, right: Condition) -> bool:
        """Whether both can hold together: `both(left, right) is not FALSE`, without making it."""
        if left is FALSE or right is FALSE:
            return False
        if left is TRUE or right is TRUE or left is right:
            return True
        key = (id(left), id(right)) if id(left) < id(right) else (id(right), id(left))
        found = self._meetings.get(key)
        if found is not None:
            return found
        assert left.variable is not None and right.variable is not None
        mine, other = left.variable.index, right.variable.index
        if mine == other:
            result = any(
                self.meet(x, y) for a, x in left.edges for b, y in right.edges if a.meets(b)
            )
        elif mine < other:
            result = any(self.meet(x, right) for _, x in left.edges)
        else:
            result = any(self.meet(left, y) for _, y in right.edges)
        self._meetings[key] = result
        if len(self._meetings) > MAX_MEETINGS:
            raise LimitReached("conditions")
        return result

    def negate(self, of: Condition) -> Condition:
        """Negation."""
        if of is TRUE:
            return FALSE
        if of is FALSE:
            return TRUE
        key = ("~", id(of), 0)
        found = self._memo.get(key)
        if found is None:
            assert of.variable is not None
            found = self._memo[key] = self._node(
                of.variable, [(v, self.negate(c)) for v, c in of.edges]
            )
        return found

    def any_of(self, conditions: Iterable[Condition]) -> Condition:
        """Disjunction of many."""
        result = FALSE
        for condition in conditions:
            result = self.either(result, condition)
        return result

    def without(self, of: Condition, variable: Variable) -> Condition:
        """`of` with a variable left open (true if it is true for some value)."""
        if of is TRUE or of is FALSE:
            return of
        assert of.variable is not None
        if of.variable is variable:
            return self.any_of(child for _, child in of.edges)
        if of.variable.index > variable.index:
            return of
        return self._node(of.variable, [(v, self.without(c, variable)) for v, c in of.edges])

    def assume(self, of: Condition, given: Condition) -> Condition:
        """`of` made simpler where `given` already says so: equal to `of` whenever `given` holds."""
        if given is TRUE or of is TRUE or of is FALSE:
            return of
        if given is FALSE:
            return FALSE
        key = ("?", id(of), id(given))
        found = self._memo.get(key)
        if found is None:
            found = self._memo[key] = self._assume(of, given)
            if len(self._memo) > self._limit:
                raise LimitReached("conditions")
        return found

    def _assume(self, of: Condition, given: Condition) -> Condition:
        assert of.variable is not None and given.variable is not None
        if given.variable.index < of.variable.index:
            return self.assume(of, self.any_of(child for _, child in given.edges))
        if of.variable.index < given.variable.index:
            return self._node(of.variable, [(v, self.assume(c, given)) for v, c in of.edges])
        edges: list[tuple[ValueSet, Condition]] = []
        impossible = ValueSet(frozenset())
        for values, child in of.edges:
            for other, inner in given.edges:
                both = values & other
                if not both:
                    continue
                if inner is FALSE:
                    impossible = impossible | both
                else:
                    edges.append((both, self.assume(child, inner)))
        if impossible and edges:
            # What cannot happen joins the alternative that is easiest to say.
            target = max(
                range(len(edges)), key=lambda i: (edges[i][0].others, len(edges[i][0].values))
            )
            edges[target] = (edges[target][0] | impossible, edges[target][1])
        return self._node(of.variable, edges)


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
        stack.extend(child for _, child in node.edges)
    return [found[i] for i in sorted(found)]


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
