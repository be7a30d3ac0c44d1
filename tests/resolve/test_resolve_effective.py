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


NVFP4_MODEL = "deepseek-r1-0528-nvfp4"
ARGS = "sglang/srt/server_args.py"


def test_two_spellings_of_one_algorithm_give_two_drafts() -> None:
    """A branch asks for the final name before the other spelling is turned into it."""
    quantized = ("--quantization", "modelopt_fp4", "--speculative-algorithm")
    drafts = {
        spelling: effective("0.5.9", "sm100", *quantized, spelling, model=NVFP4_MODEL)["draft"]
        for spelling in ("NEXTN", "EAGLE")
    }
    assert drafts["NEXTN"]["moe_runner"].value == "auto"
    assert drafts["EAGLE"]["moe_runner"].value == "triton"
    step = next(s for s in drafts["EAGLE"]["moe_runner"].because if s.effective)
    assert (step.file, step.line) == (ARGS, 1327)


def test_why_shows_the_branch_that_was_asked_too_early() -> None:
    flags = ("--quantization", "modelopt_fp4", "--speculative-algorithm", "NEXTN")
    launch = Launch(flags, {}, resolve_target("sm100", None), load_model(NVFP4_MODEL))
    report = predictor("0.5.9").why(launch, "speculative_moe_runner_backend")
    site = next(s for s in report.sites if (s.file, s.line) == (ARGS, 1327))
    assert (site.fired, site.reached) == (False, True)
    assert site.stopped_at is not None
    assert dict(site.stopped_at.values)["speculative_algorithm"] == "NEXTN"
    later = next(x for x in site.stopped_at.later if x.field == "speculative_algorithm")
    assert (later.then, later.becomes, later.file, later.line) == ("NEXTN", "EAGLE", ARGS, 2353)


def test_without_a_model_the_draft_depends_on_architecture_and_quantization() -> None:
    found = effective("0.5.9", "sm100", "--speculative-algorithm", "EAGLE", model=None)
    draft = found["draft"]["moe_runner"]
    assert draft.status == "conditional"
    condition = next(c.condition for c in draft.cases if c.value == "triton")
    assert "model architecture is one of DeepseekV3ForCausalLM" in condition
    assert "model.quantization_config.quant_method is modelopt_fp4" in condition
    assert {c.value for c in draft.cases} >= {"auto", "triton"}


def test_a_prefill_backend_that_some_models_have_leaves_the_others_theirs() -> None:
    """0.5.23 sets the field for one architecture; for every other one the common field holds."""
    found = effective("0.5.23", "sm120", model=None)["main"]
    prefill, decode = (
        {case.value for case in found[name].cases}
        for name in ("attention_prefill", "attention_decode")
    )
    assert None not in prefill
    assert prefill == decode
    files = {step.file for step in found["attention_prefill"].because}
    assert len(files) > 1


def test_a_draft_without_a_quantization_of_its_own_does_not_get_the_quantization_of_the_main_model() -> (
    None
):
    flags = ("--tp", "8", "--quantization", "modelopt_fp4", "--speculative-algorithm", "EAGLE")
    model = "deepseek-r1-0528-nvfp4"
    plain = effective("0.5.9", "sm100", *flags, model=model)["draft"]["quantization"]
    assert (plain.status, plain.value) == ("decided", "modelopt_fp4")
    unquant = (*flags, "--speculative-draft-model-quantization", "unquant")
    draft = effective("0.5.9", "sm100", *unquant, model=model)["draft"]["quantization"]
    assert (draft.status, draft.value) == ("decided", None)
