"""The pre-commit hooks: their patterns take every kind of file that a scan reads, and no other."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from sgcheck.cli import cli
from sgcheck.scan.kinds import kind_of

ROOT = Path(__file__).parents[2]
HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
}

TAKEN = (
    "deploy/llm.yaml",
    "compose.yml",
    "charts/x/templates/llm.yaml.tpl",
    "Dockerfile",
    "docker/Dockerfile.cuda",
    "images/serve.dockerfile",
    "scripts/serve.sh",
    "jobs/run.sbatch",
    "systemd/llm.service",
    "quadlet/llm.container",
    "launch.py",
    "cells/glm.jsx",
    "README.md",
    ".env",
    "config/.env.production",
    "sagemaker.env",
    "a b/c::d.yaml",
    "containerfile",
)
LEFT = ("main.rs", "Makefile", "uv.lock", "notes.txt", "logo.svg", "shell", "yaml", "go.sum")


@pytest.mark.parametrize("name", TAKEN)
def test_the_pattern_takes_what_a_scan_reads(name: str) -> None:
    assert kind_of(name) is not None
    assert re.search(HOOKS["sgcheck"]["files"], name)


@pytest.mark.parametrize("name", LEFT)
def test_the_pattern_leaves_the_rest(name: str) -> None:
    assert not re.search(HOOKS["sgcheck"]["files"], name)


def test_the_pattern_takes_the_fixtures_of_every_shape() -> None:
    files = [p for p in (ROOT / "fixtures" / "deploy").rglob("*") if p.is_file()]
    known = [p for p in files if kind_of(p.name) is not None]
    assert len(known) > 20
    for path in known:
        assert re.search(HOOKS["sgcheck"]["files"], path.relative_to(ROOT).as_posix()), path


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_the_entry_is_a_command_line_that_exists(hook: dict[str, Any]) -> None:
    program, *args = shlex.split(hook["entry"])
    assert program == "sgcheck"
    result = CliRunner().invoke(cli, [*args, "--help"])
    assert result.exit_code == 0, result.output
    assert "--fetch" in args, "a hook that cannot have a release must not pass"
