"""Published recipes and cookbook cells: the default rules stay quiet, and each error is explained."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rule_examples import findings_of_launch

from sgcheck.findings.model import Finding

FILE = Path(__file__).parents[2] / "fixtures" / "field" / "recipes.jsonl"
RECIPES: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text().splitlines()]
RELEASES = sorted({recipe["sglang"] for recipe in RECIPES})


def _explained(recipe: dict[str, Any]) -> bool:
    """SGLang 0.5.6 itself raises the same assertion at the same line for these cells.

    The checkpoint's quantization is `modelopt` there, which this runner's check does not take without
    `--quantization`.
    """
    argv = recipe["argv"]
    named = "nvidia/DeepSeek-V3.2-NVFP4" in argv and "flashinfer_trtllm" in argv
    return bool(named and recipe["sglang"] == "0.5.6" and "--quantization" not in argv)


@cache
def _errors(number: int) -> tuple[Finding, ...]:
    found = findings_of_launch(RECIPES[number])
    return tuple(finding for finding in found if finding.severity == "error")


@pytest.mark.release
@pytest.mark.parametrize("release", RELEASES)
def test_a_published_recipe_has_no_unexplained_error(release: str) -> None:
    wrong = [
        (recipe["source"], recipe["argv"], [finding.message for finding in _errors(number)])
        for number, recipe in enumerate(RECIPES)
        if recipe["sglang"] == release and bool(_errors(number)) != _explained(recipe)
    ]
    assert wrong == []


def test_the_recipes_are_many_have_sources_and_few_are_explained() -> None:
    assert len(RECIPES) >= 150
    assert all(recipe["source"].startswith("https://github.com/") for recipe in RECIPES)
    assert sum(map(_explained, RECIPES)) < 0.02 * len(RECIPES)
    known = {"a100", "b200", "b300", "gb200", "gb300", "h100", "h200", "rtx6000pro"}
    assert {recipe["gpu"] for recipe in RECIPES} <= known
