"""Effective backends of releases: what their own initialisers select when they are really run."""

from __future__ import annotations

from functools import cache

import pytest

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import FieldAnswer
from sgcheck.source import open_tree, overlay
from sgcheck.world.model_facts import UNKNOWN_MODEL, load_model
from sgcheck.world.target import resolve_target

pytestmark = pytest.mark.release

FP4 = "sglang/srt/layers/quantization/fp4_utils.py"
MODEL = "qwen3-30b-a3b-fp8"

# Seen in the releases themselves, run under a pretended GPU.
AUTO = {
    ("0.5.8", "sm120"): ("auto", "auto"),
    ("0.5.9", "sm120"): ("flashinfer_cutlass", "auto"),
    ("0.5.10", "sm90"): ("flashinfer_cutlass", "auto"),
    ("0.5.10", "sm120"): ("flashinfer_cudnn", "triton"),
    ("0.5.12", "sm100"): ("flashinfer_cutedsl", "auto"),
    ("0.5.15", "sm90"): ("marlin", "auto"),
    ("0.5.18", "sm120"): ("flashinfer_cutlass", "cutlass"),
    ("0.5.20", "sm100"): ("flashinfer_cutedsl", "auto"),
    ("0.5.23", "sm80"): ("marlin", "auto"),
    ("0.5.23", "sm120"): ("flashinfer_cutlass", "cutlass"),
}


@cache
def predictor(version: str) -> Predictor:
    return Predictor(open_tree(version))


def effective(
    version: str, arch: str, *flags: str, model: str | None = MODEL
) -> dict[str, dict[str, FieldAnswer]]:
    facts = UNKNOWN_MODEL if model is None else load_model(model)
    launch = Launch(flags, {}, resolve_target(arch, None), facts)
    found = predictor(version).check(launch).effective
    return {role: dict(answers) for role, answers in found.items()}


@pytest.mark.parametrize(("version", "arch"), AUTO)
def test_auto_gemm_backends(version: str, arch: str) -> None:
    main = effective(version, arch)["main"]
    assert (main["fp4_gemm"].value, main["fp8_gemm"].value) == AUTO[(version, arch)]


def test_the_line_that_chose_is_the_reason() -> None:
    found = effective("0.5.10", "sm120")["main"]["fp4_gemm"]
    steps = [s for s in found.because if s.effective]
    assert [(s.file, s.line, s.function) for s in steps] == [
        (FP4, 70, "initialize_fp4_gemm_config")
    ]
    assert steps[0].conditions[-1] == "is_sm120_supported()"


def test_a_changed_line_of_an_initialiser_changes_the_answer() -> None:
    tree = open_tree("0.5.10")
    text = tree.read(FP4).decode()
    assert text.count('backend = "flashinfer_cudnn"') == 1
    changed = text.replace('backend = "flashinfer_cudnn"', 'backend = "flashinfer_trtllm"')
    launch = Launch((), {}, resolve_target("sm120", None), load_model(MODEL))
    result = Predictor(overlay(tree, {FP4: b"# moved\n" + changed.encode()})).check(launch)
    found = result.effective["main"]["fp4_gemm"]
    assert found.value == "flashinfer_trtllm"
    assert [s.line for s in found.because if s.effective] == [71]


@pytest.mark.parametrize("version", ["0.5.9", "0.5.12"])
def test_an_unknown_model_does_not_hide_them(version: str) -> None:
    flags = ("--moe-runner-backend", "flashinfer_cutlass", "--speculative-algorithm", "NEXTN")
    found = effective(version, "sm120", *flags, model=None)
    assert found["draft"]["moe_runner"].value == "flashinfer_cutlass"
    assert found["main"]["fp4_gemm"].status == "decided"
