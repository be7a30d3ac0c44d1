"""Options of the whole test run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "helpers"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--full`."""
    parser.addoption(
        "--full",
        action="store_true",
        help="replay every recorded launch with the model hidden, not only a few",
    )


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the run takes the time for everything."""
    return bool(request.config.getoption("--full"))
