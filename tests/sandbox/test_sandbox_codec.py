"""What crosses between the processes comes out as it went in, and as nothing but plain data."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.plain import MOST_BITS, plain
from sgcheck.resolve.resolution import FieldAnswer
from sgcheck.sandbox.codec import decode, encode
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import resolve_target


class Text(str):
    """A text of a tree's own that answers otherwise when it is asked."""

    def __str__(self) -> str:
        raise AssertionError("nobody asks it")

    __repr__ = __format__ = __eq__ = __hash__ = __str__  # type: ignore[assignment]


class Number(int):
    def __index__(self) -> int:
        raise AssertionError("nobody asks it")

    __int__ = __index__


ANSWER = FieldAnswer("a", "decided")


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1, 2**200, 0.5, "", "a\0b", "\udcff\\", [1, {"a": [None]}], {"": "\udcff"}],
)
def test_an_answer_comes_out_as_it_went_in(value: Any) -> None:
    answer = replace(ANSWER, value=value, default=[value])
    assert decode(encode(answer), FieldAnswer) == answer


def test_a_launch_comes_out_as_it_went_in() -> None:
    launch = Launch(
        ("--x", "\udcff"),
        {"A": None, "B": "b"},
        resolve_target("sm90", None),
        load_model("qwen3-8b"),
        files={"c.yaml": b"\x00\xff"},
        unknown_env=("C",),
    )
    assert decode(encode(launch), Launch) == launch


def test_what_a_tree_made_of_text_and_number_is_made_exact() -> None:
    found = decode(
        encode(replace(ANSWER, name=Text("x"), value=[Text("y"), Number(3)])), FieldAnswer
    )
    assert type(found.name) is str and found.name == "x"
    assert [(type(each), each) for each in found.value] == [(str, "y"), (int, 3)]
    assert [type(each) for each in plain([Text("y"), Number(3)])] == [str, int]  # type: ignore[union-attr]


def test_what_is_no_plain_data_is_refused() -> None:
    with pytest.raises(TypeError):
        encode(replace(ANSWER, value=lambda: None))


class Another(Struct, frozen=True):
    name: int
    status: str


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"+",
        b"?{}",
        b"+[]",
        b"+{}",
        b'+{"name": 1, "status": "decided"}',
        b'+{"name": "a", "status": "sure"}',
        b"+" + b'{"name": "a", "status": "decided", "value": ' + b"[" * 100_000,
        b"~" + b"[" * 100_000,
        encode(Another(1, "decided")),
    ],
)
def test_anything_else_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        decode(data, FieldAnswer)


def test_a_number_of_too_many_digits_is_told_by_its_size() -> None:
    assert plain(1 << MOST_BITS) == f"an integer of {MOST_BITS + 1} bits"
    assert plain([1, 1 << MOST_BITS]) == [1, f"an integer of {MOST_BITS + 1} bits"]
    assert plain((1 << MOST_BITS) - 1) == (1 << MOST_BITS) - 1
    assert encode(plain((1 << MOST_BITS) - 1))
