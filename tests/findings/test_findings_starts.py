"""A scan follows launches of a known model past their arguments, and no further than it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from finding_samples import FINDING, checked, launches, resolution, settled, subject

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.checking import Checked
from sgcheck.findings.confirming import confirmed
from sgcheck.findings.model import Finding
from sgcheck.findings.parallel import first_starts
from sgcheck.findings.resolving import Question, Release
from sgcheck.findings.store import Store, is_lasting
from sgcheck.report.scan_document import scan_document
from sgcheck.report.scan_report import ScanReport
from sgcheck.report.summary import summary_line, why_unresolved
from sgcheck.report.terminal import Terminal
from sgcheck.resolve.resolution import (
    Cell,
    FieldAnswer,
    LaunchError,
    LayerRow,
    Outcome,
    Reason,
    Resolution,
    RoleRunning,
    Running,
)
from sgcheck.world.model_facts import UNKNOWN_MODEL, ModelFacts, load_model
from sgcheck.world.target import resolve_target
from sgcheck_rules.registry import by_id

ERROR = LaunchError("AttributeError", "no scale", "sglang/layers/q.py", 9, "Method.apply")
BUILD = LaunchError("ValueError", "tp_size 8 is not for q", "sglang/layers/q.py", 3, "Q.make")
STOP = Reason("not-modelled(foo)", "sglang/x.py", 5)


def row(kind: str, count: int, raises: LaunchError | None = None) -> LayerRow:
    kernel = Cell("decided", None if raises else "lib.gemm", raises=raises)
    return LayerRow(kind, count, "0-1", {"kernel": kernel})


def started(outcome: Outcome, *rows: LayerRow, reason: Reason | None = None) -> Resolution:
    running = Running(RoleRunning({}, rows), None, reason)
    fields = {"tp_size": FieldAnswer("tp_size", "decided", 8)}
    return msgspec.structs.replace(resolution(outcome), running=running, fields=fields)


def found(rule: str, text: str, result: Resolution) -> list[Finding]:
    about = subject(text, resolution=result)
    chosen = by_id()[rule]
    meta = chosen.meta
    builder = FindingBuilder(
        meta.id, severity=meta.severity, confidence=meta.confidence, launch=about.launch
    )
    return list(chosen.check(about, builder))


WHOLE = "sglang serve --model-path m --tp 8 --moe-runner-backend triton\n"


def test_a_start_that_fails_beyond_its_arguments_names_stage_line_and_flag() -> None:
    result = started(Outcome("startup_error", BUILD, stage="build"))
    (finding,) = found("start-failure", WHOLE, result)
    assert (finding.severity, finding.confidence) == ("error", "proved")
    assert "fails to start on sm90 while its model is built: ValueError" in finding.message
    assert finding.place.column == WHOLE.index("--tp 8") + 1
    assert finding.deciding is not None
    assert (finding.deciding.file, finding.deciding.line) == ("sglang/layers/q.py", 3)


@pytest.mark.parametrize("word", ["--tp $TP", "$FLAGS", "--moe-runner-backend $MOE"])
def test_nothing_is_said_of_what_an_open_part_may_build_otherwise(word: str) -> None:
    text = f"sglang serve --model-path m {word}\n"
    assert found("start-failure", text, started(Outcome("startup_error", BUILD, stage="build"))) == []  # fmt: skip
    broken = started(Outcome("ok", stage="kernel"), row("a.experts", 2, ERROR))
    assert found("first-batch-failure", text, broken) == []


def test_an_open_address_says_nothing_about_what_is_built() -> None:
    text = WHOLE.rstrip() + " --port $PORT\n"
    (finding,) = found("start-failure", text, started(Outcome("startup_error", BUILD, stage="build")))  # fmt: skip
    assert finding.severity == "error"


def test_layers_with_one_error_are_one_finding_at_the_flag_of_the_experts() -> None:
    rows = [row("m.layers.*.mlp.experts", 5, ERROR), row("m.layers.*.x.experts", 2, ERROR)]
    result = started(Outcome("ok", stage="kernel"), *rows, row("m.o_proj", 7))
    (finding,) = found("first-batch-failure", WHOLE, result)
    assert (finding.severity, finding.confidence) == ("error", "likely")
    assert "m.layers.*.mlp.experts, m.layers.*.x.experts (7 layers)" in finding.message
    assert finding.place.column == WHOLE.index("--moe-runner") + 1
    assert finding.deciding is not None
    assert (finding.deciding.file, finding.deciding.line) == ("sglang/layers/q.py", 9)
    assert found("first-batch-failure", WHOLE, started(Outcome("ok"), row("m.o_proj", 7))) == []


class Predictor:
    """Answers each depth with a resolution of its own, and notes what it is asked."""

    def __init__(self, kernels: Resolution) -> None:
        self.asked: list[str] = []
        self.kernels = kernels

    def check(self, launch: Any, *, explore: bool, depth: str) -> Resolution:
        self.asked.append(depth)
        return self.kernels if depth == "kernels" else started(Outcome("ok"))


def release(kernels: Resolution, store: Store | None = None, depth: Any = "kernels") -> Release:
    return Release(None, Predictor(kernels), store=store, depth=depth)  # type: ignore[arg-type]


def question(model: ModelFacts | None = None) -> Question:
    return Question(
        ("--tp", "8"), (), resolve_target("sm90", None), model or load_model("qwen3-8b")
    )


def test_a_start_that_cannot_be_followed_leaves_what_the_arguments_resolve_to() -> None:
    result = release(started(Outcome("unknown", reason=STOP, stage="build"), reason=STOP)).follow(question())  # fmt: skip
    assert (result.outcome.status, result.outcome.reason) == ("ok", None)
    assert result.running is not None
    assert result.running.reason == STOP
    assert found("start-failure", WHOLE, result) == []
    assert why_unresolved(replace(checked(), resolution=result)) == ""


def test_a_start_without_any_answer_is_asked_for_its_arguments() -> None:
    ended = resolution(Outcome("unknown", reason=Reason("worker-ended(time)")))
    asked = release(ended)
    assert asked.follow(question()).outcome.status == "ok"
    assert asked.made.asked == ["kernels", "arguments"]  # type: ignore[union-attr]


def test_unknown_models_and_depth_arguments_follow_no_start() -> None:
    broken = started(Outcome("startup_error", BUILD, stage="build"))
    for of, asks in ((release(broken), question(UNKNOWN_MODEL)), (release(broken, depth="arguments"), question())):  # fmt: skip
        assert of.follow(asks).outcome.status == "ok"
        assert of.made.asked == ["arguments"]  # type: ignore[union-attr]


def test_a_start_is_followed_once_and_never_taken_for_the_arguments(tmp_path: Path) -> None:
    broken = started(Outcome("startup_error", BUILD, stage="build"))
    first = release(broken, Store(tmp_path, "sha256:0"))
    assert [first.follow(question()) for _ in range(2)] == [broken, broken]
    assert first.resolve(question()).outcome.status == "ok"
    second = release(broken, Store(tmp_path, "sha256:0"))
    assert second.follow(question()) == broken
    assert second.resolve(question()).outcome.status == "ok"
    assert first.made.asked == ["kernels", "arguments"]  # type: ignore[union-attr]
    assert second.made.asked == []  # type: ignore[union-attr]


def test_a_start_that_ran_out_of_time_is_not_kept() -> None:
    assert is_lasting(started(Outcome("ok"), row("a", 1)))
    assert not is_lasting(started(Outcome("ok"), reason=Reason("limit(time)")))
    slow = LayerRow("a", 1, "0", {"kernel": Cell("unknown", reason=Reason("limit(steps)"))})
    assert not is_lasting(started(Outcome("ok"), slow))


def test_only_the_first_distinct_launches_of_known_models_are_followed() -> None:
    words = ["a", "b", "a", "c", "b"]
    some = [launches(f"sglang serve --model-path m --tokenizer-path {w}\n")[0] for w in words]
    known = [replace(settled(), model=load_model("qwen3-8b"))] * 4 + [settled()]
    after = first_starts(some, known, 2)
    assert [each.follow for each in after] == [True, True, True, False, True]
    report = ScanReport(
        tuple(replace(checked(), settled=each) for each in after),
        (),
        (),
        (),
        lambda f: (),
        Terminal(),
        1,
        {},
    )
    assert "1 launch checked up to the arguments only" in summary_line(report)


def test_memory_that_must_be_measured_is_a_warning() -> None:
    result = started(Outcome("startup_error", BUILD, stage="memory"))
    (finding,) = found("start-failure", WHOLE, result)
    assert (finding.severity, finding.confidence) == ("warning", "likely")
    assert "while its memory pools are made" in finding.message


def test_a_release_whose_start_was_not_followed_is_no_witness_against() -> None:
    facts = replace(settled(), assumed="no release", neighbours=("0.0.3", "0.0.2"))
    here = replace(
        checked(),
        settled=facts,
        findings=(FINDING,),
        resolution=started(Outcome("startup_error", BUILD, stage="build")),
    )

    def message(there: Resolution) -> str:
        def ask(version: str, indices: Sequence[int]) -> Mapping[int, Checked]:
            return dict.fromkeys(indices, replace(checked(), findings=(), resolution=there))

        (after,) = confirmed([here], ask, lambda rule: True)
        return after.findings[0].message

    assert "no such error" not in message(started(Outcome("ok", stage="build"), reason=STOP))
    assert "no such error" not in message(resolution(Outcome("ok")))
    assert "0.0.3 has no such error" in message(started(Outcome("ok", stage="kernel")))


def test_the_document_of_a_scan_says_what_runs() -> None:
    result = started(Outcome("ok", stage="kernel"), row("m.o_proj", 7))
    report = ScanReport((replace(checked(), resolution=result),), (), (), (), lambda f: (), Terminal(), 1, {})  # fmt: skip
    document: Any = scan_document(report)
    (launch,) = document["launches"]
    assert launch["outcome"] == {"status": "ok", "stage": "kernel"}
    (layer,) = launch["running"]["main"]["layers"]
    assert (layer["kind"], layer["kernel"]["value"]) == ("m.o_proj", "lib.gemm")
