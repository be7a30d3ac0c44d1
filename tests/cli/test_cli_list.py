"""`sgcheck list`: the names that options take."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from sgcheck.cli import cli
from sgcheck_rules.machines import find_gpu
from sgcheck_rules.models import find_profile
from sgcheck_rules.registry import by_id


def listed(what: str, *args: str) -> str:
    result = CliRunner().invoke(cli, ["list", what, *args], standalone_mode=False)
    assert result.return_value == 0, result.output
    return result.stdout


def test_every_gpu_and_model_listed_is_one_that_is_found() -> None:
    gpus = json.loads(listed("gpus", "--format", "json"))["gpus"]
    assert all(find_gpu(row["name"]) is not None for row in gpus)
    assert {"b200", "h200"} <= {row["name"] for row in gpus}
    models = json.loads(listed("models", "--format", "json"))["models"]
    assert models and all(find_profile(row["name"]) is not None for row in models)


def test_releases_come_with_their_day_oldest_first() -> None:
    names = [line.split()[0] for line in listed("releases").splitlines()]
    assert names.index("0.5.9") < names.index("0.5.10") < names.index("0.5.23")
    assert "0.5.23" in listed("releases") and "2026-10-30" in listed("releases")


def test_rules_and_backends_are_those_of_explain() -> None:
    assert all(name in listed("rules") for name in by_id())
    assert "moe_runner" in listed("backends")


def test_anything_else_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    from sgcheck.cli import run

    assert run(["list", "cats"]) == 2
    assert "gpus" in capsys.readouterr().err


def test_sglang_s_flags_alone_are_a_check(capsys: pytest.CaptureFixture[str]) -> None:
    from sgcheck.cli import run

    assert run(["--", "--tp", "2"]) == 2
    said = capsys.readouterr().err
    assert "No machine to predict for" in said and "internal fault" not in said
