"""`check` twice: the second time nothing is run, and only an equal question meets the old answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgcheck.resolve.predict import Predictor
from sgcheck.sandbox.predictor import SandboxedPredictor

Run = Callable[..., Any]

TREE = """
import dataclasses

@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    value: int = 1

def prepare_server_args(argv):
    return ServerArgs(argv[1])
"""
ENDLESS = TREE.replace(
    "    return ServerArgs", "    while True:\n        pass\n    return ServerArgs"
)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "tree" / "sglang" / "srt"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").write_text("")
    (folder / "server_args.py").write_text(TREE)
    return tmp_path / "tree"


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The launches that were run."""
    ran: list[tuple[str, ...]] = []
    real = SandboxedPredictor.check

    def check(self: SandboxedPredictor, launch: Any, **options: Any) -> Any:
        ran.append(launch.argv)
        return real(self, launch, **options)

    monkeypatch.setattr(SandboxedPredictor, "check", check)
    return ran


def ask(run: Run, tree: Path, *words: str) -> Any:
    return run(
        "--sglang", str(tree), "--arch", "sm90", "--model", "qwen3-8b", "--format", "json", *words
    )


def test_an_equal_check_is_not_run_again(
    sgcheck_run: Run, tree: Path, checks: list[tuple[str, ...]]
) -> None:
    first = ask(sgcheck_run, tree)
    second = ask(sgcheck_run, tree)
    assert (first.code, first.out, first.err) == (second.code, second.out, second.err)
    assert json.loads(first.out)["fields"]["value"]["value"] == 1
    assert len(checks) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--arch", "sm100"],
        ["--env", "A=1"],
        ["--no-trace"],
        ["--with", "vllm"],
        ["--model", "llama-3.1-8b-instruct"],
        ["--", "--tp", "2"],
    ],
    ids=lambda words: words[0],
)
def test_another_question_is_run(
    words: list[str], sgcheck_run: Run, tree: Path, checks: list[tuple[str, ...]]
) -> None:
    ask(sgcheck_run, tree)
    ask(sgcheck_run, tree, *words)
    assert len(checks) == 2


def test_a_changed_tree_is_run(sgcheck_run: Run, tree: Path, checks: list[tuple[str, ...]]) -> None:
    ask(sgcheck_run, tree)
    file = tree / "sglang" / "srt" / "server_args.py"
    file.write_text(TREE.replace("value: int = 1", "value: int = 2"))
    changed = json.loads(ask(sgcheck_run, tree).out)
    assert changed["fields"]["value"]["value"] == 2
    assert len(checks) == 2


def test_an_answer_that_met_a_limit_is_not_kept(
    sgcheck_run: Run,
    tree: Path,
    checks: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    defaults = Predictor.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "steps", 50_000)
    (tree / "sglang" / "srt" / "server_args.py").write_text(ENDLESS)
    for _ in range(2):
        outcome = json.loads(ask(sgcheck_run, tree).out)["outcome"]
        assert outcome["reason"]["code"] == "limit(steps)"
    assert len(checks) == 2


def test_a_cache_that_cannot_be_written_changes_nothing(
    sgcheck_run: Run, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = ask(sgcheck_run, tree)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "file"))
    for _ in range(2):
        found = ask(sgcheck_run, tree)
        assert (found.code, found.out) == (expected.code, expected.out)
