"""Answers kept between runs: never those of another tree, engine or question, and never in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from finding_samples import resolution
from msgspec.structs import replace

from sgcheck.findings import store as store_module
from sgcheck.findings.resolving import Question, Release, bare
from sgcheck.findings.store import Store, engine_digest
from sgcheck.resolve.resolution import FieldAnswer, Outcome, OutcomeCase, Reason, Resolution
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import resolve_target

TARGET = resolve_target("sm90", None)
QUESTION = Question(("--tp", "2"), (("A", "1"),), TARGET, UNKNOWN_MODEL)


def test_an_answer_comes_back_to_an_equal_question_only(tmp_path: Path) -> None:
    store = Store(tmp_path, "sha256:0")
    answer = replace(resolution(), fields={"a": FieldAnswer("a", "decided", [1, {"b": None}])})
    store.put("answer", QUESTION, answer)
    assert Store(tmp_path, "sha256:0").get("answer", QUESTION, Resolution) == answer
    others = [
        replace(QUESTION, argv=("--tp", "4")),
        replace(QUESTION, env=()),
        replace(QUESTION, target=resolve_target("sm100", None)),
        replace(QUESTION, model=replace(UNKNOWN_MODEL, files={"config.json": b"{}"})),
        replace(QUESTION, drafts=(("x", UNKNOWN_MODEL),)),
        replace(QUESTION, files=(("c.yaml", b"tp: 2"),)),
    ]
    assert [store.get("answer", other, Resolution) for other in others] == [None] * len(others)
    assert store.get("flags", QUESTION, Resolution) is None
    assert Store(tmp_path, "sha256:1").get("answer", QUESTION, Resolution) is None
    assert Store(tmp_path, "sha256:0", "explore").get("answer", QUESTION, Resolution) is None


def test_an_answer_that_cannot_be_written_down_is_not_kept(tmp_path: Path) -> None:
    store = Store(tmp_path, "sha256:0")
    store.put("answer", QUESTION, lambda: None)
    assert store.get("answer", QUESTION, Resolution) is None
    assert list(tmp_path.rglob("*.answer")) == []


def test_a_changed_engine_meets_no_old_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path, "sha256:0").put("answer", QUESTION, resolution())
    monkeypatch.setattr(store_module, "engine_digest", lambda: "another" * 8)
    assert Store(tmp_path, "sha256:0").get("answer", QUESTION, Resolution) is None


def test_the_engines_digest_changes_with_any_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sgcheck", "sgcheck_rules"):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("")
        (tmp_path / name / "inner" / "x.toml").write_text("a = 1")
    import sgcheck
    import sgcheck_rules

    monkeypatch.setattr(sgcheck, "__file__", str(tmp_path / "sgcheck" / "__init__.py"))
    monkeypatch.setattr(sgcheck_rules, "__file__", str(tmp_path / "sgcheck_rules" / "__init__.py"))

    def digest() -> str:
        engine_digest.cache_clear()
        return engine_digest()

    seen = [digest(), digest()]
    assert seen[0] == seen[1]
    (tmp_path / "sgcheck_rules" / "inner" / "x.toml").write_text("a = 12")
    seen.append(digest())
    (tmp_path / "sgcheck" / "new.py").write_text("")
    seen.append(digest())
    (tmp_path / "sgcheck" / "__pycache__").mkdir()
    assert digest() == seen[-1], "compiled files say nothing new"
    assert len(set(seen)) == 3
    engine_digest.cache_clear()


@pytest.mark.parametrize("content", [b"", b"\x00" * 40, b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_entry_is_none(content: bytes, tmp_path: Path) -> None:
    store = Store(tmp_path, "sha256:0")
    store.put("answer", QUESTION, resolution())
    (entry,) = tmp_path.rglob("*.answer")
    entry.write_bytes(content)
    assert store.get("answer", QUESTION, Resolution) is None


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file", "sha256:0")
    store.put("answer", QUESTION, resolution())
    assert store.get("answer", QUESTION, Resolution) is None
    store.tidy()


def test_old_entries_and_engines_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setattr(store_module, "KEPT_ENTRIES", 3)
    for number in range(6):
        folder = tmp_path / f"engine{number}"
        folder.mkdir()
        (folder / "x.answer").write_bytes(b"")
        os.utime(folder, ns=(number, number))
    store = Store(tmp_path, "sha256:0")
    for number in range(5):
        store.put("answer", number, number)
    store.tidy()
    left = sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("engine"))
    assert left == ["engine4", "engine5"]
    assert sum(store.get("answer", number, int) is not None for number in range(5)) == 3


class Predictor:
    """Counts what it is asked."""

    def __init__(self, outcome: Outcome) -> None:
        self.asked = 0
        self.outcome = outcome

    def check(self, launch: Any, *, explore: bool, depth: str) -> Resolution:
        self.asked += 1
        return resolution(self.outcome)


@pytest.fixture
def predictor() -> Predictor:
    return Predictor(Outcome("ok"))


def _release(tmp_path: Path, predictor: Predictor) -> Release:
    return Release(None, predictor, store=Store(tmp_path, "sha256:0"))  # type: ignore[arg-type]


def test_equal_launches_are_resolved_once_across_processes(
    tmp_path: Path, predictor: Predictor
) -> None:
    other_words = replace(
        QUESTION, target=replace(TARGET, origins=(("gpu", "a file"),), notes=("x",))
    )
    first = _release(tmp_path, predictor)
    assert first.resolve(QUESTION) == first.resolve(other_words)
    assert _release(tmp_path, predictor).resolve(other_words) == first.resolve(QUESTION)
    assert predictor.asked == 1
    assert bare(other_words.target) == bare(TARGET)


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("unknown", reason=Reason("limit(seconds)")),
        Outcome("unknown", reason=Reason("internal-fault")),
        Outcome("conditional", cases=(OutcomeCase("a", "unknown", None, Reason("limit(steps)")),)),
    ],
)
def test_what_hangs_on_this_computer_is_not_kept(
    tmp_path: Path, predictor: Predictor, outcome: Outcome
) -> None:
    predictor.outcome = outcome
    _release(tmp_path, predictor).resolve(QUESTION)
    _release(tmp_path, predictor).resolve(QUESTION)
    assert predictor.asked == 2
