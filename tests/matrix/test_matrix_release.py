"""The natural questions, answered over a real release."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sgcheck.cli import run

MODEL = "qwen3.5-397b-a17b-nvfp4"


def cells(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    """Values of the axis -> the cell."""
    words = ("matrix", "--isolated", "--sglang", "0.5.9", "--model", MODEL, "--format", "json")
    assert run([*words, "--exit-zero", *args]) == 0
    found = json.loads(capsys.readouterr().out)
    return {" ".join(cell["at"].values()): cell for cell in found["cells"]}


@pytest.mark.release
def test_backends_on_sm120_and_what_the_draft_gets(capsys: pytest.CaptureFixture[str]) -> None:
    found = cells(capsys, "--arch", "sm120", "--spec", "NEXTN", "--moe", "all")
    assert len(found) == 9
    draft = {name: cell["answers"]["draft.moe_runner"]["value"] for name, cell in found.items()}
    assert draft["flashinfer_cutlass"] == "flashinfer_cutlass"
    assert draft["flashinfer_trtllm"] == "auto"


@pytest.mark.release
def test_auto_on_every_architecture(capsys: pytest.CaptureFixture[str]) -> None:
    found = cells(capsys, "--moe", "auto")
    prefill = {name: c["answers"]["main.attention_prefill"]["value"] for name, c in found.items()}
    assert prefill["sm90"] == "fa3" and prefill["sm120"] == "flashinfer"
    assert found["sm90"]["marks"]["main.attention_prefill"] == "differs"
