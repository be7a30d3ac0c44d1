"""A value that goes to another field, or into another form, is not overwritten."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sgcheck.report.answers import is_changed_by_tree, is_forced
from sgcheck.resolve.resolution import FieldAnswer

sys.path.insert(0, str(Path(__file__).parents[1] / "world"))

from small_trees import tree_of

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import target_from_case

HEAD = """
def apply(record, values):
    for name, value in values.items():
        setattr(record, name, value)
"""


def answer(body: str, argv: tuple[str, ...], trace: bool = True) -> FieldAnswer:
    """The answer for `answer`, whose value the command line gives; `other` is another field."""
    case = {"arch": "sm90", "gpu": {"name": "H", "memory_mib": 80000, "count": 8}, "cuda": "13.0"}
    tree = tree_of(body, HEAD)
    launch = Launch(argv, {}, target_from_case(case), UNKNOWN_MODEL, {})
    return Predictor(tree).check(launch, explore=False, trace=trace).fields["answer"]


@pytest.mark.parametrize(
    ("body", "to"),
    [
        ("self.other = self.answer\nself.answer = '1'", ("other",)),
        (
            "given = {\n    'other': self.answer,\n    'answer': '1',\n}\napply(self, given)",
            ("other",),
        ),
        ("self.answer = self.answer + '0'", ("answer",)),
        ("self.answer += '0'", ("answer",)),
        ("self.answer = str(\n    int(self.answer)\n    // 2)", ("answer",)),
        ("self.answer = '1'", ()),
        ("self.other = '8'\nself.answer = '1'", ()),
        ("if self.answer == '8':\n    self.answer = '1'", ()),
        ("self.model_path = 'of ' + self.answer\nself.answer = '1'", ()),
    ],
)
def test_where_a_value_goes(body: str, to: tuple[str, ...]) -> None:
    found = answer(body, ("--answer", "8"))
    assert found.user_value == "8"
    assert found.passed_on == to
    assert is_changed_by_tree(found)
    assert is_forced(found) is (to == ())


def test_a_value_that_stays_goes_nowhere() -> None:
    assert answer("self.other = self.answer", ("--answer", "8")).passed_on == ()


@pytest.mark.parametrize("trace", [True, False])
def test_the_users_value_is_known_with_and_without_a_trace(trace: bool) -> None:
    found = answer("self.other = 1", ("--answer", "8"), trace)
    assert (found.user_set, found.user_value, found.value) == (True, "8", "8")
    assert not is_forced(found)
    changed = answer("self.answer = '1'", ("--answer", "8"), trace)
    assert (changed.user_value, changed.value) == ("8", "1")
    assert is_forced(changed)
