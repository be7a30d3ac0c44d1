"""`sgcheck graph` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from graph_trees import ENTRY, IN_PLACE_FILES, line_of

from sgcheck.cli import run


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A directory with the small tree; the cache is its own."""
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "cache"))
    for path, text in {**IN_PLACE_FILES, "sglang/__init__.py": ""}.items():
        file = tmp_path / "tree" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return str(tmp_path / "tree")


Output = pytest.CaptureFixture[str]


def test_what_sets_a_field(checkout: str, capsys: Output) -> None:
    assert run(["graph", "--isolated", "--sglang", checkout, "draft-backend"]) == 0
    out = capsys.readouterr().out
    assert "draft_backend = None  default" in out
    assert 'draft_backend = "deep_gemm"' in out
    line = line_of(IN_PLACE_FILES, ENTRY, 'self.draft_backend = "deep_gemm"')
    assert f"{ENTRY}:{line}" in out


def test_a_query_as_json(checkout: str, capsys: Output) -> None:
    arguments = ["graph", "--isolated", "--sglang", checkout, "--query", "order-traps"]
    assert run([*arguments, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "sgcheck.graph-query/1"
    (answers,) = document["answers"]
    assert [trap["missed"] for trap in answers["found"] if trap["kind"] == "alias"] == [['"NEXTN"']]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("forced", "--algorithm: algorithm"),
        ("architecture", "asks is_sm100_supported"),
        ("cycles", "backend → chunk → backend"),
        ("order-traps", '"NEXTN" becomes "EAGLE" only later'),
    ],
)
def test_each_query_as_text(checkout: str, capsys: Output, query: str, words: str) -> None:
    assert run(["graph", "--isolated", "--sglang", checkout, "--query", query]) == 0
    assert words in capsys.readouterr().out


def test_influence_of_a_variable(checkout: str, capsys: Output) -> None:
    arguments = ["graph", "--isolated", "--sglang", checkout, "SGLANG_BIG_PAGES"]
    assert run([*arguments, "--query", "influences"]) == 0
    assert "page_size  1 rule" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "start"),
    [("x.html", "<!doctype html>"), ("x.dot", "digraph"), ("x.mmd", "flowchart"), ("x.json", "{")],
)
def test_the_ending_of_the_file_chooses_the_format(
    checkout: str, tmp_path: Path, name: str, start: str
) -> None:
    target = tmp_path / name
    arguments = ["graph", "--isolated", "--sglang", checkout, "chunk", "-o", str(target)]
    assert run(arguments) == 0
    assert target.read_text("utf-8").startswith(start)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["chunck"], "has no field chunck; did you mean chunk"),
        ([], "name a field"),
        (["chunk", "--query", "sets", "--format", "dot"], "leave one of them out"),
        (["--query", "influences"], "needs a name"),
        (["chunk", "-o", "no/such/folder/x.html"], "cannot be written"),
        (["chunk", "--arch", "sm90,sm100"], "name one architecture"),
    ],
)
def test_mistakes(checkout: str, capsys: Output, arguments: list[str], words: str) -> None:
    assert run(["graph", "--isolated", "--sglang", checkout, *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_tree_without_a_record(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "sglang/srt/server_args.py"
    file.parent.mkdir(parents=True)
    file.write_text("x = 1\n", "utf-8")
    (tmp_path / "sglang/__init__.py").write_text("", "utf-8")
    assert run(["graph", "--isolated", "--sglang", str(tmp_path), "chunk"]) == 3
    assert "no class ServerArgs" in capsys.readouterr().err
