"""A cache, a package index and a git of the test's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import sgcheck.source.cache


@pytest.fixture(autouse=True)
def own_surroundings(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No test but those of real releases sees the user's cache, index or git settings."""
    if request.node.get_closest_marker("release") is None:
        monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "cache"))
        for name in [name for name in os.environ if name.startswith(("PIP_", "GIT_", "UV_"))]:
            monkeypatch.delenv(name)
        index = tmp_path / "index"
        index.mkdir()
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(index))


@pytest.fixture
def remembering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files made just now are remembered as if they were old."""
    monkeypatch.setattr(sgcheck.source.cache, "RACY_NS", -(10**18))
