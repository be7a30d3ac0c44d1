"""`--simulate` with real SGLang: it gives what was recorded, and the prediction agrees with it.

Needs an interpreter for each release, which no index offers ready-made, so it runs on demand:

    SGCHECK_SIMULATE="0.5.9=/path/python 0.5.23=/path/python" pytest -m simulate tests/confirm

`SGCHECK_SIMULATE_RECORD=FILE` keeps an evidence record of each launch.
"""

from __future__ import annotations

import gzip
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sgcheck.confirm import evidence
from sgcheck.confirm.compare import compare
from sgcheck.confirm.simulate import Interpreter, probe, simulate
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.source import open_tree
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import target_from_case
from sgcheck_rules.packages import installed_profile

SAMPLES = Path(__file__).parents[2] / "fixtures" / "oracle"
PYTHONS = dict(
    word.partition("=")[::2] for word in os.environ.get("SGCHECK_SIMULATE", "").split() if word
)
RECORD = os.environ.get("SGCHECK_SIMULATE_RECORD")
DRAWN = {"random_seed", "port", "nccl_port", "dist_init_addr", "log_requests_target"}

pytestmark = [pytest.mark.simulate, pytest.mark.release]


@lru_cache
def sample(version: str) -> dict[str, Any]:
    with gzip.open(SAMPLES / f"{version}.json.gz", "rt", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


@lru_cache
def tools(version: str) -> tuple[Interpreter, Predictor]:
    interpreter = probe(PYTHONS[version])
    assert interpreter.release == version
    return interpreter, Predictor(open_tree(version))


def launch_of(case: dict[str, Any]) -> Launch:
    folders = {path: replace(load_model(name), path=path) for path, name in case["models"].items()}
    model = folders.pop(case["model"])
    return Launch(tuple(case["argv"]), case["env"], target_from_case(case), model, folders)


CASES = [(version, case["id"]) for version in sorted(PYTHONS) for case in sample(version)["cases"]]


@pytest.mark.skipif(not PYTHONS, reason="SGCHECK_SIMULATE names no interpreter with SGLang")
@pytest.mark.parametrize(("version", "name"), CASES)
def test_a_recorded_launch(version: str, name: str) -> None:
    recorded = sample(version)
    case = next(case for case in recorded["cases"] if case["id"] == name)
    interpreter, predictor = tools(version)
    launch = launch_of(case)
    prediction = predictor.check(launch)
    profile = installed_profile(interpreter.metadata, version).for_cuda(case["cuda"])
    seen = simulate(interpreter, launch, prediction.argv, profile)

    assert seen.outcome.status == case["status"]
    if case["status"] == "startup_error":
        error = seen.outcome.error
        assert error is not None
        assert {"type": error.type, "file": error.file, "line": error.line} == case["error"]
    if case["status"] == "ok":
        wanted = {**recorded["usual"], **case["differs"]}
        wanted = {k: v for k, v in wanted.items() if k not in {*case["lacks"], *DRAWN}}
        assert {k: seen.fields.get(k, "(absent)") for k in wanted} == wanted

    comparison = compare(prediction, seen)
    assert (comparison.verdict, comparison.disagree) == ("agrees", ())
    if RECORD:
        evidence.append(RECORD, evidence.record_of(prediction, comparison, seen, launch.env))
