"""Reviews of releases: known upgrades."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.resolution import FieldAnswer
from sgcheck.review.comparing import Plan, review
from sgcheck.review.model import Entry, Review, ReviewLaunch
from sgcheck.review.sides import Side
from sgcheck.source import SERVER_ARGS, open_tree
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import resolve_target

pytestmark = pytest.mark.release

GROUPS = "sglang/srt/arg_groups/"
FLAGS = ("--tp-size", "8", "--speculative-algorithm", "EAGLE", "--quantization", "modelopt_fp4")


@cache
def side(version: str) -> Side:
    return Side(open_tree(version), version)


def launch(arch: str, *flags: str, model: str = "deepseek-r1-0528-nvfp4") -> ReviewLaunch:
    return ReviewLaunch(arch, Launch(flags, {}, resolve_target(arch, None, 8), load_model(model)))


def between(old: str, new: str, *launches: ReviewLaunch) -> Review:
    return review(side(old), side(new), launches, (old, new), Plan(jobs=1, watched=0))


def entry_of(found: Review, role: str) -> Entry:
    (entry,) = [e for e in found.entries if role in e.change.roles]
    return entry


def value(side_: Any) -> Any:
    assert isinstance(side_, FieldAnswer)
    assert side_.status == "decided"
    return side_.value


def test_the_draft_of_an_nvfp4_checkpoint() -> None:
    """The branch that chose triton is for HIP only since; the draft follows the main model."""
    entry = entry_of(between("0.5.9", "0.5.23", launch("sm100", *FLAGS)), "draft.moe_runner")
    assert entry.change.category == "backend"
    assert value(entry.change.old) == "triton"
    assert value(entry.change.new) == "flashinfer_trtllm"
    old = [s for s in entry.change.old_sites if s.text and "'triton'" in s.text]
    assert [(s.file, s.url is not None) for s in old] == [(SERVER_ARGS, True)]
    assert entry.change.new_sites[-1].url is not None
    assert entry.old_now is not None
    assert "'triton'" in (entry.old_now.site.text or "")
    assert any("hip" in condition for condition in entry.old_now.added)


@pytest.mark.parametrize("arch", ["sm100", "sm120"])
def test_fp4_gemm_auto(arch: str) -> None:
    found = between("0.5.9", "0.5.23", launch(arch, *FLAGS[:2]))
    (entry,) = [e for e in found.entries if e.change.subject == "fp4_gemm_runner_backend"]
    assert (value(entry.change.old), value(entry.change.new)) == ("flashinfer_cutlass", "auto")
