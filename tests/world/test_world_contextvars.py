"""Context variables, and objects that change their class: as in Python, and taken back."""

from __future__ import annotations

import pytest
from small_trees import CASE, answer, tree_of

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import target_from_case

HEAD = """
from contextvars import ContextVar

VARIABLE = ContextVar("VARIABLE", default="unset")
BARE: ContextVar[int] = ContextVar("BARE")


class Plain:
    kind = "plain"


class Other:
    kind = "other"


THING = Plain()
"""


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("self.answer = VARIABLE.get()", "unset"),
        ("self.answer = [BARE.get(3), VARIABLE.name]", [3, "VARIABLE"]),
        (
            "token = VARIABLE.set(1)\nself.answer = [VARIABLE.get(), token.old_value is token.MISSING]",
            [1, True],
        ),
        ("token = VARIABLE.set(1)\nVARIABLE.reset(token)\nself.answer = VARIABLE.get()", "unset"),
        ("try:\n    BARE.get()\nexcept LookupError:\n    self.answer = 'missing'", "missing"),
        (
            "token = VARIABLE.set(1)\nVARIABLE.reset(token)\n"
            "try:\n    VARIABLE.reset(token)\nexcept RuntimeError:\n    self.answer = 'twice'",
            "twice",
        ),
        ("THING.__class__ = Other\nself.answer = THING.kind", "other"),
    ],
)
def test_as_in_python(body: str, value: object) -> None:
    assert answer(body, HEAD) == value


@pytest.mark.parametrize(
    ("change", "look", "value"),
    [
        ("VARIABLE.set('changed')", "VARIABLE.get()", "unset"),
        ("THING.__class__ = Other", "THING.kind", "plain"),
    ],
)
@pytest.mark.parametrize("explore", [False, True])
def test_taken_back_between_launches(change: str, look: str, value: str, explore: bool) -> None:
    predictor = Predictor(tree_of(f"self.answer = {look}\n{change}", HEAD))
    launch = Launch((), {}, target_from_case(CASE), UNKNOWN_MODEL, {})
    for _ in range(2):
        result = predictor.check(launch, explore=explore)
        assert result.fields["answer"].value == value
