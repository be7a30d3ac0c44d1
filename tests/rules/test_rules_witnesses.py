"""What evidence records say of backends, and the pages that show it beside what people report."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from sgcheck.cli import run
from sgcheck.confirm.evidence import load
from sgcheck.report import knowledge
from sgcheck.report.terminal import Terminal
from sgcheck_rules.witnesses import FOLDER, Witness, recorded, witnesses

ROOT = Path(__file__).parents[2]


def record(**changes: Any) -> dict[str, Any]:
    """A live launch on an RTX PRO 6000 that served plausible text."""
    made: dict[str, Any] = {
        "schema": "sgcheck.evidence/1",
        "evidence": "live",
        "sglang": "0.5.9",
        "machine": {"arch": "sm120", "gpu": "NVIDIA RTX PRO 6000"},
        "architecture": "TinyForCausalLM",
        "effective": {
            "main": {"moe_runner": "flashinfer_cutlass", "fp4_gemm": "auto", "quantization": "fp8"},
            "draft": {"moe_runner": "triton"},
        },
        "outcome": {"observed": "ok", "error": None},
        "output": {"verdict": "plausible"},
    }
    return made | changes


def failing(**error: Any) -> dict[str, Any]:
    where = {"type": "ValueError", "message": "", "file": "sglang/a.py", "line": 7, **error}
    return record(effective={}, outcome={"observed": "startup_error", "error": where})


def test_a_launch_that_served() -> None:
    seen = witnesses([record()])
    assert [(w.role, w.operation, w.backend, w.arch, w.how, w.result) for w in seen] == [
        ("main", "moe_runner", "flashinfer_cutlass", "sm120", "live", "works"),
        ("draft", "moe_runner", "triton", "sm120", "live", "works"),
    ]
    assert (seen[0].release, seen[0].gpu) == ("0.5.9", "NVIDIA RTX PRO 6000")


@pytest.mark.parametrize(
    ("verdict", "result"),
    [("plausible", "works"), ("garbage", "garbage"), ("not tried", "serves"), (None, "serves")],
)
def test_the_text_decides_what_a_launch_shows(verdict: str | None, result: str) -> None:
    assert {w.result for w in witnesses([record(output={"verdict": verdict})])} == {result}


def test_a_simulation_shows_only_what_was_resolved() -> None:
    seen = witnesses([record(evidence="simulate")])
    assert {(w.how, w.result, w.gpu) for w in seen} == {("simulated", "resolves", None)}


def test_an_error_speaks_of_the_backend_that_its_condition_names() -> None:
    (prefill, decode) = witnesses([failing(about={"attention_backend": "trtllm_mha"})])
    assert (prefill.operation, decode.operation) == ("attention_prefill", "attention_decode")
    assert (prefill.result, prefill.error) == ("fails", "ValueError at sglang/a.py:7")
    assert witnesses([failing(about={}), failing()]) == []
    assert witnesses([failing(about={"grammar_backend": "xgrammar"})]) == []


def test_records_that_say_nothing() -> None:
    assert witnesses([record(machine={"arch": None}), record(evidence="url")]) == []
    assert witnesses([record(outcome={"observed": "resolved"}), record(effective=None)]) == []
    assert witnesses([{}, {"evidence": "live", "machine": []}]) == []


def test_the_records_that_come_with_sgcheck() -> None:
    found = recorded()
    live = {(w.operation, w.backend, w.arch, w.result) for w in found if w.how == "live"}
    assert live >= {
        ("moe_runner", "triton_kernel", "sm90", "serves"),
        ("attention_decode", "triton", "sm90", "serves"),
        ("attention_prefill", "trtllm_mha", "sm90", "fails"),
    }
    for path in FOLDER.glob("*.jsonl"):
        for kept in load(path.read_text("utf-8").splitlines(), path.name):
            error = kept["outcome"]["error"]
            assert error is None or error["message"] == ""


# -- pages -----------------------------------------------------------------------------


def entry(topic: str, backend: str, how: str, known: list[knowledge.Entry]) -> knowledge.Entry:
    (found,) = [e for e in known if (e.topic, e.backend, e.how) == (topic, backend, how)]
    return found


def test_what_was_seen_several_times_is_one_line() -> None:
    twice = [*witnesses([record(), record(sglang="0.5.10"), record(architecture=None)])]
    found = [e for e in knowledge.entries(twice) if e.how == "live" and e.role == "main"]
    assert [(e.launches, e.releases, e.models) for e in found] == [
        (3, ["0.5.9", "0.5.10"], ["TinyForCausalLM"])
    ]
    assert found[0].words() == (
        "sm120 (NVIDIA RTX PRO 6000); SGLang 0.5.9, 0.5.10; TinyForCausalLM; 3 launches"
    )


def test_a_page_says_how_each_fact_is_known() -> None:
    seen = [
        *witnesses([record(), record(evidence="simulate", machine={"arch": "sm100"})]),
        Witness("main", "moe_runner", "blue", "sm90", "live", "fails", "0.5.9", error="E at x:1"),
    ]
    known = knowledge.entries(seen)
    page = knowledge.markdown("moe_runner", known)
    row = next(line for line in page.splitlines() if line.startswith("| `flashinfer_cutlass`"))
    head = next(line for line in page.splitlines() if line.startswith("| backend"))
    cells = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    assert "resolves (simulated)" in cells["sm100"]
    assert {"works (live)", "works (reported)", "crash (reported)"} <= set(
        cells["sm120"].split("<br>")
    )
    assert "- **fails**, live: sm90; SGLang 0.5.9; E at x:1; 1 launch" in page
    shown = knowledge.text("flashinfer_cutlass", known, Terminal())
    assert "moe_runner; sm120 (NVIDIA RTX PRO 6000)" in shown and "reported" in shown
    assert "draft: " in knowledge.text("triton", known, Terminal())


def test_every_report_has_its_sources_on_a_page() -> None:
    known = knowledge.entries(())
    text = "".join(knowledge.markdown(topic, known) for topic in knowledge.TOPICS)
    assert all(source in text for e in known for source in e.sources)
    assert {e.topic for e in known} <= set(knowledge.TOPICS)


# -- the command -----------------------------------------------------------------------


def test_own_records_beside_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps(record(machine={"arch": "sm89", "gpu": "NVIDIA L4"})) + "\n")
    words = ["explain", "flashinfer_cutlass", "--format", "json"]
    assert run(words) == 0
    before = json.loads(capsys.readouterr().out)
    assert run([*words, "--evidence", str(own)]) == 0
    after = json.loads(capsys.readouterr().out)
    assert after["schema"] == "sgcheck.backends/1"
    added = [e for e in after["entries"] if e not in before["entries"]]
    assert [(e["how"], e["result"], e["arch"]) for e in added] == [("live", "works", ["sm89"])]


def test_operations_and_names_that_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", "backends"]) == 0
    assert "moe_runner" in capsys.readouterr().out
    assert run(["explain", "moe_runner", "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("# MoE runners\n")
    assert run(["explain", "flashinfer_cutlas"]) == 2
    assert "did you mean flashinfer_cutlass?" in capsys.readouterr().err
    (tmp_path / "bad").write_text("{}\n")
    assert run(["explain", "triton", "--evidence", str(tmp_path / "bad")]) == 2
    assert "bad:1: this is no evidence record" in capsys.readouterr().err
    assert run(["explain", "triton", "--evidence", str(tmp_path / "none")]) == 2
    assert "cannot read the records" in capsys.readouterr().err
    assert run(["explain", "forced", "--evidence", str(tmp_path / "bad")]) == 2
    assert "is a rule" in capsys.readouterr().err


def test_records_are_kept_once_and_without_sglangs_text(tmp_path: Path) -> None:
    path = ROOT / "rules" / "tools" / "keep_evidence.py"
    spec = importlib.util.spec_from_file_location("keep_evidence", path)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    records = [record(), failing(message="words of SGLang")]
    assert tool.add(records, tmp_path) == 2
    assert tool.add(records, tmp_path) == 0
    (file,) = tmp_path.iterdir()
    assert file.name == "live-0.5.9.jsonl" and "words of" not in file.read_text()
    assert len(witnesses(load(file.read_text().splitlines(), file.name))) == 2
