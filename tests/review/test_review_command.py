"""`sgcheck diff` as a command: where launches come from, exit codes, bad input."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from review_trees import ENTRY, TEXTS

from sgcheck.cli import run

CASE = {"id": "c1", "arch": "sm120", "gpu": {"count": 8}, "argv": ["--model-path", "qwen3-8b"]}


def write(folder: Path, changes: dict[str, str] | None = None) -> Path:
    for path, text in {**TEXTS, **(changes or {})}.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.chdir(tmp_path)
    text = TEXTS[ENTRY].replace("self.tp > 8", "self.tp > 4")
    write(tmp_path / "old")
    write(tmp_path / "new", {ENTRY: text.replace('self.spec == "NEXTN"', 'self.spec == "NEXT"')})
    return "old", "new"


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def sgcheck(capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*args: str) -> tuple[int, str, str]:
        code = run(args)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


MODEL = ("--model", "qwen3-8b", "--arch", "sm90")


def test_a_launch_that_breaks(trees: tuple[str, str], sgcheck: Call) -> None:
    code, out, err = sgcheck("diff", *trees, *MODEL, "--", "--spec", "EAGLE", "--tp", "8")
    assert (code, err) == (1, "")
    assert "1 launch no longer starts" in out
    assert "too many for a draft" in out
    assert ENTRY in out


@pytest.mark.parametrize(
    ("flags", "more", "code"),
    [
        (("--spec", "EAGLE", "--tp", "8"), (), 1),
        (("--spec", "EAGLE", "--tp", "8"), ("--fail-on", "never"), 0),
        (("--spec", "EAGLE", "--tp", "8"), ("--exit-zero",), 0),
        (("--spec", "NEXTN"), (), 0),
        (("--spec", "NEXTN"), ("--fail-on", "backend"), 0),
        (("--spec", "NEXTN"), ("--fail-on", "value"), 1),
        (("--tp", "2"), ("--fail-on", "any"), 0),
    ],
)
def test_exit_codes(
    trees: tuple[str, str], sgcheck: Call, flags: tuple[str, ...], more: tuple[str, ...], code: int
) -> None:
    assert sgcheck("diff", *trees, *MODEL, *more, "--", *flags)[0] == code


def test_cases(trees: tuple[str, str], sgcheck: Call, tmp_path: Path) -> None:
    lines = [json.dumps({**CASE, "model_dir": "model"}), "", json.dumps(CASE)]
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"architectures": ["X"]}', "utf-8")
    (tmp_path / "cases.jsonl").write_text("\n".join(lines), "utf-8")
    code, out, _ = sgcheck("diff", *trees, "--cases", "cases.jsonl", "--format", "json")
    assert code == 0
    assert [each["name"] for each in json.loads(out)["launches"]] == ["c1", "c1 #2"]


def test_deployment_files(trees: tuple[str, str], sgcheck: Call, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(
        "python -m sglang.launch_server --model-path qwen3-8b --spec EAGLE --tp 8\n", "utf-8"
    )
    command = ("diff", *trees, "--launches", "run.sh", "--gpu", "h200")
    code, out, _ = sgcheck(*command, "--format", "json")
    assert code == 1
    assert json.loads(out)["launches"][0]["name"] == "run.sh:1"
    code, out, _ = sgcheck(*command, "--format", "sarif")
    (result,) = json.loads(out)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "run.sh"
    assert place["region"] == {"startLine": 1}


def test_a_branch_of_a_checkout(trees: tuple[str, str], sgcheck: Call, tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    write(repository / "python")

    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *words], cwd=repository, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "work")
    text = TEXTS[ENTRY].replace("interval: int = 1", "interval: int = 7")
    write(repository / "python", {ENTRY: text})
    git("commit", "-qam", "two")
    git("checkout", "-q", "main")
    code, out, _ = sgcheck("diff", f"{repository}@main", f"{repository}@work", *MODEL)
    assert code == 0
    assert "interval: 1 → 7" in out
    code, _, err = sgcheck("diff", f"{repository}@main", f"{repository}@nowhere", *MODEL)
    assert code == 2
    assert "nowhere" in err
    assert err.count("\n") == 1


def test_the_same_tree_twice(trees: tuple[str, str], sgcheck: Call) -> None:
    code, out, err = sgcheck("diff", trees[0], trees[0], *MODEL)
    assert (code, err) == (0, "")
    assert "no difference" in out
    assert "both trees are the same" in out


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("old", "nowhere"), 2, "there is no 'nowhere'"),
        (("old", "empty"), 2, "empty holds no sglang/"),
        (("old", "bare"), 3, "has no sglang/srt/server_args.py"),
        (("old", "new", *MODEL, "--", "--no-such-flag"), 3, "neither old nor new accepts"),
        (("old", "old", *MODEL, "--", "--no-such-flag"), 3, "neither old nor old accepts"),
        (("old", "new", "--cases", "none.jsonl"), 2, "none.jsonl"),
        (("old", "new", "--cases", "bad.jsonl"), 2, "bad.jsonl:2: the line is not JSON"),
        (("old", "new", "--cases", "void.jsonl"), 3, "void.jsonl holds no case"),
        (("old", "new", "--launches", "bad.jsonl"), 3, "no SGLang launch"),
        (("old", "new", "--launches", "absent"), 2, "absent"),
        (("old", "new", "--sglang", "0.5.9"), 2, "leave --sglang"),
        (("old", "new", "--models-root", "x"), 2, "--models-root"),
        (("old", "new", "--cases", "a", "--launches", "b"), 2, "leave one of them out"),
        (("old", "new", "--arch", "sm999"), 2, "sm999"),
        (("old",), 2, "Missing argument 'B'"),
    ],
)
def test_bad_input_is_one_sentence(
    trees: tuple[str, str],
    sgcheck: Call,
    tmp_path: Path,
    args: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bare" / "sglang" / "srt").mkdir(parents=True)
    (tmp_path / "bare" / "sglang" / "__init__.py").touch()
    (tmp_path / "bad.jsonl").write_text(json.dumps(CASE) + "\nnot json\n", "utf-8")
    (tmp_path / "void.jsonl").write_text("\n", "utf-8")
    found, out, err = sgcheck("diff", *args)
    assert found == code
    assert words in err
    assert out == ""
    sentences = [line for line in err.splitlines() if line.startswith("sgcheck: ")]
    assert len(sentences) == 1
    assert "Traceback" not in err
