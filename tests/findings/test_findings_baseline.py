"""A baseline recognises what it holds, also in a file that was renamed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from finding_samples import FINDING

from sgcheck.findings.baseline import baseline_text, load_baseline
from sgcheck.findings.model import Place


def test_a_renamed_file_keeps_its_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    old = replace(FINDING, place=Place("old.sh", 1, 1, 1, 2))
    Path("known.json").write_text(baseline_text([old]))
    new = replace(FINDING, place=Place("new.sh", 1, 1, 1, 2), fingerprint="f" * 32)
    known = load_baseline("known.json")
    assert known.takes(new)
    assert list(known.unused()) == []
    assert not known.takes(replace(new, fingerprint="e" * 32)), "an entry is for one finding"


def test_a_copy_of_a_file_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.sh").write_text("")
    old = replace(FINDING, place=Place("old.sh", 1, 1, 1, 2))
    Path("known.json").write_text(baseline_text([old]))
    new = replace(FINDING, place=Place("new.sh", 1, 1, 1, 2), fingerprint="f" * 32)
    assert not load_baseline("known.json").takes(new)
