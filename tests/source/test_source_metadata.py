"""Version numbers and metadata as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from sgcheck.source.download import nearest
from sgcheck.source.metadata import (
    header,
    is_release_tag,
    literal_version,
    read_project,
    release_number,
    upstream_tag,
)
from sgcheck.source.releases import by_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.5.23", "0.5.23"),
        ("v0.5.23", "0.5.23"),
        ("0.5.4.post3", "0.5.4.post3"),
        ("0.5.2rc2", "0.5.2rc2"),
        ("0.5", "0.5"),
        ("0.5.9+12.gabc", None),
        ("0.5.9.dev1", None),
        ("./0.5.9", None),
        ("5", None),
        ("main", None),
        ("", None),
    ],
)
def test_release_numbers(text: str, number: str | None) -> None:
    assert release_number(text) == number


def test_tags() -> None:
    assert upstream_tag("0.5.4.post3") == "v0.5.4.post3"
    assert upstream_tag("0.5.9+1.gabc") is None and upstream_tag("unknown") is None
    assert is_release_tag("v0.5.9") and not is_release_tag("gateway-v0.5.9")


@pytest.mark.parametrize(
    ("source", "version"),
    [
        (b'__version__ = "1"', "1"),
        (b"__version__ = version = '0.5.10'", "0.5.10"),
        (b'try:\n    from x import __version__\nexcept E:\n    __version__ = "0.0"', None),
        (b"__version__ = f()", None),
        (b"__version__ = 1", None),
        (b"not python (", None),
        (b"\xff\xfe", None),
        (b"x = '\0'", None),
    ],
)
def test_literal_versions(source: bytes, version: str | None) -> None:
    assert literal_version(source) == version


def test_headers_end_at_the_first_blank_line() -> None:
    text = "Name: sglang\nversion: 1\n\nVersion: 2\nSummary: x\n"
    assert header(text, "Version") == "1"
    assert header(text, "Summary") is None


def test_only_sglangs_own_project_counts() -> None:
    assert read_project('[project]\nname = "SGLang"\n') is not None
    assert read_project('[project]\nname = "other"\n') is None
    assert read_project("[project") is None
    assert read_project("") is None


def test_the_nearest_releases() -> None:
    versions = {"0.5.9", "0.5.10", "0.5.10.post1", "0.5.11", "0.5.12", "0.4.0"}
    assert nearest("0.5.10.post2", versions) == ["0.5.10", "0.5.10.post1", "0.5.11", "0.5.12"]
    assert nearest("9.9", versions) == ["0.5.11", "0.5.12"]


RELEASES = st.builds(
    lambda numbers, suffix: ".".join(map(str, numbers)) + suffix,
    st.lists(st.integers(0, 30), min_size=3, max_size=3),
    st.sampled_from(["", "rc0", "rc2", "a1", "b1", ".post1", ".post2", ".post10"]),
)


@given(RELEASES, RELEASES)
def test_releases_are_ordered_as_python_packaging_orders_them(one: str, two: str) -> None:
    assert (by_number(one) < by_number(two)) == (Version(one) < Version(two))
