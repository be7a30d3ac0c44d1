"""The real resolutions as the judge: every real difference is told, and nothing else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sgcheck.resolve.launch import Launch
from sgcheck.review.compare import compare
from sgcheck.review.model import ReviewLaunch
from sgcheck.review.sides import Side, resolve_both
from sgcheck.source import open_tree
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import target_from_case

FILE = Path(__file__).parents[2] / "fixtures" / "review" / "pairs.json.gz"
PAIRS: list[dict[str, Any]] = json.loads(gzip.decompress(FILE.read_bytes()))
SAMPLE = 8
OPEN = 2
"""Launches of a pair of which sgcheck may say that it does not know how they end."""


def launch_of(case: dict[str, Any]) -> ReviewLaunch:
    folders = {path: replace(load_model(name), path=path) for path, name in case["models"].items()}
    model = folders.pop(case["model"])
    launch = Launch(tuple(case["argv"]), case["env"], target_from_case(case), model, folders)
    return ReviewLaunch(case["id"], launch)


def sample(pair: dict[str, Any]) -> list[dict[str, Any]]:
    """Launches of a pair that show the most: each time the one with most differences not yet seen."""
    left = list(pair["cases"])
    seen: set[tuple[str, str]] = set()
    found = []
    for _ in range(SAMPLE):
        best = max(left, key=lambda case: len({(c, s) for c, s in case["differs"]} - seen))
        left.remove(best)
        found.append(best)
        seen |= {(c, s) for c, s in best["differs"]}
    return found


def judge(pair: dict[str, Any], cases: list[dict[str, Any]]) -> tuple[dict[str, Any], int]:
    """What is missed and what is told too much, by launch; and how many launches stay open."""
    sides = [Side(open_tree(pair[side])) for side in ("old", "new")]
    launches = [launch_of(case) for case in cases]
    wrong: dict[str, Any] = {}
    undecided = 0
    resolved = resolve_both(sides[0], sides[1], launches)
    for case, launch, both in zip(cases, launches, resolved, strict=True):
        changes = compare(launch, *both).changes
        if any(c.category == "undecided" and c.subject == "start" for c in changes):
            undecided += 1
            continue
        # What an initialiser selects (`main.fp4_gemm`) is not in what was recorded.
        told = {
            ("value" if c.category == "backend" else c.category, c.subject)
            for c in changes
            if c.category not in ("log", "undecided") and "." not in c.subject
        }
        real = {(category, subject) for category, subject in case["differs"]}
        if told != real:
            wrong[case["id"]] = {"missed": sorted(real - told), "extra": sorted(told - real)}
    return wrong, undecided


by_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair['old']}-{pair['new']}")


@pytest.mark.oracle
@pytest.mark.release
@by_pair
def test_real_differences_of_a_sample(pair: dict[str, Any]) -> None:
    wrong, undecided = judge(pair, sample(pair))
    assert wrong == {}
    assert undecided <= 1


@pytest.mark.long
@pytest.mark.oracle
@pytest.mark.release
@by_pair
def test_every_real_difference_and_nothing_else(pair: dict[str, Any]) -> None:
    wrong, undecided = judge(pair, pair["cases"])
    assert wrong == {}
    assert undecided <= OPEN


def test_the_sample_is_large_enough() -> None:
    assert sum(len(pair["cases"]) for pair in PAIRS) >= 200
    assert len(PAIRS) >= 4
    assert sum(len(case["differs"]) for pair in PAIRS for case in pair["cases"]) > 1000
    kinds = {
        category for pair in PAIRS for case in pair["cases"] for category, _ in case["differs"]
    }
    assert kinds == {"breaks", "starts", "fails-differently", "value"}
