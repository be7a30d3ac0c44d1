"""The packages of a tree: what its METADATA requires is read once, and never from a wrong file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sgcheck.resolve import installation as module
from sgcheck.resolve.installation import installation, required_by
from sgcheck.source.kept import keep
from sgcheck.source.tree import MemoryTree, Tree
from sgcheck_rules.packages import InstalledProfile, installed_profile

METADATA = """Name: sglang
Version: 9.9
Requires-Dist: torch==2.9.1
Requires-Dist: transformers<5,>=4.57
Requires-Dist: pytest; extra == "dev"
Requires-Dist: xgrammar==0.1.27; sys_platform == "linux"
"""


def tree(metadata: str | None = METADATA) -> Tree:
    return MemoryTree({"sglang/__init__.py": b""}, "9.9", metadata)


def read(of: Tree, changes: Mapping[str, str | bool], folder: Path | None) -> InstalledProfile:
    return installation(required_by(of, folder), of.version, changes)


def test_what_is_kept_answers_as_the_metadata_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = read(tree(), {}, tmp_path)
    assert fresh == installed_profile(METADATA, "9.9") == read(tree(), {}, None)
    assert fresh.version("xgrammar") == "0.1.27"
    assert fresh.has_dist("pytest") is not True
    monkeypatch.setattr(module, "requirements", lambda text: pytest.fail("it was kept"))
    assert read(tree(), {}, tmp_path) == fresh
    assert read(tree(), {"torch": False}, tmp_path).has_dist("torch") is False


def test_another_metadata_is_another_installation(tmp_path: Path) -> None:
    read(tree(), {}, tmp_path)
    other = METADATA.replace("2.9.1", "2.8.0")
    assert read(tree(other), {}, tmp_path).version("torch") == "2.8.0"
    assert not read(tree(None), {}, tmp_path).complete


@pytest.mark.parametrize(
    "content",
    [
        '{"format": 0, "requirements": [["torch", "1.0"]]}',
        '{"format": 1, "requirements": [["torch", 1]]}',
        '{"format": 1, "requirements": ["torch"]}',
        '{"format": 1, "requirements": {}}',
        '{"format": 1',
    ],
)
def test_what_was_kept_otherwise_is_read_anew(tmp_path: Path, content: str) -> None:
    read(tree(), {}, tmp_path)
    (kept,) = tmp_path.glob("*.json")
    assert keep(kept, content.encode())
    assert read(tree(), {}, tmp_path).version("torch") == "2.9.1"
