"""Launches from public reports: silence on those that work, a word on those that do not."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rule_examples import findings_of_launch

from sgcheck.findings.model import Finding

FILE = Path(__file__).parents[2] / "fixtures" / "field" / "launches.jsonl"
REPORTS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text().splitlines()]
WORKS = [report for report in REPORTS if report["works"]]
FAILS = [report for report in REPORTS if not report["works"]]


@cache
def _findings(number: int) -> tuple[Finding, ...]:
    return findings_of_launch(REPORTS[number])


def _of(report: dict[str, Any]) -> tuple[Finding, ...]:
    return _findings(REPORTS.index(report))


@pytest.mark.release
@pytest.mark.parametrize("report", WORKS, ids=lambda report: report["id"])
def test_a_launch_that_works_has_no_error_and_no_known_bad_kernel(report: dict[str, Any]) -> None:
    found = [f for f in _of(report) if f.severity == "error" or f.rule == "kernel-known-bad"]
    assert [f.message for f in found] == []


@pytest.mark.release
@pytest.mark.parametrize("report", FAILS, ids=lambda report: report["id"])
def test_a_launch_that_fails_is_spoken_of(report: dict[str, Any]) -> None:
    assert report["rule"] in [f.rule for f in _of(report) if f.severity != "note"]


def test_the_reports_are_many_and_have_sources() -> None:
    assert len(WORKS) >= 20
    assert all(report["source"].startswith("https://") for report in REPORTS)
    assert len({report["id"] for report in REPORTS}) == len(REPORTS)
