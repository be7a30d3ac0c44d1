"""Options of the whole test run, and the releases that some tests read."""

from __future__ import annotations

import fcntl
import signal
import sys
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from sgcheck.errors import SourceError
from sgcheck.source import fetch, list_cached
from sgcheck.source.progress import silent

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
sys.path.append(str(Path(__file__).parents[1] / "rules" / "tools"))

# The same examples in every run; `--hypothesis-profile=random` looks for others.
settings.register_profile("random", settings.get_profile("default"))
settings.register_profile("same", derandomize=True)
settings.load_profile("same")

RELEASES = sorted(
    path.name.removesuffix(".json.gz")
    for path in (Path(__file__).parents[1] / "fixtures" / "oracle").glob("*.json.gz")
)
"""What the tests marked `release` read."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--full` and `--offline`."""
    parser.addoption(
        "--full",
        action="store_true",
        help="replay every recorded launch with the model hidden, not only a few",
    )
    parser.addoption(
        "--offline",
        action="store_true",
        help="skip the tests of releases if the cache lacks some, instead of fetching them",
    )


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the run takes the time for everything."""
    return bool(request.config.getoption("--full"))


@pytest.fixture(scope="module", autouse=True)
def types_are_let_go() -> Iterator[None]:
    """`typing` remembers the types it was asked for, and a tree's types hold the tree."""
    yield
    for forget in getattr(typing, "_cleanups", ()):
        forget()


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C interrupts this process and those that it starts, also where the run is in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test of releases has them, or ends with one sentence."""
    if item.get_closest_marker("release") is None:
        return
    if item.config.getoption("--offline"):
        lacking = sorted(set(RELEASES) - {release.version for release in list_cached()})
        if lacking:
            pytest.skip(f"--offline, and the cache lacks SGLang {', '.join(lacking)}")
    elif (problem := _fetched()) is not None:
        pytest.fail(f"{problem} With --offline the tests of releases are skipped.", pytrace=False)


@cache
def _fetched() -> str | None:
    """Fetch what the cache lacks; the sentence that says why that failed."""
    with open(__file__, "rb") as lock:  # noqa: PTH123
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several processes one fetches, the others wait
        for version in RELEASES:
            try:
                fetch(version, progress=silent)
            except SourceError as error:
                return str(error)
    return None
