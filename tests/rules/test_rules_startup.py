"""Public reports of launches that did not start: most get a finding that names the cause, the rest a reason."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rule_examples import findings_of_launch

from sgcheck.findings.model import Finding

FILE = Path(__file__).parents[2] / "fixtures" / "field" / "startup.jsonl"
REPORTS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text().splitlines()]
NAMED = [report for report in REPORTS if "rule" in report]
SHARE = 0.6


@cache
def _findings(number: int) -> tuple[Finding, ...]:
    return findings_of_launch(REPORTS[number])


@pytest.mark.release
@pytest.mark.parametrize("report", NAMED, ids=lambda report: report["id"])
def test_a_launch_that_did_not_start_gets_its_cause_named(report: dict[str, Any]) -> None:
    found = [f for f in _findings(REPORTS.index(report)) if f.severity != "note"]
    assert report["says"] in "\n".join(f.message for f in found if f.rule == report["rule"])


def test_most_reports_are_named_and_the_rest_have_a_reason() -> None:
    assert len(NAMED) >= SHARE * len(REPORTS)
    assert all(report.get("not_named") for report in REPORTS if report not in NAMED)
    assert all(report["source"].startswith("https://") and report["seen"] for report in REPORTS)
    assert len({report["id"] for report in REPORTS}) == len(REPORTS) >= 39
