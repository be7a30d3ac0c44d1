"""Values in `repr` form: what is a literal is read, the rest is kept as text."""

from __future__ import annotations

import math
from typing import Any

import pytest
from confirm_samples import PATIENT
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.confirm.literals import Unreadable, read_record, read_value
from sgcheck.confirm.observation import Opaque, matches, plain

LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@PATIENT
@given(LITERALS)
def test_every_literal_is_read_back(value: Any) -> None:
    assert read_value(repr(value)) == value


@PATIENT
@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), LITERALS, max_size=6))
def test_both_forms_of_a_record_are_read_back(fields: dict[str, Any]) -> None:
    printed = "ServerArgs(" + ", ".join(f"{k}={v!r}" for k, v in fields.items()) + ")"
    assert read_record(printed) == (fields, True)
    assert read_record(repr(fields)) == (fields, True)


@PATIENT
@given(
    st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), LITERALS, max_size=6), st.data()
)
def test_a_record_that_is_cut_off_gives_only_whole_fields(
    fields: dict[str, Any], data: st.DataObject
) -> None:
    printed = "ServerArgs(" + ", ".join(f"{k}={v!r}" for k, v in fields.items()) + ")"
    cut = data.draw(st.integers(0, len(printed) - 1))
    found, whole = read_record(printed[:cut])
    assert not whole
    assert found.items() <= fields.items() or all(found[k] == fields[k] for k in found)


@PATIENT
@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    read_record(text)
    read_record("ServerArgs(" + text)


@pytest.mark.parametrize("opening", ["[", "(", "{", "<", "a(", "a(b=", "{1:", "<a: <"])
def test_deep_and_unclosed_text_ends_quickly(opening: str) -> None:
    read_record("ServerArgs(x=" + opening * 50_000)
    read_record("ServerArgs(" + f"x={opening}, " * 5_000)


def test_what_is_no_literal_is_kept() -> None:
    text = (
        "ServerArgs(mode=<Mode.NULL: 'null'>, kind=<Kind.A: 3>, dtype=torch.bfloat16, path=PosixPath('/x'), "
        "call=<function f at 0x7f>, nested=Graph(bs=[1, 2], mode=<Mode.NULL: 'null'>), names={'b', 'a'}, "
        "none=set(), low=-inf, tail=1)"
    )
    fields, whole = read_record(text)
    assert whole
    assert fields["mode"] == Opaque(("null", "NULL"))
    assert fields["kind"] == Opaque(("A", 3))
    assert fields["dtype"] == Opaque(("torch.bfloat16", "bfloat16"))
    assert fields["path"] == "/x"
    assert plain(fields["call"]) == "<function f at 0x7f>"
    assert plain(fields["nested"]) == {"bs": [1, 2], "mode": "null"}
    assert fields["names"] == ["a", "b"] and fields["none"] == [] and fields["tail"] == 1
    assert math.isinf(fields["low"])


def test_a_damaged_field_does_not_lose_the_others() -> None:
    text = "ServerArgs(a=1, b=[2026-01-02 03:04:05 TP1] Load weight, c='x', d=3)"
    assert read_record(text) == ({"a": 1, "c": "x", "d": 3}, False)


def test_a_number_at_the_cut_is_not_taken_for_whole() -> None:
    assert read_record("ServerArgs(a=1, port=30") == ({"a": 1}, False)


def test_rest_of_a_value_is_refused() -> None:
    with pytest.raises(Unreadable):
        read_value("1 2")


@pytest.mark.parametrize(
    ("predicted", "observed", "same"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (1, True, False),
        (None, False, False),
        ("null", Opaque(("null", "NULL")), True),
        ("other", Opaque(("null", "NULL")), False),
        ([1, [2]], [1, [2]], True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ("inf", float("inf"), True),
        ("Infinity", float("inf"), True),
        ("1", 1, False),
    ],
)
def test_matching(predicted: Any, observed: Any, same: bool) -> None:
    assert matches(predicted, observed) is same


def test_a_printed_record_may_hide_fields_a_reported_one_not() -> None:
    printed, _ = read_record("S(g=Graph(bs=[1]))")
    assert matches({"bs": [1], "hidden": None}, printed["g"])
    assert not matches({"bs": [1], "hidden": None}, {"bs": [1]})
