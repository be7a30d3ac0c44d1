"""The GitHub Action: its metadata, and its scan step run by a real shell with a stand-in for sgcheck."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
SCAN = next(step for step in STEPS if step.get("name") == "Scan")

STAND_IN = """\
#!/bin/sh
printf '%s' "sgcheck" >> "$CALLS"
for word in "$@"; do printf '|%s' "$word" >> "$CALLS"; done
echo >> "$CALLS"
echo report
exit "${CODE:-0}"
"""


def _run(tmp_path: Path, code: int = 0, **inputs: str) -> tuple[int, list[list[str]]]:
    """The step's exit code and the words of each call of sgcheck."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "sgcheck").write_text(STAND_IN)
    (tools / "sgcheck").chmod(0o755)
    (tools / "python").symlink_to(sys.executable)
    calls = tmp_path / "calls"
    calls.write_text("")
    env = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "CALLS": str(calls)}
    env["CODE"] = str(code)
    for name, given in SCAN["env"].items():
        if name.startswith("SCAN_"):
            key = name.removeprefix("SCAN_").lower()
            assert given == f"${{{{ inputs.{key} }}}}"
            env[name] = inputs.get(key, ACTION["inputs"][key]["default"])
    done = subprocess.run(
        ["bash", "-c", SCAN["run"]], cwd=tmp_path, env=env, capture_output=True, check=False
    )
    return done.returncode, [line.split("|")[1:] for line in calls.read_text().splitlines()]


FIXED = ("--fetch", "--allow-empty", "--format", "github", "--")
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@needs_bash
def test_the_defaults_scan_the_repository(tmp_path: Path) -> None:
    assert _run(tmp_path) == (0, [["scan", *FIXED, "."]])


@needs_bash
def test_inputs_are_words_and_never_script(tmp_path: Path) -> None:
    evil = "$(touch pwned); `touch pwned`"
    code, calls = _run(
        tmp_path,
        paths=f"a b/c::d.yaml\n{evil}\n\n-x.sh\n",
        args="--gpu b200 --model 'a b'",
        releases="0.5.9 0.5.23",
    )
    assert code == 0
    assert calls == [
        ["fetch", "0.5.9", "0.5.23"],
        ["scan", "--gpu", "b200", "--model", "a b", *FIXED, "a b/c::d.yaml", evil, "-x.sh"],
    ]
    assert not (tmp_path / "pwned").exists()


@needs_bash
def test_sarif_is_written_and_findings_fail_the_step(tmp_path: Path) -> None:
    code, calls = _run(tmp_path, sarif="out.sarif")
    assert code == 0
    assert [call[call.index("--format") + 1] for call in calls] == ["sarif", "github"]
    assert "--exit-zero" in calls[0]
    assert (tmp_path / "out.sarif").read_text() == "report\n"


@needs_bash
def test_findings_fail_the_step(tmp_path: Path) -> None:
    assert _run(tmp_path, code=1)[0] == 1


def test_no_input_stands_in_a_script() -> None:
    for step in STEPS:
        assert "${{" not in step.get("run", ""), step
    assert all(name in ACTION["inputs"] for name in ("paths", "args", "releases", "sarif"))
