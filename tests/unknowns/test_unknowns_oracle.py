"""Recorded launches with the model hidden: the truth lies in a case that the model satisfies."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from unknown_trees import check_partitions

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.membership import CaseTable, Truth, case_table, holds, truth_of
from sgcheck.resolve.model_truth import model_lookup
from sgcheck.resolve.predict import Predictor
from sgcheck.source import open_tree
from sgcheck.world.model_facts import UNKNOWN_MODEL, load_model
from sgcheck.world.target import target_from_case

pytestmark = [pytest.mark.release, pytest.mark.oracle]

SAMPLES = Path(__file__).parents[2] / "fixtures" / "oracle"
RELEASES = ("0.5.9", "0.5.12")
ASKED = 3


@cache
def predictor(version: str) -> Predictor:
    return Predictor(open_tree(version))


DRAWN = {"random_seed", "port", "nccl_port", "dist_init_addr", "log_requests_target"}


@cache
def recorded(version: str) -> dict[str, Any]:
    with gzip.open(SAMPLES / f"{version}.json.gz", "rt", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def sample(version: str) -> list[dict[str, Any]]:
    started = [case for case in recorded(version)["cases"] if case["status"] == "ok"]
    return started[:: max(1, len(started) // ASKED)][:ASKED]


def fields_of(version: str, case: dict[str, Any]) -> dict[str, Any]:
    usual = {**recorded(version)["usual"], **case["differs"]}
    return {k: v for k, v in usual.items() if k not in {*case["lacks"], *DRAWN}}


def hidden(case: dict[str, Any]) -> tuple[Launch, Truth]:
    """The launch without its model, and what is true of the launch with it."""
    model = replace(load_model(case["models"][case["model"]]), path=case["model"])
    launch = Launch(tuple(case["argv"]), case["env"], target_from_case(case), UNKNOWN_MODEL)
    return launch, truth_of(replace(launch, model=model), lookup=model_lookup(model))


def satisfied(cases: Any, truth: Truth) -> list[Any]:
    """The cases whose condition the launch does not deny."""
    return [value for condition, value in cases if holds(condition, truth) is not False]


@pytest.mark.parametrize("version", RELEASES)
def test_the_truth_lies_in_a_case_that_the_model_satisfies(version: str) -> None:
    wrong: list[str] = []
    told = asked = 0
    for case in sample(version):
        launch, truth = hidden(case)
        table: CaseTable = case_table(predictor(version), launch)
        check_partitions(table)
        outcomes = {outcome.status for outcome in satisfied(table.outcomes, truth)}
        if not outcomes & {"ok", "unknown"}:
            wrong.append(f"{case['id']}: {outcomes}")
        for name, value in fields_of(version, case).items():
            found = table.fields[name]
            if found.reason is not None:
                continue
            values = satisfied(found.cases, truth)
            asked += 1
            told += len(values) == 1
            if value not in values:
                wrong.append(f"{case['id']} {name}: {value!r} not in {values!r}")
    assert wrong == []
    assert told / asked >= 0.97
