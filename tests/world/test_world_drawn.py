"""Values that nobody can know beforehand, but whose type is known."""

from __future__ import annotations

import uuid

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


def test_a_unique_id_has_a_text_and_a_number_that_are_there() -> None:
    body = """
    own = uuid.uuid4()
    self.answer = [own.hex is None, isinstance(own.hex, str), type(own.bytes).__name__]
    """
    assert answer(body, "import uuid", explore=True) == [False, True, "bytes"]
    field = resolve("self.answer = uuid.uuid4().hex", "import uuid").fields["answer"]
    assert field.status == "unknown"
    assert field.reason is not None
    assert field.reason.code == "nondeterministic"


@pytest.mark.parametrize("name", ["socket.gethostname()", "platform.node()", "socket.getfqdn()"])
def test_the_name_of_the_host_is_some_name(name: str) -> None:
    body = f"self.answer = ['%' in {name}, '/' in {name}, bool(os.path.dirname('/x/' + {name}))]"
    assert answer(body, "import os, platform, socket") == [False, False, True]
    field = resolve(f"self.answer = 'on ' + {name}", "import platform, socket").fields["answer"]
    assert field.status == "unknown"
    assert field.reason is not None
    assert (field.reason.code, field.reason.detail) == ("nondeterministic", "host name")


def test_an_id_made_of_a_name_is_known() -> None:
    body = "self.answer = uuid.uuid5(uuid.NAMESPACE_URL, 'a').hex"
    assert answer(body, "import uuid") == uuid.uuid5(uuid.NAMESPACE_URL, "a").hex
