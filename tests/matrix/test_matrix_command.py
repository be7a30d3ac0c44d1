"""`sgcheck matrix` over an invented release: what it answers, in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from matrix_tree import OLD_IS_GONE, MatrixRun, Ran, write_model, write_release
from referencing import Registry, Resource

import sgcheck.matrix
import sgcheck.report
from sgcheck.cli import run

MATRIX_SCHEMA = Path(sgcheck.matrix.__file__).parent / "matrix.schema.json"
CHECK_SCHEMA = Path(sgcheck.report.__file__).parent / "check.schema.json"


@pytest.fixture
def matrix_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MatrixRun:
    """`matrix_run(*options)`, in a folder that holds the releases `old` and `new` and a model `m`."""
    write_release(tmp_path / "old", "1.0.0", fast=10)
    write_release(tmp_path / "new", "1.1.0", fast=9)
    write_model(tmp_path / "m")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "SGCHECK_CONFIG"):
        monkeypatch.delenv(name, raising=False)

    def call(*args: str) -> Ran:
        release = () if any(a.startswith("--sglang") for a in args) else ("--sglang", "old")
        model = () if any("model" in a for a in args) else ("--model", "m")
        code = run(["matrix", "--isolated", *release, *model, *args])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


def document(run: MatrixRun, *args: str) -> dict[str, Any]:
    """The JSON of a run, valid against the published schema."""
    ran = run(*args, "--format", "json", "--exit-zero")
    assert ran.code == 0, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    schema = json.loads(MATRIX_SCHEMA.read_text(encoding="utf-8"))
    check = json.loads(CHECK_SCHEMA.read_text(encoding="utf-8"))
    registry: Registry[Any] = Registry().with_resource(
        "sgcheck.check/1", Resource.from_contents(check)
    )
    jsonschema.Draft202012Validator(schema, registry=registry).validate(found)
    return found


def values(found: dict[str, Any], answer: str) -> dict[tuple[str, ...], Any]:
    """Point -> the decided value of an answer, None where it has none."""
    return {
        tuple(cell["at"].values()): (cell["answers"][answer] or {}).get("value")
        for cell in found["cells"]
    }


def test_what_auto_becomes_on_every_architecture(matrix_run: MatrixRun) -> None:
    found = document(matrix_run, "--moe", "auto")
    got = values(found, "main.moe_runner")
    assert (
        got[("sm90",)] == "auto" and got[("sm100",)] == "cutlass" and got[("sm120",)] == "cutlass"
    )
    assert values(found, "main.attention_prefill")[("sm90",)] == "fa3"
    assert len(got) == 10 and found["rows"] == ["arch"] and found["columns"] == []


def test_which_backends_can_be_chosen_and_what_the_draft_gets(matrix_run: MatrixRun) -> None:
    found = document(matrix_run, "--arch", "sm120", "--moe", "all", "--spec", "NEXTN")
    assert found["axes"][0]["values"] == ["auto", "triton", "cutlass", "old"]
    assert found["axes"][0]["field"] == "moe_runner_backend"
    draft = values(found, "draft.moe_runner")
    assert draft == {
        ("auto",): "cutlass",
        ("triton",): "triton",
        ("cutlass",): "cutlass",
        ("old",): None,
    }
    failed = found["cells"][3]["outcome"]
    assert failed["status"] == "startup_error"
    assert failed["error"]["line"] == OLD_IS_GONE


def test_a_value_that_is_not_kept_is_marked_so(matrix_run: MatrixRun) -> None:
    found = document(matrix_run, "--arch", "sm120", "--vary", "moe=auto,triton")
    assert found["cells"][0]["marks"] == {"main.moe_runner": "replaced"}
    assert found["cells"][1]["marks"] == {}


def test_differences_are_marked_against_the_first_column(matrix_run: MatrixRun) -> None:
    found = document(matrix_run, "--arch", "sm80,sm90", "--vary", "PAGES=1,2", "--columns", "arch")
    marks = {tuple(c["at"].values()): c["marks"] for c in found["cells"]}
    assert marks[("sm90", "1")] == {"main.attention_prefill": "differs"}
    assert marks[("sm80", "2")] == {}


@pytest.mark.parametrize(
    ("vary", "answer", "expected"),
    [
        ("PAGES=unset,3", "page_size", {("unset",): 1, ("3",): 3}),
        ("tp=1,4", "page_size", {("1",): 1, ("4",): 4}),
        ("quiet", "quiet", {("on",): True, ("off",): False}),
        ("gpu=b200,h200", "attention_backend", {("b200",): "flashinfer", ("h200",): "fa3"}),
        ("sglang=old,new", "moe_runner_backend", {("old",): "auto", ("new",): "cutlass"}),
        ("spec=unset,NEXTN", "speculative_algorithm", {("unset",): None, ("NEXTN",): "EAGLE"}),
        ("model=m,qwen3-8b", "tp_size", {("m",): 1, ("qwen3-8b",): 1}),
        ("cuda=12.9,13.0", "tp_size", {("12.9",): 1, ("13.0",): 1}),
        ("gpu-count=1,8", "tp_size", {("1",): 1, ("8",): 1}),
    ],
)
def test_everything_can_vary(
    matrix_run: MatrixRun, vary: str, answer: str, expected: dict[tuple[str, ...], Any]
) -> None:
    machine = () if vary.startswith("gpu=") else ("--arch", "sm90")
    options = ("--vary", vary, "--show", answer, *machine)
    if vary.startswith("sglang"):
        options = ("--sglang", "old,new", "--show", answer, *machine)
    assert values(document(matrix_run, *options), answer) == expected


def test_an_unknown_model_stays_unknown(matrix_run: MatrixRun) -> None:
    found = document(matrix_run, "--vary", "model=unknown,m", "--arch", "sm90", "--show", "tp_size")
    assert [cell["outcome"]["status"] for cell in found["cells"]] == ["ok", "ok"]


def test_several_processes_give_the_same_bytes(matrix_run: MatrixRun) -> None:
    options = ("--arch", "sm80,sm90,sm100,sm120", "--moe", "all", "--spec", "NEXTN,EAGLE")
    one = matrix_run(*options, "--jobs", "1", "--format", "json")
    two = matrix_run(*options, "--jobs", "2", "--format", "json")
    assert one == two
    assert len(json.loads(one.out)["cells"]) == 32 and one.code == 1


def test_a_fault_in_a_process_reaches_the_user(matrix_run: MatrixRun) -> None:
    missing = "--vary", "model=m,nowhere/at-all"
    ran = matrix_run(*missing, "--arch", "all", "--moe", "all", "--jobs", "2")
    assert ran.code == 2 and "nowhere/at-all" in ran.err and "Traceback" not in ran.err


def test_text_fits_the_terminal(matrix_run: MatrixRun) -> None:
    ran = matrix_run("--arch", "all", "--moe", "all", "--spec", "NEXTN,EAGLE")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "[1] ValueError: old is gone" in ran.out
    assert f"sglang/srt/server_args.py:{OLD_IS_GONE}" in ran.out
    assert "a = auto" in ran.out and "* differs from the first column of its row" in ran.out


def test_text_of_one_axis(matrix_run: MatrixRun) -> None:
    ran = matrix_run("--arch", "sm90,sm120", "--moe", "auto")
    lines = ran.out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("arch"))
    assert lines[at].split() == ["arch", "outcome", "moe_runner", "attention_prefill"]
    assert lines[at + 1].split() == ["sm90", "starts", "auto", "fa3"]
    assert lines[at + 2].split() == ["sm120", "starts", "cutlass*", "flashinfer*"]
    assert ran.code == 0


def test_csv_has_a_line_per_cell(matrix_run: MatrixRun) -> None:
    ran = matrix_run("--arch", "sm120", "--moe", "all", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert [row["--moe-runner-backend"] for row in rows] == ["auto", "triton", "cutlass", "old"]
    assert rows[3]["error"] == "ValueError: old is gone" and rows[3]["outcome"] == "startup_error"
    assert rows[1]["main.moe_runner"] == "triton" and rows[1]["main.moe_runner.status"] == "decided"


def test_markdown_is_one_table_per_answer(matrix_run: MatrixRun) -> None:
    ran = matrix_run("--arch", "sm90,sm120", "--moe", "all", "--format", "markdown")
    tables = [b for b in ran.out.split("\n\n") if b.startswith("| ")]
    assert len(tables) == 2
    for table in tables:
        assert len({line.replace("\\|", "").count("|") for line in table.splitlines()}) == 1


def test_html_says_it_all(matrix_run: MatrixRun, tmp_path: Path) -> None:
    ran = matrix_run("--arch", "sm90,sm120", "--moe", "all", "--output", "x.html")
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert ran.code == 1 and "wrote x.html" in ran.err and not ran.out
    assert page.count("<tr>") == 2 * (1 + 4) and "old is gone" in page and "<script" not in page


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--vary", "moe-runner-backendd"], ["no flag", "--moe-runner-backend"]),
        (["--vary", "spec", "--arch", "sm90"], ["no list of values for --speculative-algorithm"]),
        (["--moe", "all", "--show", "moe_runer"], ["moe_runer", "did you mean moe_runner"]),
        (["--arch", "sm90"], ["nothing varies"]),
        (["--arch", "sm90,sm199"], ["sm199"]),
        (["--vary", "arch=sm90,sm120", "--gpu", "h200"], ["sm120", "leave one of the two out"]),
        (["--vary", "moe=triton", "--moe", "auto"], ["--moe-runner-backend", "leave one"]),
        (["--vary", "moe=auto", "--", "--moe-runner-backend", "x"], ["leave one of them out"]),
        (["--vary", "P=1", "--env", "P=2"], ["P both varies"]),
        (["--vary", "P", "--arch", "sm90"], ["values of P are open"]),
        (["--vary", "gpu-count=x", "--arch", "sm90"], ["whole numbers"]),
        (["--vary", "quiet=maybe", "--arch", "sm90"], ["--quiet takes no value"]),
        (["--moe", "all", "--rows", "tp"], ["tp does not vary", "moe"]),
        (["--moe", "all", "--rows", "moe", "--columns", "moe"], ["both rows and columns"]),
        (["--moe", "all", "--output", "no/such/folder.html"], ["cannot be written"]),
    ],
)
def test_bad_input_is_one_sentence(
    matrix_run: MatrixRun, options: list[str], words: list[str]
) -> None:
    ran = matrix_run(*options)
    assert ran.code == 2 and not ran.out
    assert ran.err.startswith("sgcheck: ") and "Traceback" not in ran.err
    for word in words:
        assert word in ran.err


def test_too_many_cells_are_refused_before_any_is_answered(matrix_run: MatrixRun) -> None:
    numbers = ",".join(map(str, range(1, 1002)))
    ran = matrix_run("--vary", f"tp={numbers}", "--vary", f"PAGES={numbers}", "--arch", "sm90")
    assert ran.code == 2 and "1,002,001 cells" in ran.err
