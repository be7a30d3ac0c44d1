"""The workflows in the documentation: they parse, hold no rights where hostile trees are, and call
`sgcheck` with options that it has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from sgcheck.commands.diff import diff

PAGE = (Path(__file__).parents[2] / "docs" / "diff.md").read_text(encoding="utf-8")
WORKFLOWS: list[dict[Any, Any]] = [
    yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
]


def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_there_are_three() -> None:
    assert [w["name"] for w in WORKFLOWS] == [
        "resolution review",
        "upgrade review",
        "review comment",
    ]


@pytest.mark.parametrize("number", [0, 1])
def test_what_reads_a_pull_request_has_no_rights(number: int) -> None:
    workflow = WORKFLOWS[number]
    assert set(workflow[True]) == {"pull_request"}
    assert workflow["permissions"] == {}
    for step in steps(workflow):
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False
        run = step.get("run", "")
        if "python" in run:
            assert step["working-directory"] == "${{ runner.temp }}"
            assert not re.search(r"python3? (?!-I)", run)
        # What a pull request can choose reaches the shell only through variables.
        assert "${{" not in run


def test_the_comment_reads_no_tree() -> None:
    workflow = WORKFLOWS[2]
    assert set(workflow[True]) == {"workflow_run"}
    assert not any("checkout" in step.get("uses", "") for step in steps(workflow))
    assert set(workflow[True]["workflow_run"]["workflows"]) == {w["name"] for w in WORKFLOWS[:2]}


def test_the_options_exist() -> None:
    known = {name for param in diff.params for name in param.opts}
    calls = [
        line
        for workflow in WORKFLOWS
        for step in steps(workflow)
        for line in step.get("run", "").replace("\\\n", " ").splitlines()
        if " sgcheck diff" in line
    ]
    assert len(calls) == 3
    for call in calls:
        options = set(re.findall(r"(?<=\s)--[a-z-]+", call.partition(" sgcheck diff")[2]))
        assert options
        assert options <= known
