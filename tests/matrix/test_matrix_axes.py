"""Axes as users write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.errors import UsageError
from sgcheck.matrix.axes import (
    MAX_CELLS,
    Axis,
    check_size,
    is_list,
    merged,
    parse_axis,
    points,
    settled,
    split_values,
)

SHORT = {"moe": "--moe-runner-backend", "tp": "--tp-size"}
words = st.text(st.characters(codec="utf-8"), min_size=1).filter(
    lambda text: text == text.strip() and not text.endswith("\\") and "\\," not in text
)


@pytest.mark.parametrize(
    ("text", "kind", "name", "values"),
    [
        ("arch", "machine", "arch", ("all",)),
        ("arch=sm90,sm120", "machine", "arch", ("sm90", "sm120")),
        ("moe=auto, triton", "flag", "--moe-runner-backend", ("auto", "triton")),
        ("--moe-runner-backend", "flag", "--moe-runner-backend", ("all",)),
        ("moe_runner_backend=a", "flag", "--moe-runner-backend", ("a",)),
        ("SGLANG_X=0,1", "env", "SGLANG_X", ("0", "1")),
        ("env:lower=unset,1", "env", "lower", ("unset", "1")),
        ("sglang=0.5.9,0.5.23", "sglang", "sglang", ("0.5.9", "0.5.23")),
        (r"model=a\,b,c", "model", "model", ("a,b", "c")),
        ("x=a=b", "flag", "--x", ("a=b",)),
    ],
)
def test_spellings(text: str, kind: str, name: str, values: tuple[str, ...]) -> None:
    axis = parse_axis(text, SHORT)
    assert (axis.kind, axis.name, axis.words) == (kind, name, values)


@pytest.mark.parametrize("text", ["moe=", "moe=a,,b", "moe=,a", "=a", "--"])
def test_empty_places_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--vary"):
        parse_axis(text, SHORT)


@given(st.lists(words, min_size=1, max_size=5))
def test_commas_are_kept_when_escaped(values: list[str]) -> None:
    text = ",".join(value.replace(",", "\\,") for value in values)
    assert split_values(text, "x") == tuple(values)


def test_a_list_is_an_axis() -> None:
    assert is_list("a,b") and is_list("all") and is_list(" ALL ")
    assert not is_list("a") and not is_list(r"a\,b") and not is_list("allreduce")


def test_repeats_are_joined_and_all_is_looked_up_in_place() -> None:
    found = merged([parse_axis(t, SHORT) for t in ("moe=unset", "arch=sm90", "moe=all,b")])
    assert [axis.name for axis in found] == ["--moe-runner-backend", "arch"]
    assert settled(found[0], lambda _: ["a", "b"]).values == ("unset", "a", "b")


def test_the_last_axis_is_the_fastest() -> None:
    axes = [Axis("flag", "--x", "x", ("1", "2")), Axis("flag", "--y", "y", ("a", "b"))]
    assert list(points(axes)) == [("1", "a"), ("1", "b"), ("2", "a"), ("2", "b")]


def test_more_than_a_million_cells_are_refused_with_their_number() -> None:
    numbers = tuple(map(str, range(1001)))
    with pytest.raises(UsageError, match=r"1,002,001 cells \(1,001 x × 1,001 y\)"):
        check_size([Axis("flag", "--x", "x", numbers), Axis("flag", "--y", "y", numbers)])
    assert check_size([Axis("flag", "--x", "x", tuple(map(str, range(MAX_CELLS))))]) == MAX_CELLS
