"""Recorded launches, replayed against their releases: whatever is decided must agree."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import FieldAnswer, Resolution
from sgcheck.source import open_tree
from sgcheck.world.model_facts import UNKNOWN_MODEL, load_model
from sgcheck.world.target import target_from_case

SAMPLES = Path(__file__).parents[2] / "fixtures" / "oracle"
RELEASES = sorted(path.name.removesuffix(".json.gz") for path in SAMPLES.glob("*.json.gz"))
UNCOMMON = SAMPLES / "uncommon"
RARER = sorted(path.name.removesuffix(".json.gz") for path in UNCOMMON.glob("*.json.gz"))
DRAWN = {"random_seed", "port", "nccl_port", "dist_init_addr", "log_requests_target"}
"""Fields that a launch draws, or that depend on the machine that recorded it."""
SHARE = 0.995
"""Fields that must be decided when the model is known."""
HIDDEN = 2
"""Launches of a release that are asked once more with the model hidden."""
HIDDEN_RELEASES = ("0.5.9", "0.5.15", "0.5.23")
"""One of each style of resolution; `--full` takes all of all."""

pytestmark = [pytest.mark.oracle, pytest.mark.release]


def sample(version: str, folder: Path = SAMPLES) -> dict[str, Any]:
    with gzip.open(folder / f"{version}.json.gz", "rt", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def by_machine(recorded: dict[str, Any]) -> list[dict[str, Any]]:
    """The launches, those of one machine together: it is made ready once."""
    return sorted(recorded["cases"], key=lambda case: json.dumps([case["gpu"], case["cuda"]]))


def fields_of(case: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """The recorded fields of a launch that started."""
    lacking = set(case["lacks"])
    return {k: v for k, v in {**usual, **case["differs"]}.items() if k not in lacking}


def launch_of(case: dict[str, Any], *, hidden: bool = False) -> Launch:
    folders = {path: replace(load_model(name), path=path) for path, name in case["models"].items()}
    model = folders.pop(case["model"])
    if hidden:
        model, folders = UNKNOWN_MODEL, {}
    return Launch(tuple(case["argv"]), case["env"], target_from_case(case), model, folders)


def normal(value: Any) -> Any:
    """Values as JSON tells them apart."""
    if isinstance(value, list | tuple):
        return [normal(v) for v in value]
    if isinstance(value, dict):
        return {str(k): normal(v) for k, v in value.items()}
    if isinstance(value, float) and value == int(value):
        return int(value)
    return value


def possible(answer: FieldAnswer, value: Any) -> bool:
    """Whether a value lies inside an answer."""
    if answer.status == "decided":
        return bool(normal(answer.value) == normal(value))
    if answer.status == "conditional":
        return any(normal(c.value) == normal(value) for c in answer.cases)
    return True


def place_of(result: Resolution) -> list[tuple[str, str | None, int | None]]:
    """Every error that a prediction holds possible."""
    errors = [result.outcome.error, *(case.error for case in result.outcome.cases)]
    return [(e.type, e.file, e.line) for e in errors if e is not None]


def problems(case: dict[str, Any], usual: dict[str, Any], result: Resolution) -> list[str]:
    """Where a prediction contradicts what was recorded."""
    outcome, found = result.outcome, []
    statuses = {outcome.status, *(c.status for c in outcome.cases)}
    if case["status"] not in statuses and "unknown" not in statuses:
        return [f"{case['status']} predicted as {sorted(statuses)}"]
    if case["status"] == "startup_error" and "startup_error" in statuses:
        error = case["error"]
        if (error["type"], error["file"], error["line"]) not in place_of(result):
            found.append(f"{error} predicted as {place_of(result)}")
    if case["status"] == "ok" and outcome.status in ("ok", "conditional"):
        for name, value in fields_of(case, usual).items():
            answer = result.fields.get(name)
            if name in DRAWN:
                continue
            if answer is None:
                found.append(f"{name} is missing")
            elif not possible(answer, value):
                found.append(f"{name}: {value!r} predicted as {answer.value!r} {answer.cases!r}")
    return found


@pytest.mark.parametrize("version", RELEASES)
def test_recorded_launches(version: str) -> None:
    assert_agrees(version, sample(version))


@pytest.mark.parametrize("version", RARER)
def test_recorded_launches_of_rarer_kinds(version: str) -> None:
    assert_agrees(version, sample(version, UNCOMMON))


def assert_agrees(version: str, recorded: dict[str, Any]) -> None:
    """Every outcome is decided as it was recorded, and so are nearly all fields."""
    predictor = Predictor(open_tree(version))
    wrong: dict[str, list[str]] = {}
    decided = asked = settled = 0
    for case in by_machine(recorded):
        result = predictor.check(launch_of(case))
        found = problems(case, recorded["usual"], result)
        if found:
            wrong[case["id"]] = found
        settled += result.outcome.status == case["status"]
        if case["status"] == "ok":
            answers = [a for n, a in result.fields.items() if n not in DRAWN]
            asked += len(answers)
            decided += sum(a.status == "decided" for a in answers)
    assert wrong == {}
    assert settled == len(recorded["cases"])
    assert decided / asked >= SHARE


@pytest.mark.parametrize("version", RELEASES)
def test_the_truth_is_inside_when_the_model_is_hidden(version: str, full: bool) -> None:
    if not full and version not in HIDDEN_RELEASES:
        pytest.skip("with --full")
    recorded = sample(version)
    predictor = Predictor(open_tree(version))
    cases = [c for c in by_machine(recorded) if full or c["status"] == "ok"]
    wrong: dict[str, list[str]] = {}
    for case in cases if full else cases[:: max(len(cases) // HIDDEN, 1)][:HIDDEN]:
        found = problems(case, recorded["usual"], predictor.check(launch_of(case, hidden=True)))
        if found:
            wrong[case["id"]] = found
    assert wrong == {}


def test_the_sample_is_whole() -> None:
    assert len(RELEASES) == 13
    for version in RELEASES:
        recorded = sample(version)
        statuses = {c["status"] for c in recorded["cases"]}
        assert len(recorded["cases"]) == 25
        assert statuses == {"ok", "startup_error", "cli_error"}
        assert len({c["arch"] for c in recorded["cases"]}) >= 6


@pytest.mark.parametrize("flags", [(), ("--trust-remote-code",)])
def test_a_profile_that_lacks_the_code_of_its_checkpoint_gives_no_error(
    flags: tuple[str, ...],
) -> None:
    target = target_from_case(next(c for c in sample("0.5.6")["cases"] if c["arch"] == "sm90"))
    launch = Launch(flags, {}, target, load_model("kimi-k2.5"))
    outcome = Predictor(open_tree("0.5.6")).check(launch).outcome
    assert outcome.status == "unknown"
    assert outcome.reason is not None and outcome.reason.code == "not-recorded(remote code)"
