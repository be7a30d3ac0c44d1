"""The bound on work itself."""

from __future__ import annotations

import sys

import pytest
from work_counted import TooMuchWork, at_most


def some(calls: int) -> int:
    return sum(abs(n) for n in range(calls))


def test_work_within_the_bound() -> None:
    with at_most(1000):
        assert some(100) == 4950
    assert sys.getprofile() is None


def test_work_beyond_the_bound() -> None:
    with pytest.raises(TooMuchWork, match="more than 1000 calls"), at_most(1000):
        while True:
            some(100)
    assert sys.getprofile() is None
