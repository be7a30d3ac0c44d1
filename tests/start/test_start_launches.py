"""Starts of real releases: what is built, which kernels run, and where a start fails."""

from __future__ import annotations

from functools import cache

import pytest

from sgcheck.resolve.launch import Launch, named_folders
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import LayerRow, Resolution, RoleRunning
from sgcheck.source import memory_tree
from sgcheck.source.opening import open_tree
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import resolve_target

pytestmark = pytest.mark.release


@cache
def predictor(release: str) -> Predictor:
    return Predictor(open_tree(release))


@cache
def started(release: str, arch: str, model: str, flags: str) -> Resolution:
    target = resolve_target(arch, None)
    assert target is not None
    argv = tuple(flags.split())
    launch = Launch(argv, {}, target, load_model(model), named_folders(argv))
    return predictor(release).check(launch, trace=False, depth="kernels")


def role(result: Resolution, name: str) -> RoleRunning:
    assert result.running is not None
    found: RoleRunning | None = getattr(result.running, name)
    assert found is not None
    return found


def row(model: RoleRunning, ending: str) -> LayerRow:
    found = [row for row in model.layers if row.kind.endswith(ending)]
    assert len(found) == 1, [row.kind for row in model.layers]
    return found[0]


@pytest.mark.parametrize("release", ["0.5.9", "0.5.23"])
def test_a_dense_model_runs_plain_products(release: str) -> None:
    result = started(release, "sm90", "qwen3-8b", "--tp 2")
    assert (result.outcome.status, result.outcome.stage) == ("ok", "kernel")
    main = role(result, "main")
    assert main.parts["model_class"].value == "Qwen3ForCausalLM"
    assert main.parts["kv_cache_dtype"].value == "bfloat16"
    projection = row(main, "qkv_proj")
    assert projection.count == 36
    assert projection.names == "0-35"
    assert projection.cells["method"].value == "UnquantizedLinearMethod"
    assert projection.cells["kernel"].value == "torch.nn.functional.linear"
    assert result.running is not None
    assert result.running.draft is None


def test_the_draft_of_a_quantized_checkpoint_computes_its_experts_in_bfloat16() -> None:
    flags = "--tp 8 --quantization modelopt_fp4 --speculative-algorithm NEXTN"
    result = started("0.5.9", "sm120", "deepseek-r1-0528-nvfp4", flags)
    assert result.outcome.status == "ok"
    main, draft = role(result, "main"), role(result, "draft")
    experts = row(main, "mlp.experts")
    assert experts.count == 58
    assert experts.cells["method"].value == "ModelOptNvFp4FusedMoEMethod"
    assert experts.cells["weights"].value == "uint8"
    assert draft.parts["model_class"].value == "DeepseekV3ForCausalLMNextN"
    drafted = row(draft, "mlp.experts")
    assert drafted.cells["method"].value == "UnquantizedFusedMoEMethod"
    assert drafted.cells["weights"].value == "bfloat16"


@pytest.mark.parametrize(
    ("flags", "file", "line", "stage"),
    [
        ("--tp 8", "sglang/srt/layers/quantization/modelopt_quant.py", 461, "build"),
        (
            "--tp 8 --quantization modelopt_fp4",
            "sglang/srt/layers/attention/attention_registry.py",
            205,
            "attention",
        ),
    ],
)
def test_a_start_that_fails_after_its_arguments_is_told(
    flags: str, file: str, line: int, stage: str
) -> None:
    model = "qwen3.5-397b-a17b-nvfp4"
    result = started("0.5.9", "sm120", model, f"{flags} --speculative-algorithm NEXTN")
    assert (result.outcome.status, result.outcome.stage) == ("startup_error", stage)
    assert result.outcome.error is not None
    assert (result.outcome.error.file, result.outcome.error.line) == (file, line)


def test_an_error_of_the_first_batch_is_told_at_its_layer() -> None:
    result = started("0.5.23", "sm120", "qwen3.5-397b-a17b-nvfp4", "--tp 8")
    assert result.outcome.status == "ok"
    kernel = row(role(result, "main"), "mlp.experts").cells["kernel"]
    assert kernel.raises is not None
    assert kernel.raises.type == "AttributeError"
    assert kernel.raises.file == "sglang/srt/layers/quantization/modelopt_quant.py"
    assert kernel.raises.line == 3260


def test_arguments_alone_claim_no_start() -> None:
    target = resolve_target("sm120", None)
    assert target is not None
    launch = Launch(("--tp", "8"), {}, target, load_model("qwen3.5-397b-a17b-nvfp4"))
    result = predictor("0.5.9").check(launch, trace=False)
    assert (result.outcome.status, result.outcome.stage) == ("ok", None)
    assert result.running is None


def test_a_layer_that_a_shortened_list_may_leave_unquantized_fails_no_start() -> None:
    result = started("0.5.14", "sm90", "qwen3.5-397b-a17b-fp8", "--tp 8 --ep-size 8")
    assert (result.outcome.status, result.outcome.stage) == ("unknown", "build")
    assert result.outcome.reason is not None
    assert result.outcome.reason.code == "module-list-shortened"
    assert result.outcome.reason.file == "sglang/srt/layers/quantization/fp8.py"
    assert "not divisible" in (result.outcome.reason.detail or "")


def test_a_release_whose_scheduler_is_entered_otherwise_is_unknown_not_broken() -> None:
    result = started("0.5.6", "sm90", "qwen3-8b", "--tp 1")
    assert (result.outcome.status, result.outcome.error) == ("unknown", None)
    assert result.outcome.reason is not None
    assert "init_model_worker" in (result.outcome.reason.detail or "")


def test_a_tree_of_the_arguments_alone_claims_no_start() -> None:
    body = b"""
from dataclasses import dataclass

@dataclass
class ServerArgs:
    model_path: str = ""

def prepare_server_args(argv):
    return ServerArgs()
"""
    target = resolve_target("sm90", None)
    tree = memory_tree({"sglang/srt/server_args.py": body})
    launch = Launch((), {}, target, load_model("qwen3-8b"))
    result = Predictor(tree).check(launch, trace=False, depth="kernels")
    assert (result.outcome.status, result.outcome.stage, result.running) == ("ok", None, None)
