"""Conditions in words: short ways that say the same, wherever it has to be right."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.resolve import wording
from sgcheck.resolve.cover import Way, cover
from sgcheck.values.condition import FALSE, TRUE, Condition, Space, Variable, holds

NAMES = ("a", "b", "c")
VALUES = ("x", "y", None, "other")
"""`other` stands for every value that no condition names."""

Step = tuple[int, frozenset[str | None]]
steps = st.tuples(
    st.integers(0, len(NAMES) - 1), st.frozensets(st.sampled_from(VALUES[:3]), min_size=1)
)
formulas: st.SearchStrategy[object] = st.recursive(
    st.one_of(st.booleans(), steps),
    lambda inner: st.tuples(st.sampled_from(["and", "or", "not"]), inner, inner),
    max_leaves=8,
)


def build(space: Space, variables: list[Variable], formula: object) -> Condition:
    if isinstance(formula, bool):
        return TRUE if formula else FALSE
    assert isinstance(formula, tuple)
    if formula[0] == "and":
        return space.both(*(build(space, variables, f) for f in formula[1:]))
    if formula[0] == "or":
        return space.either(*(build(space, variables, f) for f in formula[1:]))
    if formula[0] == "not":
        return space.negate(build(space, variables, formula[1]))
    return space.among(variables[formula[0]], formula[1])


def said(ways: list[Way], world: dict[Variable, str | None]) -> bool:
    return any(all(world[variable] in values for variable, values in way) for way in ways)


@given(formulas, formulas, st.booleans())
def test_a_cover_says_the_same_where_it_must(first: object, second: object, closed: bool) -> None:
    space = Space()
    variables = [
        space.variable(n, VALUES[:3] if closed and n == "b" else None, kind="fact") for n in NAMES
    ]
    condition = build(space, variables, first)
    within = build(space, variables, second)
    ways = cover(space, condition, within)
    for values in product(VALUES, repeat=len(variables)):
        world = dict(zip(variables, values, strict=True))
        if closed and world[variables[1]] == "other":
            continue
        if holds(within, world.__getitem__):
            assert said(ways, world) == holds(condition, world.__getitem__)


def space_of(*names: str) -> tuple[Space, list[Variable]]:
    space = Space()
    return space, [space.variable(name) for name in names]


def test_ways_do_not_repeat_what_others_exclude() -> None:
    space, (first, second) = space_of("arch", "quant")
    one, two = space.among(first, ["A"]), space.among(second, ["fp8"])
    assert wording.text(space, space.either(one, two)) == "arch is A or quant is fp8"


def test_exceptions_are_said_as_such_when_that_is_shorter() -> None:
    space, (arch, quant, size, page) = space_of("arch", "quant", "size", "page")
    bad = space.both(space.among(arch, ["A"]), space.among(quant, ["fp8"]))
    worse = space.both(space.among(size, [7]), space.among(page, [64]))
    good = space.both(space.negate(bad), space.negate(worse))
    assert (
        wording.text(space, good)
        == "not (arch is A and quant is fp8) and not (size is 7 and page is 64)"
    )


def test_what_all_ways_share_is_said_once() -> None:
    space, (arch, quant, size) = space_of("arch", "quant", "size")
    either = space.either(space.among(quant, ["fp8"]), space.among(size, [7]))
    both = space.both(space.among(arch, ["A"]), either)
    assert wording.text(space, both) == "arch is A and (quant is fp8 or size is 7)"


def test_what_is_given_is_not_said_again() -> None:
    space, (arch, quant) = space_of("arch", "quant")
    started = space.negate(space.among(arch, ["A"]))
    condition = space.both(started, space.among(quant, ["fp8"]))
    assert wording.text(space, condition, started) == "quant is fp8"
    assert wording.text(space, started, started) == ""


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("value 7 computed from the model", "a value computed from the model is 3"),
        ("number 96 derived from the model", "a number derived from the model is 3"),
        ("number 2 derived from the inputs", "a number derived from the inputs is 3"),
        ("max(choice 209, --page-size)", "max(one of several values, --page-size) is 3"),
    ],
)
def test_a_question_without_a_name_of_its_own_is_said_without_its_number(
    label: str, text: str
) -> None:
    space = Space()
    assert wording.text(space, space.among(space.variable(label), [3])) == text
