"""What a limit costs where inputs are open: the field that reached it, and nothing else."""

from __future__ import annotations

import pytest
from unknown_trees import check_partitions, launch, predictor

from sgcheck.resolve import answers
from sgcheck.resolve import cover as cover_module
from sgcheck.resolve.membership import case_table
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.wording import text
from sgcheck.values import condition as condition_module
from sgcheck.values.condition import FALSE, TRUE, Space, size
from sgcheck.values.signals import LimitReached

TREE = """
if self.backend == "triton":
    self.kernel = "one" if self.fast else "two"
if self.backend == "broken":
    raise ValueError("no such backend")
self.answer = [self.kernel, self.backend, self.fast]
"""
OPEN = launch("--backend", "?", "--kernel", "?", "--fast", "?", "--level", "3")


def open_tree() -> Predictor:
    return predictor(TREE)


def test_a_field_that_takes_too_much_is_unknown_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = case_table(open_tree(), OPEN)
    assert len(whole.fields["answer"].cases) > 2
    monkeypatch.setattr(answers, "MAX_OF_FIELD", 3)
    table = case_table(open_tree(), OPEN)
    reason = table.fields["answer"].reason
    assert reason is not None
    assert reason.code == "limit(conditions)"
    assert [value for _, value in table.fields["level"].cases] == [3]
    check_partitions(table)
    result = open_tree().check(OPEN)
    assert result.fields["answer"].status == "unknown"
    said = result.fields["answer"].reason
    assert said is not None
    assert (said.code, said.file) == (reason.code, "sglang/srt/server_args.py")
    assert result.fields["level"].value == 3


def test_a_limit_that_ends_everything_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(self: Space, *_: object) -> None:
        raise LimitReached("conditions")

    tree = open_tree()
    monkeypatch.setattr(answers.Answers, "outcomes", exhausted)
    table = case_table(tree, OPEN)
    assert table.started is FALSE
    [(condition, outcome)] = table.outcomes
    assert condition is TRUE
    assert outcome.status == "unknown"
    assert outcome.reason is not None
    assert outcome.reason.code == "limit(conditions)"


def test_work_is_bounded_within_the_rest_that_is_left() -> None:
    space = Space()
    conditions = [space.among(space.variable(f"x{i}"), [1]) for i in range(40)]
    with space.at_most(5), pytest.raises(LimitReached):
        space.any_of(conditions)
    with space.at_most(1000):
        assert space.any_of(conditions) is not TRUE


def test_what_is_given_costs_nothing_of_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> str:
        space = Space()
        a, b, c = (space.among(space.variable(name), [1]) for name in "abc")
        condition = space.either(a, space.both(b, c))
        return text(space, condition, space.either(a, space.negate(b)))

    assert said() == "a is 1"
    monkeypatch.setattr(condition_module, "MAX_SPARE", 0)
    assert said() == "a is 1"
    # Nor where nothing at all is left for shorter words.
    monkeypatch.setattr(cover_module, "OPERATIONS", 0)
    assert said() == "a is 1"


def test_words_without_anything_to_spare_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(condition_module, "MAX_SPARE", 0)
    space = Space()
    parts = [space.among(space.variable(name), [1]) for name in "abcd"]
    assert text(space, space.any_of(parts)) == "a is 1 or b is 1 or c is 1 or d is 1"
    assert size(space.any_of(parts)) == 4


def test_the_line_of_a_declaration_whose_call_gives_nothing() -> None:
    head = """
    def declare(args, **fields):
        for name, value in fields.items():
            setattr(args, name, value)
    """
    body = """
    if self.backend == "triton":
        declare(self, kernel="two")
    """
    result = predictor(body, head).check(launch("--backend", "?"))
    steps = [step for step in result.fields["kernel"].because if step.value == "two"]
    assert steps
    assert {step.file for step in steps} == {"sglang/srt/server_args.py"}
