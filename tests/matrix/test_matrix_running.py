"""What runs as answers of a matrix: names, layers that differ, failures, and how far cells are followed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from matrix_tree import write_model, write_release

from sgcheck.cli import run
from sgcheck.errors import UsageError
from sgcheck.matrix.plan import check_layers, wants_starts
from sgcheck.matrix.solve import Solved
from sgcheck.resolve import started
from sgcheck.resolve.resolution import (
    Because,
    Cell,
    Gpu,
    LaunchError,
    LayerRow,
    ModelInfo,
    Outcome,
    Reason,
    Resolution,
    RoleRunning,
    Running,
    Target,
    TreeInfo,
)

STEP = Because("write", "lib.gemm", "sglang/q.py", 3)
ERROR = LaunchError("AttributeError", "no scale", "sglang/q.py", 9)


def row(kind: str, count: int, kernel: Cell) -> LayerRow:
    return LayerRow(kind, count, "", {"kernel": kernel, "weights": Cell("decided", "uint8")})


def resolution(*rows: LayerRow, outcome: Outcome | None = None) -> Resolution:
    parts = {"model_class": Cell("decided", "M"), "attention": Cell("decided", "Triton")}
    parts["quantization"] = Cell("unknown", reason=Reason("not-built"))
    return Resolution(
        TreeInfo("0.0.1", "memory", "sha256:0"),
        Target("sm90", Gpu("NVIDIA H100", 81559, 8), "13.0"),
        ModelInfo("profile"),
        (),
        outcome or Outcome("ok", stage="kernel"),
        running=Running(RoleRunning(parts, rows), None),
    )


GEMM = Cell("decided", "lib.gemm", because=(STEP,))


def test_a_name_is_a_part_or_a_cell_of_a_layer() -> None:
    for name in (
        "main.experts.kernel",
        "draft.runs.attention",
        "main.model_class",
        "main.a.b.class",
    ):
        assert started.is_answer(name), name
    for name in (
        "experts.kernel",
        "main.moe_runner",
        "main.kernel",
        "main.experts.colour",
        "tp_size",
    ):
        assert not started.is_answer(name), name


def test_an_answer_comes_from_its_layer_with_the_line_that_calls() -> None:
    result = resolution(row("m.*.mlp.experts", 3, GEMM))
    answer = started.answer(result, "main.experts.kernel")
    assert answer is not None
    assert (answer.status, answer.value, answer.because) == ("decided", "lib.gemm", (STEP,))
    assert started.answer(result, "main.mlp.experts.weights").value == "uint8"  # type: ignore[union-attr]
    assert started.answer(result, "main.model_class").value == "M"  # type: ignore[union-attr]
    assert started.answer(result, "main.runs.quantization").status == "unknown"  # type: ignore[union-attr]
    assert started.answer(result, "draft.experts.kernel") is None
    assert started.answer(result, "main.o_proj.kernel") is None
    assert started.answer(result, "main.xperts.kernel") is None


def test_layers_that_differ_are_listed_the_most_frequent_first() -> None:
    other = Cell("decided", "torch.linear")
    result = resolution(row("m.a.qkv", 1, other), row("m.b.qkv", 5, GEMM), row("m.c.qkv", 2, GEMM))
    answer = started.answer(result, "main.qkv.kernel")
    assert answer is not None
    assert answer.value == ["lib.gemm", "torch.linear"]
    single = started.answer(result, "main.a.qkv.kernel")
    assert single is not None
    assert single.value == "torch.linear"


def test_a_layer_that_raises_is_unknown_with_its_line() -> None:
    result = resolution(
        row("m.a.qkv", 9, GEMM), row("m.b.qkv", 1, Cell("decided", None, raises=ERROR))
    )
    answer = started.answer(result, "main.qkv.kernel")
    assert answer is not None
    assert answer.status == "unknown"
    assert answer.reason == Reason("raises(AttributeError)", "sglang/q.py", 9, "no scale")


def test_only_an_unknown_start_leaves_the_outcome_of_the_arguments() -> None:
    stop = Reason("not-modelled(x)")
    beyond = resolution(outcome=Outcome("unknown", reason=stop, stage="build"))
    assert started.of_arguments(beyond).outcome == Outcome("ok", stage="build")
    for outcome in (
        Outcome("unknown", reason=stop),
        Outcome("unknown", reason=stop, stage="check"),
        Outcome("startup_error", ERROR, stage="build"),
    ):
        same = resolution(outcome=outcome)
        assert started.of_arguments(same) is same


def test_starts_are_followed_where_an_answer_asks_what_runs() -> None:
    assert wants_starts(["outcome", "main.o_proj.kernel"])
    assert wants_starts(["draft.runs.attention"])
    assert not wants_starts(["outcome", "draft.attention", "main.quantization", "tp_size"])


def test_a_layer_that_no_cell_has_is_a_sentence() -> None:
    result = resolution(row("m.*.mlp.experts", 3, GEMM))
    name = "main.expert.kernel"
    cell = Solved(result.outcome, {name: None}, started.layers_of(result))
    with pytest.raises(UsageError, match=r"has a layer main\.expert\b.*main\.experts"):
        check_layers([name], [cell])
    check_layers([name], [replace_layers(cell)])
    check_layers(
        ["main.experts.kernel"],
        [
            Solved(
                result.outcome,
                {"main.experts.kernel": started.answer(result, "main.experts.kernel")},
                cell.layers,
            )
        ],
    )


def replace_layers(cell: Solved) -> Solved:
    """A cell whose start was not followed: nothing can be said of its layers."""
    return Solved(cell.outcome, cell.answers)


def test_a_wrong_cell_is_told_with_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_release(tmp_path / "old", "1.0.0", fast=10)
    write_model(tmp_path / "m")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "cache"))
    words = ["matrix", "--isolated", "--sglang", "old", "--model", "m", "--arch", "sm90,sm100"]
    assert run([*words, "--show", "main.experts.colour"]) == 2
    assert "no field or backend main.experts.colour" in capsys.readouterr().err
    assert run([*words, "--show", "main.experts.kernel", "--exit-zero"]) == 0
    assert "sm100" in capsys.readouterr().out


@pytest.mark.release
def test_the_kernel_of_the_experts_by_backend(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["matrix", "--isolated", "--offline", "--sglang", "0.5.9", "--arch", "sm120"]
    words += ["--model", "qwen3-235b-a22b-nvfp4", "--quant", "modelopt_fp4"]
    words += ["--moe", "cutlass,flashinfer_cutlass", "--show", "main.experts.kernel"]
    assert run([*words, "--format", "json", "--", "--tp", "4"]) == 0
    document: Any = json.loads(capsys.readouterr().out)
    found = [cell["answers"]["main.experts.kernel"] for cell in document["cells"]]
    kernels = ["sgl_kernel.cutlass_fp4_group_mm", "flashinfer.fused_moe.cutlass_fused_moe"]
    assert [each["value"] for each in found] == kernels
    assert all(each["because"][-1]["line"] for each in found)
    assert [cell["outcome"]["stage"] for cell in document["cells"]] == ["kernel", "kernel"]
    assert document["cells"][1]["marks"] == {"main.experts.kernel": "differs"}
