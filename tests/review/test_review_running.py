"""What two trees build and call for one launch, compared."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from review_trees import launches

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.resolution import (
    Because,
    Cell,
    FieldAnswer,
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
from sgcheck.review.compare import compare
from sgcheck.review.model import Change, Compared, Entry, ReviewLaunch
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import resolve_target

ERROR = LaunchError("AttributeError", "no scale", "sglang/q.py", 9, "Q.apply")
STOP = Reason("not-modelled(x)", "sglang/x.py", 5)
OK = Outcome("ok", stage="kernel")


def row(
    kernel: str | None, line: int = 3, method: str = "M", raises: LaunchError | None = None
) -> LayerRow:
    steps = (Because("write", kernel, "sglang/q.py", line),) if kernel else ()
    status: Any = "decided" if kernel or raises else "unknown"
    reason = None if status == "decided" else Reason("no-kernel-seen")
    cell = Cell(status, kernel, reason=reason, because=steps, raises=raises)
    cells = {"method": Cell("decided", method), "kernel": cell}
    return LayerRow("model.layers.*.mlp.experts", 4, "0-3", cells)


def side(
    *rows: LayerRow, outcome: Outcome = OK, reason: Reason | None = None, model: str = "A"
) -> Resolution:
    return Resolution(
        TreeInfo("0.0.1", "memory", "sha256:0"),
        Target("sm90", Gpu("NVIDIA H100", 81559, 8), "13.0"),
        ModelInfo("profile"),
        (),
        outcome,
        running=Running(RoleRunning({"model_class": Cell("decided", model)}, rows), None, reason),
    )


def compared(old: Resolution, new: Resolution) -> Compared:
    return compare(launches(["plain"])[0], old, new)


def only(old: Resolution, new: Resolution) -> Change:
    (change,) = compared(old, new).changes
    return change


def test_another_kernel_is_told_with_the_lines_that_call_it() -> None:
    change = only(side(row("a.gemm", 3)), side(row("b.gemm", 7)))
    assert (change.category, change.subject) == ("runs", "main.experts.kernel")
    assert isinstance(change.old, FieldAnswer) and isinstance(change.new, FieldAnswer)
    assert (change.old.value, change.new.value) == ("a.gemm", "b.gemm")
    assert [site.line for site in (*change.old_sites, *change.new_sites)] == [3, 7]
    assert compared(side(row("a.gemm", 3)), side(row("a.gemm", 7))).changes == ()


def test_another_method_and_another_model_are_told() -> None:
    found = compared(side(row("a", method="M"), model="A"), side(row("a", method="N"), model="B"))
    assert [c.subject for c in found.changes] == ["main.experts.method", "main.runs.model_class"]


def test_a_first_batch_that_fails_on_one_side_breaks_or_starts() -> None:
    fails = side(row(None, raises=ERROR))
    change = only(side(row("a.gemm")), fails)
    assert (change.category, change.subject, change.new) == ("breaks", "main.experts.kernel", ERROR)
    assert [(s.kind, s.line) for s in change.new_sites] == [("raise", 9)]
    assert only(fails, side(row("a.gemm"))).category == "starts"
    assert compared(fails, fails).changes == ()
    # Whether the other one's kernel would fail, too, is not known.
    assert compared(side(row(None)), fails).changes == ()


def test_what_is_not_known_on_one_side_is_one_change() -> None:
    change = only(side(row("a.gemm")), side(row(None), reason=STOP))
    assert (change.category, change.subject) == ("undecided", "running")
    assert "new: the start is not followed to its end: not-modelled(x)" in change.note
    assert "main.experts.kernel not known on one side (new: no-kernel-seen)" in change.note


def test_a_start_that_fails_beyond_the_arguments_is_compared_with_one_that_was_followed() -> None:
    fails = side(outcome=Outcome("startup_error", ERROR, stage="build"))
    unknown = side(outcome=Outcome("unknown", reason=STOP, stage="build"), reason=STOP)
    early = replace(side(outcome=Outcome("startup_error", ERROR)), running=None)
    assert only(side(), fails).category == "breaks"
    assert only(fails, side()).category == "starts"
    # It may fail at the same line: nothing is known there.
    assert [c.category for c in compared(fails, unknown).changes if c.subject == "start"] == [
        "undecided"
    ]
    assert only(early, unknown).category == "starts"
    assert compared(unknown, unknown).changes == ()
    other = side(outcome=unknown.outcome, reason=Reason("not-modelled(y)"))
    assert [c.subject for c in compared(unknown, other).changes] == ["running"]


@pytest.mark.release
def test_an_upgrade_that_changes_a_kernel() -> None:
    from sgcheck.review.comparing import Plan, review
    from sgcheck.review.sides import Side
    from sgcheck.source import open_tree

    argv = (
        "--tp",
        "4",
        "--quantization",
        "modelopt_fp4",
        "--moe-runner-backend",
        "flashinfer_cutlass",
    )
    model = load_model("qwen3-235b-a22b-nvfp4")
    launch = Launch(argv, {}, resolve_target("sm120", None, 4), model)
    sides = [Side(open_tree(version)) for version in ("0.5.9", "0.5.23")]
    each = ReviewLaunch("one", launch, depth="kernels")
    found = review(sides[0], sides[1], [each], ("0.5.9", "0.5.23"), Plan(jobs=1, watched=0))
    told: dict[str, Entry] = {entry.change.subject: entry for entry in found.entries}
    runner = told["main.experts.runner"].change
    assert runner.category == "runs"
    assert isinstance(runner.old, FieldAnswer)
    assert isinstance(runner.new, FieldAnswer)
    assert (runner.old.value, runner.new.value) == (None, "flashinfer_cutlass")
    head = told["main.lm_head.method"].change
    assert isinstance(head.new, FieldAnswer)
    assert head.new.value == "UnquantizedLinearMethod"
    assert "main.experts.kernel" not in told
