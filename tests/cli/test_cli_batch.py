"""`sgcheck batch`: order, bad lines, exit codes, parallel work."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.commands import engine
from sgcheck.commands.cases import BatchSettings, CaseWorker
from sgcheck.commands.options import SourceChoice
from sgcheck.report.document import Selection

Run = Callable[..., Any]


def case(name: Any = "c1", **changes: Any) -> dict[str, Any]:
    return {"id": name, "sglang": "0.5.9", "arch": "sm90", "argv": ["--tp", "8"], **changes}


def write(path: Path, *lines: Any) -> str:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    return str(path)


def documents(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_order_ids_and_defaults(sgcheck_run: Run, fake: Any, tmp_path: Path) -> None:
    other = case("c2", sglang=None, env={"A": "1"})
    path = write(tmp_path / "c.jsonl", case("c1"), "", other, case(3, kind="x", result={}))
    result = sgcheck_run("batch", path, "--sglang", "0.5.23")
    assert result.code == 0, result.err
    assert [d["id"] for d in documents(result.out)] == ["c1", "c2", 3]
    assert [d["sglang"]["version"] for d in documents(result.out)] == ["0.5.9", "0.5.23", "0.5.9"]
    assert [launch.env for launch in fake.launches if launch.env] == [{"A": "1"}]
    assert [item["spec"] for item in fake.opened] == ["0.5.9", "0.5.23"]


def test_standard_input(sgcheck_run: Run, fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for args in ((), ("-",)):
        stream = io.TextIOWrapper(io.BytesIO(json.dumps(case("s")).encode()))
        monkeypatch.setattr(sys, "stdin", stream)
        result = sgcheck_run("batch", *args)
        assert [d["id"] for d in documents(result.out)] == ["s"]


@pytest.mark.parametrize(
    ("line", "case_id", "message"),
    [
        ("{", None, "not JSON"),
        ("[]", None, "no object"),
        ('{"id": "x"}', "x", '"argv" must be a list of strings'),
        (case("x", argv="--tp 8"), "x", '"argv" must be a list of strings'),
        (case("x", env=["A=1"]), "x", '"env" must be an object of strings'),
        (case("x", env={"A": 1}), "x", '"env" must be an object of strings'),
        (case("x", sglang=5), "x", '"sglang" must be a string or null'),
        (case("x", arch=None), "x", "names no machine"),
        (case("x", arch="sm999"), "x", "sm999"),
        (case("x", sglang="9.9.9"), "x", "there is no release 9.9.9"),
        (case("x", model_dir="nowhere"), "x", "nowhere"),
        ('{"id": ' + "[" * 100_000, None, "beyond what can be read"),
        ('{"id": ' + "1" * 5000 + "}", None, "beyond what can be read"),
    ],
)
def test_a_bad_line_is_answered_and_the_run_goes_on(
    *, line: Any, case_id: Any, message: str, sgcheck_run: Run, fake: Any, tmp_path: Path
) -> None:
    path = write(tmp_path / "c.jsonl", line, case("good"))
    result = sgcheck_run("batch", path)
    assert result.code == 2
    bad, good = documents(result.out)
    assert bad == {
        "schema": "sgcheck.check/1",
        "id": case_id,
        "outcome": {"status": "unknown"},
        "error": bad["error"],
    }
    assert message in bad["error"]
    assert good["outcome"] == {"status": "ok"}
    assert "1 of 2 lines could not be analysed" in result.err


def test_a_line_that_is_not_utf8(sgcheck_run: Run, fake: Any, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"id": "\xff"}\n')
    result = sgcheck_run("batch", str(path))
    assert result.code == 2
    assert "not UTF-8 at byte 9" in documents(result.out)[0]["error"]


def test_a_fault_of_ours_ends_one_line_only(sgcheck_run: Run, fake: Any, tmp_path: Path) -> None:
    fake.fault = ZeroDivisionError("x")
    result = sgcheck_run("batch", write(tmp_path / "c.jsonl", case()))
    assert result.code == 2
    assert documents(result.out)[0]["error"] == "internal fault: ZeroDivisionError: x"


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(line: bytes) -> None:
    settings = BatchSettings(SourceChoice(None, None, True), Path(), Selection())
    answer = CaseWorker(settings).answer(line)
    assert answer.failed
    assert json.loads(answer.text)["error"]


@pytest.mark.parametrize(
    ("args", "code"),
    [([], 1), (["--exit-zero"], 0), (["--fail-on", "never"], 0)],
)
def test_a_predicted_failure_is_1(
    args: list[str], code: int, sgcheck_run: Run, fake: Any, tmp_path: Path
) -> None:
    path = write(tmp_path / "c.jsonl", case(), case("f", argv=["--fail"]))
    assert sgcheck_run("batch", path, *args).code == code


def test_no_case_is_3(sgcheck_run: Run, fake: Any, tmp_path: Path) -> None:
    result = sgcheck_run("batch", write(tmp_path / "c.jsonl", "", "  "))
    assert (result.code, result.out) == (3, "")


def test_models_root(sgcheck_run: Run, fake: Any, tmp_path: Path) -> None:
    folder = tmp_path / "root" / "models" / "m"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    path = write(tmp_path / "c.jsonl", case(model_dir="models/m"))
    result = sgcheck_run("batch", path, "--models-root", str(tmp_path / "root"))
    assert documents(result.out)[0]["model"]["architecture"] == "LlamaForCausalLM"
    assert sgcheck_run("batch", path).code == 2
    assert "no such directory" in sgcheck_run("batch", path, "--models-root", "no").err


def test_fields_and_a_name_that_no_release_has(sgcheck_run: Run, fake: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", case())
    result = sgcheck_run("batch", path, "--fields", "dtype,dtyp", "--no-trace")
    assert list(documents(result.out)[0]["fields"]) == ["dtype"]
    assert "no launch has the field dtyp" in result.err


def test_parallel_answers_keep_the_order(sgcheck_run: Run, tmp_path: Path) -> None:
    # Bad lines need no engine, so the worker processes are the real ones.
    lines = [json.dumps({"id": number}) for number in range(40)]
    result = sgcheck_run("batch", write(tmp_path / "c.jsonl", *lines), "--jobs", "2")
    assert result.code == 2
    assert [d["id"] for d in documents(result.out)] == list(range(40))


def test_a_missing_file(sgcheck_run: Run) -> None:
    result = sgcheck_run("batch", "none.jsonl")
    assert result.code == 2
    assert result.err == (
        "sgcheck: cannot read the cases in none.jsonl: No such file or directory; "
        "give a file with one JSON object per line, or - for standard input\n"
    )


def test_the_pool_forgets_the_least_recently_used(fake: Any) -> None:
    pool = engine.PredictorPool(SourceChoice(None, None, False))
    for spec in ("a", "b", "c", "d", "a", "e", "a", "b"):
        pool.get(spec)
    assert [item["spec"] for item in fake.opened] == ["a", "b", "c", "d", "e", "b"]
