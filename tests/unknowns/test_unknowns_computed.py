"""Values that are computed from facts which nobody gave: their types, and what is said of them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from unknown_trees import METADATA, predictor

from sgcheck.interp.symbolic_values import PLAIN, calculated, types_of
from sgcheck.resolve.depends import facts_of, reason_of
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.resolution import Reason, Resolution
from sgcheck.values.condition import Space
from sgcheck.values.symbols import BRANCHES, Choice, Symbol, Typed
from sgcheck.values.unknown import Unknown
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import resolve_target

WHY = Reason("model-unknown")
READ = """
from transformers import AutoConfig
config = AutoConfig.from_pretrained(self.model_path)
"""
HEAD = """
def settings(value):
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(settings, value))
    if isinstance(value, dict):
        return {settings(k): settings(v) for k, v in value.items()}
    if isinstance(value, (list, set, tuple)):
        kind = type(value)
        return kind(settings(one) for one in value)
    return value
"""


def result(body: str, head: str = "") -> Resolution:
    launch = Launch((), {}, resolve_target("sm90", None), UNKNOWN_MODEL)
    return predictor(READ + body, head, metadata=METADATA).check(launch)


def lost(found: Resolution) -> list[Reason]:
    """Why paths ended of which nothing is known."""
    return [case.reason for case in found.outcome.cases if case.reason is not None]


def test_a_copy_of_a_computed_value_loses_no_path() -> None:
    found = result("self.answer = settings(64 * config.pool)", HEAD)
    assert lost(found) == []
    answer = found.fields["answer"]
    assert answer.status == "unknown"
    assert answer.reason is not None
    assert answer.reason.code == "model-unknown"
    assert answer.reason.detail == "computed from model.pool"
    assert answer.reason.file == "sglang/srt/server_args.py"
    assert answer.reason.line is not None


def test_elements_of_something_unknown_that_nobody_wants_cost_nothing() -> None:
    head = """
    def first(default, elements):
        return default
    """
    found = result("self.answer = first(3, (one for one in config.blocks))", head)
    assert lost(found) == []
    assert found.fields["answer"].value == 3


def test_elements_of_something_unknown_that_somebody_wants_are_unknown() -> None:
    [reason] = lost(result("self.answer = sorted(one for one in config.blocks)"))
    assert reason.code == "model-unknown"
    assert reason.file == "sglang/srt/server_args.py"


def test_the_greatest_of_numbers_does_not_depend_on_a_choice_alone() -> None:
    body = """
    low = 4 if config.pool else 8
    self.answer = max(low, config.hidden_size * 3, 16)
    """
    answer = result(body.replace("\n    ", "\n")).fields["answer"]
    assert answer.reason is not None
    assert answer.reason.code == "model-unknown"
    assert "model.hidden_size" in (answer.reason.detail or "")


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "**": operator.pow,
}  # fmt: skip
_ATOMS = st.one_of(
    st.booleans(), st.integers(-3, 9), st.sampled_from([0.5, 2.0]), st.none(), st.text(max_size=2)
)
_PLAIN_VALUES = st.one_of(
    _ATOMS,
    st.lists(_ATOMS, max_size=2),
    st.tuples(_ATOMS),
    st.dictionaries(st.text(max_size=1), _ATOMS, max_size=1),
)


@given(_PLAIN_VALUES, _PLAIN_VALUES, st.sampled_from(sorted(_OPERATORS)), st.booleans())
def test_the_types_of_what_is_calculated(left: Any, right: Any, op: str, known: bool) -> None:
    try:
        value = _OPERATORS[op](left, right)
    except (TypeError, ArithmeticError):
        assume(False)
    assume(not isinstance(value, complex))
    mine = left if known else Typed(WHY, "left", PLAIN)
    for other in (Typed(WHY, "right", PLAIN), Typed(WHY, "right", (type(right),))):
        types = calculated(op, mine, other)
        assert types
        assert type(value) in types
    assert calculated(op, Typed(WHY, "left", (type(left),)), right)


@pytest.mark.parametrize("op", ["+", "*", "%", "<<"])
def test_nothing_is_said_of_what_may_be_anything(op: str) -> None:
    assert calculated(op, Unknown(WHY, "left"), 3) == ()


def test_types_of_a_choice_are_those_of_its_cases() -> None:
    space = Space()
    condition = space.among(space.variable("x"), [1])
    cases = ((condition, 3), (space.negate(condition), Typed(WHY, "number", (float,))))
    assert set(types_of(Choice(cases))) == {int, float}
    assert types_of(Choice((*cases, (condition, Unknown(WHY, "any"))))) == ()


def test_the_facts_that_a_value_was_computed_from() -> None:
    space = Space()
    facts = [Symbol(space.variable(f"model.f{i}"), WHY, (int,)) for i in range(6)]
    one = Unknown(WHY, "(model.f0 + model.f1)", (facts[0], facts[1]))
    both = Typed(WHY, "number 3 derived from the model", (int,), (one, facts[0], facts[2]))
    assert facts_of(both) == ["model.f0", "model.f2", "model.f1"]
    assert reason_of(both).detail == "computed from model.f0, model.f2, model.f1"
    many = Unknown(WHY, "sum(...)", tuple(facts))
    assert str(reason_of(many).detail).endswith("model.f3 and 2 more")
    assert reason_of(Unknown(BRANCHES, "choice 4")).detail is None
    assert reason_of(Unknown(Reason("nondeterministic", detail="clock"), "x")).detail == "clock"
