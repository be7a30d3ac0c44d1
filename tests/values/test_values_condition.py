"""Conditions: what they say, that equal ones are one object, and that ways through them are exact."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sgcheck.values.condition import (
    FALSE,
    TRUE,
    Condition,
    Space,
    ValueSet,
    Variable,
    holds,
    paths,
    variables_of,
)

# Two questions with all their answers, and one whose answers are open: "?" stands for any other.
ANSWERS: Mapping[str, tuple[Hashable, ...]] = {
    "arch": ("a", "b", "c"),
    "quant": (None, "fp8"),
    "name": ("x", "y", "?"),
}
OPEN = "name"
EVERY = [dict(zip(ANSWERS, each, strict=True)) for each in itertools.product(*ANSWERS.values())]

ATOMS = st.one_of(
    *(
        st.tuples(
            st.just("among"),
            st.just(name),
            st.frozensets(st.sampled_from([v for v in values if v != "?"]), max_size=3),
        )
        for name, values in ANSWERS.items()
    )
)
FORMULAS = st.recursive(
    st.one_of(st.just(("true",)), st.just(("false",)), ATOMS),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), inner, inner), st.tuples(st.just("not"), inner)
    ),
    max_leaves=8,
)


def new_space() -> tuple[Space, dict[str, Variable]]:
    space = Space()
    return space, {
        name: space.variable(name, None if name == OPEN else values)
        for name, values in ANSWERS.items()
    }


def build(space: Space, variables: Mapping[str, Variable], formula: Any) -> Condition:
    kind, *parts = formula
    if kind == "among":
        return space.among(variables[parts[0]], parts[1])
    inner = [build(space, variables, part) for part in parts]
    if kind == "and":
        return space.both(*inner)
    if kind == "or":
        return space.either(*inner)
    if kind == "not":
        return space.negate(*inner)
    return TRUE if kind == "true" else FALSE


def truth(formula: Any, world: Mapping[str, Hashable]) -> bool:
    """The formula by the rules of logic alone."""
    kind, *parts = formula
    if kind == "among":
        return world[parts[0]] in parts[1]
    inner = [truth(part, world) for part in parts]
    if kind == "and":
        return all(inner)
    if kind == "or":
        return any(inner)
    return not inner[0] if kind == "not" else kind == "true"


def table(condition: Condition) -> list[bool]:
    return [holds(condition, lambda v, w=world: w[v.name]) for world in EVERY]  # type: ignore[misc]


@given(FORMULAS)
def test_a_condition_says_what_its_formula_says(formula: Any) -> None:
    space, variables = new_space()
    condition = build(space, variables, formula)
    assert table(condition) == [truth(formula, world) for world in EVERY]


@given(FORMULAS, FORMULAS)
def test_equal_conditions_are_one_object(left: Any, right: Any) -> None:
    space, variables = new_space()
    one, two = build(space, variables, left), build(space, variables, right)
    assert (one is two) == (table(one) == table(two))


@given(FORMULAS, FORMULAS, FORMULAS)
def test_the_laws_hold_by_identity(a: Any, b: Any, c: Any) -> None:
    space, variables = new_space()
    x, y, z = (build(space, variables, formula) for formula in (a, b, c))
    both, either, negate = space.both, space.either, space.negate
    assert both(x, y) is both(y, x) and either(x, y) is either(y, x)
    assert both(x, both(y, z)) is both(both(x, y), z)
    assert both(x, either(y, z)) is either(both(x, y), both(x, z))
    assert negate(both(x, y)) is either(negate(x), negate(y))
    assert negate(negate(x)) is x
    assert both(x, negate(x)) is FALSE and either(x, negate(x)) is TRUE


@given(FORMULAS, FORMULAS)
def test_assuming_changes_nothing_where_the_assumption_holds(a: Any, b: Any) -> None:
    space, variables = new_space()
    of, given_ = build(space, variables, a), build(space, variables, b)
    assumed = space.assume(of, given_)
    for says, simpler, assumption in zip(table(of), table(assumed), table(given_), strict=True):
        assert not assumption or says == simpler
    assert set(variables_of(assumed)) <= set(variables_of(of))


@given(FORMULAS, st.sampled_from(sorted(ANSWERS)))
def test_leaving_a_question_open(formula: Any, name: str) -> None:
    space, variables = new_space()
    condition = build(space, variables, formula)
    opened = space.without(condition, variables[name])
    assert variables[name] not in variables_of(opened)
    for world, says in zip(EVERY, table(opened), strict=True):
        assert says == any(truth(formula, {**world, name: value}) for value in ANSWERS[name])


@given(FORMULAS)
def test_ways_exclude_each_other_and_cover_the_condition(formula: Any) -> None:
    space, variables = new_space()
    ways = list(paths(build(space, variables, formula), limit=1000))
    for world in EVERY:
        fitting = [
            way for way in ways if all(world[variable.name] in values for variable, values in way)
        ]
        assert len(fitting) == truth(formula, world)


@given(
    st.frozensets(st.integers(0, 4)),
    st.booleans(),
    st.frozensets(st.integers(0, 4)),
    st.booleans(),
)
def test_sets_of_values(
    a: frozenset[int], a_others: bool, b: frozenset[int], b_others: bool
) -> None:
    left, right = ValueSet(a, a_others), ValueSet(b, b_others)
    for value in range(6):  # 5 is in neither by name
        assert (value in left & right) == (value in left and value in right)
        assert (value in left | right) == (value in left or value in right)
        assert (value in ~left) != (value in left)
    assert bool(left) == any(value in left for value in range(6))
