"""`why` of what runs: the kernel's line, its layer, the field behind it, and what there is instead."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sgcheck.cli import run

WORDS = ["--isolated", "--offline", "--sglang", "0.5.9", "--arch", "sm120"]
MODEL = ["--model", "qwen3-235b-a22b-nvfp4", "--quant", "modelopt_fp4"]
LAUNCH = [*WORDS, *MODEL, "--moe", "flashinfer_cutlass", "--", "--tp", "4"]


@pytest.mark.release
def test_from_the_flag_to_the_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", "main.experts.kernel", *LAUNCH]) == 0
    out = capsys.readouterr().out
    head, layer, field = out.split("\n\n")[:3]
    assert "flashinfer.fused_moe.cutlass_fused_moe" in head
    assert "sglang/srt/layers/quantization/modelopt_quant.py:1770" in head
    assert "method ModelOptNvFp4FusedMoEMethod" in layer
    assert field.startswith("moe_runner_backend, from the flag on")
    assert "flashinfer_cutlass your flag" in field


@pytest.mark.release
def test_json_has_the_answer_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", "main.experts.kernel", "--format", "json", *LAUNCH]) == 0
    document: Any = json.loads(capsys.readouterr().out)
    assert document["asked"] == "main.experts.kernel"
    assert document["answer"]["value"] == "flashinfer.fused_moe.cutlass_fused_moe"
    assert document["answer"]["because"][-1]["line"] == 1770


@pytest.mark.release
def test_a_layer_that_is_not_there_names_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", "main.expert.kernel", *LAUNCH]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "the launch has no main.expert; there are" in out
    assert "main.experts" in out


@pytest.mark.release
def test_a_start_that_fails_says_where_instead(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*WORDS, "--model", "qwen3.5-397b-a17b-nvfp4", "--", "--tp", "8"]
    assert run(["why", "main.experts.kernel", *words]) == 1
    assert "modelopt_quant.py:461" in capsys.readouterr().out


@pytest.mark.release
def test_an_unknown_model_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", "main.experts.kernel", *WORDS, "--", "--tp", "8"]) == 1
    assert "what runs is not known" in capsys.readouterr().out


def test_views_of_fields_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", "main.experts.kernel", "--tree", *LAUNCH]) == 2
    assert "--tree shows fields" in capsys.readouterr().err
