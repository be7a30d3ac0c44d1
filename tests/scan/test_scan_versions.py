"""Releases are written as PyPI writes them, whichever way they are recognised."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import InvalidVersion, Version

from sgcheck.scan.targets import canonical_version

PARTS = st.sampled_from(
    ["0", "1", "05", "10", ".", ".", "post", ".post1", ".post01", "v", "rc1", "-", "+cu130", "x"]
)


@settings(deadline=None)
@given(st.lists(PARTS, max_size=8).map("".join))
def test_a_release_is_what_packaging_makes_of_it(text: str) -> None:
    try:
        expected: str | None = str(Version(text))
    except InvalidVersion:
        expected = None
    assert canonical_version(text) == expected
