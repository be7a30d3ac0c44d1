"""Logs and `/server_info` answers of real launches on an H200 (fixtures/confirm/logs)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confirm_fake import FIXTURES
from confirm_serving import serving

from sgcheck.cli import run
from sgcheck.confirm import evidence
from sgcheck.confirm.log import observe_log
from sgcheck.confirm.observation import matches, plain
from sgcheck.confirm.url import observation_of

LOGS = FIXTURES / "logs"
RECORDS = FIXTURES / "evidence" / "h200-0.5.15.jsonl"
MODEL = "models/tiny-moe"
BASE = (
    "--load-format dummy --skip-tokenizer-init --grammar-backend none --sampling-backend pytorch "
    "--mem-fraction-static 0.3 --disable-cuda-graph --random-seed 7"
).split()
DRAFT = (
    f"--speculative-algorithm NEXTN --speculative-draft-model-path {MODEL} "
    "--speculative-num-steps 2 --speculative-eagle-topk 1 --speculative-num-draft-tokens 3"
).split()
FLAGS = {
    "plain": ["--attention-backend", "triton"],
    "nextn": ["--attention-backend", "triton", *DRAFT],
    "moe": ["--attention-backend", "triton", "--moe-runner-backend", "triton_kernel"],
    "fails": ["--attention-backend", "trtllm_mha"],
}
STARTED = ("plain", "nextn", "moe")
PORTS = {"plain": "31014", "nextn": "31021", "moe": "31021", "fails": "31028"}


def answer(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((LOGS / f"{name}.info.json").read_text())
    return found


@pytest.mark.parametrize("name", STARTED)
def test_a_start(name: str) -> None:
    seen = observe_log([str(LOGS / f"{name}.log")])
    assert (seen.outcome.status, seen.outcome.ending, seen.complete) == ("ok", "ready", True)
    assert (len(seen.fields), seen.fields["attention_backend"]) == (422, "triton")
    runner = "triton_kernel" if name == "moe" else "auto"
    assert seen.fields["speculative_moe_runner_backend"] == runner
    assert seen.fields["speculative_algorithm"] == ("EAGLE" if name == "nextn" else None)


@pytest.mark.parametrize("name", ["plain", "nextn"])
def test_the_gpu_is_read_from_the_kernel_files_that_the_log_names(name: str) -> None:
    machine = observe_log([str(LOGS / f"{name}.log")]).machine
    assert (machine.gpu, machine.arch) == ("NVIDIA H200", "sm90")


@pytest.mark.parametrize("name", STARTED)
def test_log_and_answer_of_the_same_launch_say_the_same(name: str) -> None:
    logged = observe_log([str(LOGS / f"{name}.log")]).fields
    told = observation_of(answer(name), name).fields
    both = logged.keys() & told.keys()
    assert len(both) == 422
    differ = {n for n in both if not matches(plain(told[n]), logged[n])}
    # Two of the logs are those of a second start of the same command, on another port.
    assert differ <= {"port"}


def test_what_the_scheduler_changed_is_told() -> None:
    (note,) = observation_of(answer("nextn"), "x").notes
    assert note == (
        "the scheduler runs with values of its own: context_length 8192, "
        "disable_chunked_prefix_cache true, pp_max_micro_batch_size 48"
    )


def test_the_start_that_fails() -> None:
    outcome = observe_log([str(LOGS / "fails.log")]).outcome
    error = outcome.error
    assert outcome.status == "startup_error" and error is not None and not outcome.after_resolution
    assert (error.type, error.file, error.line) == (
        "ValueError",
        "sglang/srt/server_args.py",
        4454,
    )


def test_nothing_of_the_machine_is_left_in_them() -> None:
    for path in [*LOGS.glob("*.log"), *LOGS.glob("*.json"), RECORDS]:
        text = path.read_text()
        for word in ("/root", "/home", "/tmp", "hostname", "GPU-", "2026-11", "build/"):
            assert word not in text, (path.name, word)


def test_the_records_of_the_launches() -> None:
    records = evidence.load(RECORDS.read_text().splitlines(), RECORDS.name)
    assert [(r["outcome"]["observed"], r["compared"], r["agree"]) for r in records] == [
        ("ok", 422, 422),
        ("startup_error", 0, 0),
        ("ok", 422, 422),
        ("ok", 422, 422),
    ]
    assert {r["verdict"] for r in records} == {"agrees"}
    assert all(r["machine"]["gpu"] == "NVIDIA H200" for r in records)


# -- against the prediction ------------------------------------------------------------


def compare(
    capsys: pytest.CaptureFixture[str], name: str, *truth: str, gpu: str = "h200", port: str = ""
) -> tuple[int, dict[str, Any]]:
    words = ["confirm", *truth, "--sglang", "0.5.15", "--gpu", gpu, "--gpu-count", "1"]
    words += ["--cuda", "13.0", "--model", MODEL, "--isolated", "--format", "json", "--"]
    code = run([*words, *BASE, *FLAGS[name], "--port", port or PORTS[name]])
    done = capsys.readouterr()
    assert done.out, done.err
    document: dict[str, Any] = json.loads(done.out)
    return code, document


@pytest.mark.release
@pytest.mark.parametrize("name", STARTED)
def test_the_prediction_agrees_with_the_log(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(LOGS)
    code, document = compare(capsys, name, "--log", f"{name}.log")
    assert (code, document["verdict"]) == (0, "agrees")
    assert (document["compared"], document["agree"], document["disagree"]) == (422, 422, [])


@pytest.mark.release
@pytest.mark.parametrize("name", STARTED)
def test_the_prediction_agrees_with_the_answer(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(LOGS)
    told = answer(name)
    with serving({"/server_info": told, "/health": {}}) as base:
        code, document = compare(capsys, name, "--url", base, port=str(told["port"]))
    assert (code, document["compared"], document["agree"]) == (0, 422, 422)


@pytest.mark.release
def test_the_predicted_error_is_that_of_the_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(LOGS)
    code, document = compare(capsys, "fails", "--log", "fails.log")
    assert (code, document["verdict"], document["outcome"]["fit"]) == (0, "agrees", "agrees")
    assert document["outcome"]["predicted"]["error"]["line"] == 4454


@pytest.mark.release
def test_a_prediction_for_another_gpu_is_told_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(LOGS)
    code, document = compare(capsys, "plain", "--log", "plain.log", gpu="b200")
    assert (code, document["disagree"]) == (0, [])
    assert "another GPU: it ran on NVIDIA H200 (sm90)" in document["differences"][0]
    # The failing log does not say what it ran on, so that the prediction is simply wrong.
    code, document = compare(capsys, "fails", "--log", "fails.log", gpu="b200")
    assert (code, document["outcome"]["fit"]) == (1, "disagrees")


@pytest.mark.release
def test_other_flags_disagree_where_they_should(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(LOGS)
    code, document = compare(capsys, "plain", "--log", "moe.log", port=PORTS["moe"])
    assert code == 1
    assert {e["field"]: (e["predicted"], e["observed"]) for e in document["disagree"]} == {
        "moe_runner_backend": ("auto", "triton_kernel"),
        "speculative_moe_runner_backend": ("auto", "triton_kernel"),
    }


def test_the_model_of_the_launches_is_there() -> None:
    config = json.loads((LOGS / MODEL / "config.json").read_text())
    assert (config["architectures"], config["num_hidden_layers"]) == (["Qwen3MoeForCausalLM"], 2)
    assert Path(LOGS / MODEL).is_dir()
