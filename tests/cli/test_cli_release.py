"""The command line on a real release: the question that the project began with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgcheck.commands.cases import BatchSettings, CaseWorker
from sgcheck.commands.options import SourceChoice
from sgcheck.report.document import Selection

pytestmark = pytest.mark.release
Run = Callable[..., Any]

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
}


@pytest.fixture
def model(tmp_path: Path) -> str:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return str(folder)


def test_the_draft_inherits_the_main_moe_runner(sgcheck_run: Run, model: str) -> None:
    words = "--arch sm120 --moe flashinfer_cutlass --spec NEXTN --sglang 0.5.9 --format json"
    result = sgcheck_run(*words.split(), "--model", model)
    assert result.code == 0, result.err
    document = json.loads(result.out)
    draft = document["effective"]["draft"]["moe_runner"]
    assert (draft["status"], draft["value"]) == ("decided", "flashinfer_cutlass")
    step = next(step for step in draft["because"] if step["effective"])
    assert (step["file"], step["line"]) == ("sglang/srt/server_args.py", 2342)
    assert document["fields"]["speculative_algorithm"]["value"] == "EAGLE"


def test_a_flag_that_the_parser_refuses(sgcheck_run: Run, model: str) -> None:
    result = sgcheck_run(
        "--arch", "sm120", "--moe", "cutlas", "--sglang", "0.5.9", "--model", model
    )
    assert result.code == 1
    assert "✗ SGLang 0.5.9 refuses these flags on sm120" in result.out
    assert "invalid choice: 'cutlas'" in result.out


def test_processes_answer_as_one_does(sgcheck_run: Run, model: str, tmp_path: Path) -> None:
    flags = (["--tp", "2"], ["--tp", "x"], ["--enable-dp-attention"])
    cases = [
        {"id": n, "sglang": "0.5.9", "arch": "sm90", "model_dir": model, "argv": argv}
        for n, argv in enumerate(flags)
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    result = sgcheck_run("batch", str(path), "--jobs", "2")
    settings = BatchSettings(SourceChoice(None, None, False), Path(), Selection(), "kernels")
    worker = CaseWorker(settings)
    assert result.out.splitlines() == [worker.answer(json.dumps(c).encode()).text for c in cases]
    assert result.code == 1
