"""`confirm --log`, `confirm --url` and `doctor` from the command line to the exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confirm_fake import Fake
from confirm_samples import READY
from confirm_serving import serving

from sgcheck.cli import run
from sgcheck.confirm.doctor import Check, GpuRow, agrees, check_machine, check_packages, render
from sgcheck.report.terminal import Terminal
from sgcheck.world.target import resolve_target
from sgcheck_rules.packages import installed_profile

Confirm = Callable[..., tuple[int, str, str]]


def log_of(fake: Fake, **changes: object) -> str:
    """A log of the fake server on one H200, with some values changed."""
    model = str(fake.model)
    fields: dict[str, object] = {
        "model_path": model,
        "tokenizer_path": model,
        "served_model_name": model,
        "host": "127.0.0.1",
        "port": fake.port,
        "api_key": None,
        "tp_size": 1,
        "load_format": "auto",
        "mem_fraction_static": 0.9,
        "disable_cuda_graph": False,
        "attention_backend": "green",
        "moe_runner_backend": "auto",
        "speculative_algorithm": None,
        "skip_tokenizer_init": False,
        "node_rank": 0,
        "random_seed": 5,
        "log_level": "info",
        "memory_mib": 143771,
        "architecture": "TinyForCausalLM",
    }
    text = ", ".join(f"{k}={v!r}" for k, v in (fields | changes).items())
    return f"attention backend is set to green\n[2026-01-02 03:04:05] server_args=ServerArgs({text})\n{READY}\n"


def test_a_log_that_agrees(confirm: Confirm, fake: Fake, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(log_of(fake))
    code, out, _ = confirm("--log", str(log), "--format", "json")
    document = json.loads(out)
    assert (code, document["verdict"], document["agree"], document["compared"]) == (
        0,
        "agrees",
        18,
        19,
    )
    assert document["log"] == {
        "predicted": 1,
        "seen": 1,
        "missing": [],
        "backends": ["attention backend is set to green"],
    }


def test_a_log_that_disagrees(confirm: Confirm, fake: Fake, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(log_of(fake, attention_backend="blue"))
    code, out, _ = confirm("--log", str(log))
    assert code == 1
    assert "predicted green, seen blue" in out and "sglang/srt/server_args.py:65" in out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk(fake: Fake, tmp_path: Path, confirm: Confirm) -> None:
    log = tmp_path / "a.log"
    log.write_text(log_of(fake))
    code, _, err = confirm("--log", str(log), "--record", "/dev/full")
    assert (code, err.splitlines()[-1]) == (
        2,
        "sgcheck: cannot write the record to /dev/full: No space left on device; "
        "name a file that can be written",
    )
    argv = ["confirm", "--log", str(log), *fake.options(), "--gpu", "h200"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sgcheck", *argv],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "sgcheck: cannot write the output: No space left on device; make room and try again"
    )


def test_the_version_is_that_of_the_log(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    log.write_text("pip: sglang==99.0.1\n" + log_of(fake))
    code = run(["confirm", "--log", str(log), "--arch", "sm90", "--isolated", "--offline"])
    err = capsys.readouterr().err
    assert code == 2 and "SGLang 99.0.1 is read, as it was seen" in err


def test_no_log_and_no_server_in_it(confirm: Confirm, tmp_path: Path) -> None:
    code, _, err = confirm("--log", str(tmp_path / "none"))
    assert code == 2 and "cannot read the log" in err
    (tmp_path / "other.log").write_text("hello\n")
    code, _, err = confirm("--log", str(tmp_path / "other.log"))
    assert code == 3 and "no SGLang server is seen in it" in err


def test_a_running_server(confirm: Confirm, fake: Fake) -> None:
    info = {
        "model_path": str(fake.model),
        "attention_backend": "green",
        "version": "0.0.1",
        "memory_mib": 143771,
    }
    with serving({"/server_info": info, "/health": {}}) as base:
        code, out, _ = confirm("--url", base, "--format", "json")
        document = json.loads(out)
        assert (code, document["verdict"], document["agree"], document["not_seen"]) == (
            0,
            "agrees",
            3,
            16,
        )
    code, _, err = confirm("--url", base)
    assert code == 2 and "cannot be reached" in err


def test_a_running_server_says_its_own_flags(
    fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    info = {"model_path": str(fake.model), "tp_size": 4, "version": "0.0.1"}
    info["launch_command"] = f"python -m sglang.launch_server --model-path {fake.model} --tp 4"
    with serving({"/server_info": info, "/health": {}}) as base:
        code = run(["confirm", "--url", base, *fake.options(), "--gpu", "h200", "--format", "json"])
    done = capsys.readouterr()
    assert (code, json.loads(done.out)["agree"]) == (0, 2)
    assert "the flags are those that the server says" in done.err


def test_several_machines_are_refused(confirm: Confirm, fake: Fake, tmp_path: Path) -> None:
    code, _, err = confirm("--log", "x", arch="sm90,sm120")
    assert (code == 2 and "cannot" in err) or "one launch on one machine" in err


# -- doctor ----------------------------------------------------------------------------

PROFILE = installed_profile(
    "Name: sglang\nRequires-Dist: torch==1.2.3\nRequires-Dist: orjson\n", "0.0.1", cuda="13.0"
)


def states(checks: list[Check]) -> dict[str, str]:
    return {check.subject: check.state for check in checks}


def test_a_machine_as_assumed() -> None:
    target = resolve_target(None, "h200", gpu_count=1)
    found = states(check_machine([GpuRow("NVIDIA H200", "sm90", 143771, "580.1")], "", target))
    assert found == {
        "architecture": "same",
        "GPU": "same",
        "number of GPUs": "same",
        "memory (MiB)": "same",
        "driver": "unknown",
    }


def test_another_machine() -> None:
    target = resolve_target(None, "h200")
    rows = [GpuRow("NVIDIA L40S", "sm89", 46068, "1"), GpuRow("NVIDIA L4", "sm89", 23034, "1")]
    found = states(check_machine(rows, "", target))
    assert found["architecture"] == found["GPU"] == found["GPUs alike"] == "differs"
    assert check_machine([], "nvidia-smi is not on the path", target)[0].state == "missing"


def test_packages() -> None:
    answer = {
        "versions": {"sglang": "0.0.1", "torch": "1.2.3+cu130", "orjson": None},
        "torch_cuda": "12.9",
        "modules": {},
    }
    found = states(check_packages(answer, PROFILE, "0.0.1", "13.0"))
    assert (found["sglang"], found["torch"], found["orjson"], found["CUDA of torch"]) == (
        "same",
        "same",
        "missing",
        "differs",
    )


def test_what_is_the_same_is_counted() -> None:
    checks = [Check("a", "1", "1", "same"), Check("b", "1", "2", "differs")]
    text = render(checks, "0.0.1", "text", Terminal(), False)
    assert "1 thing differs" in text and "2 (assumed: 1)" in text and "1 more are the same" in text
    assert not agrees(checks)
    assert json.loads(render(checks[:1], "0.0.1", "json", Terminal(), False))["verdict"] == "agrees"


def test_doctor_on_the_command_line(
    fake: Fake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text("#!/bin/sh\necho 'NVIDIA H200, 9.0, 143771, 580.65'\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{smi.parent}:/usr/bin:/bin")
    words = [
        "doctor",
        "--sglang",
        str(fake.tree),
        "--python",
        str(fake.python),
        "--isolated",
        "--format",
        "json",
    ]
    assert run([*words, "--gpu", "h200", "--gpu-count", "1"]) == 1
    checks = {c["subject"]: c for c in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["sglang"]["state"] == checks["architecture"]["state"] == "same"
    assert checks["flashinfer-python"]["state"] == "missing"
    assert checks["driver"]["found"] == "580.65"
    assert run([*words, "--python", str(tmp_path / "none"), "--gpu", "h200"]) == 2
