"""Values that nobody can know beforehand, but whose type is known."""

from __future__ import annotations

import pytest
from small_trees import answer, resolve


@pytest.mark.parametrize(
    ("drawn", "name"),
    [
        ("random.randint(0, 9)", "int"),
        ("random.random()", "float"),
        ("time.time()", "float"),
        ("time.time_ns()", "int"),
        ("socket.gethostname()", "str"),
        ("os.urandom(8)", "bytes"),
    ],
)
def test_the_type_of_a_drawn_value_is_known(drawn: str, name: str) -> None:
    body = f"""
    value = {drawn}
    self.answer = [isinstance(value, {name}), isinstance(value, (list, dict)), type(value).__name__,
                   dataclasses.is_dataclass(value), hasattr(value, "_fields"), callable(value)]
    """
    head = "import os, random, socket, time"
    assert answer(body, head) == [True, False, name, False, False, False]


def test_a_copy_of_a_drawn_value_is_unknown_for_the_same_reason() -> None:
    result = resolve("self.answer = copy.deepcopy(random.randint(0, 9))", "import copy, random")
    assert result.outcome.status == "ok"
    field = result.fields["answer"]
    assert field.status == "unknown"
    assert field.reason is not None
    assert field.reason.code == "nondeterministic"


def test_two_draws_are_not_taken_to_be_equal() -> None:
    body = """
    first, second = random.randint(0, 9), random.randint(0, 9)
    self.answer = "same" if first == second else "different"
    """
    result = resolve(body, "import random")
    assert result.outcome.status == "unknown"
    assert result.outcome.reason is not None
    assert result.outcome.reason.code == "nondeterministic"
