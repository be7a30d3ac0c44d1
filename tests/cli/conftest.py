"""An engine of the test's own: it answers from the launch, so that the tests see what arrived."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import sgcheck.source
from sgcheck.cli import run
from sgcheck.errors import SourceError
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.resolution import (
    Because,
    FieldAnswer,
    LaunchError,
    Outcome,
    Resolution,
    TreeInfo,
)
from sgcheck.resolve.why import WhyReport


class FakeTree(str):
    """A tree of which only the name matters."""

    origin, ref = "wheel", None

    def __new__(cls, version: str, number: int) -> FakeTree:
        made = super().__new__(cls, version)
        made.version = version
        made.digest = f"sha256:{number}"
        return made

    version: str
    digest: str


@dataclass
class FakeEngine:
    """What the commands asked for, and what they are answered."""

    opened: list[dict[str, Any]] = field(default_factory=list)
    packages: list[Any] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    traces: list[bool] = field(default_factory=list)
    outcome: Outcome = field(default_factory=lambda: Outcome("ok"))
    fault: BaseException | None = None

    def open_tree(self, spec: str | None, **options: Any) -> FakeTree:
        options.pop("progress")
        self.opened.append({"spec": spec, **options})
        if spec == "9.9.9":
            raise SourceError("there is no release 9.9.9 of SGLang")
        # Every run meets another tree, so that no answer of an earlier one is found.
        return FakeTree(spec or "default", len(self.opened))

    def check(self, tree: str, launch: Launch, trace: bool) -> Resolution:
        self.launches.append(launch)
        self.traces.append(trace)
        if self.fault is not None:
            raise self.fault
        outcome = self.outcome
        if "--fail" in launch.argv:
            outcome = Outcome("startup_error", LaunchError("ValueError", "no", "sglang/a.py", 7))
        steps = (Because("write", 8, "sglang/a.py", 3, "f", ("self.x",), effective=True),)
        answers = {
            "tp_size": FieldAnswer("tp_size", "decided", 8, default=1, because=steps),
            "dtype": FieldAnswer("dtype", "decided", "auto", default="auto"),
        }
        return Resolution(
            TreeInfo(str(tree), "wheel", "sha256:0"),
            launch.target.to_target(),
            launch.model.info(),
            launch.argv,
            outcome,
            answers if outcome.status == "ok" else {},
            {"main": {"moe_runner": answers["dtype"]}, "draft": {}},
        )


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> FakeEngine:
    """The commands' engine replaced by a `FakeEngine`."""
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    state = FakeEngine()

    class FakePredictor:
        def __init__(self, tree: str, *, packages: Any = None, once: bool = False) -> None:
            self.tree = tree
            state.packages.append(packages)

        def start(self) -> None:
            pass

        def check(
            self, launch: Launch, *, trace: bool = True, depth: str = "arguments"
        ) -> Resolution:
            return state.check(self.tree, launch, trace)

        def why(self, launch: Launch, field: str) -> WhyReport:
            return WhyReport(self.check(launch), field)

    module = types.ModuleType("sgcheck.sandbox.predictor")
    module.__dict__["SandboxedPredictor"] = FakePredictor
    monkeypatch.setitem(sys.modules, "sgcheck.sandbox.predictor", module)
    monkeypatch.setattr(sgcheck.source, "open_tree", state.open_tree)
    return state


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def sgcheck_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Result]:
    """Runs a command line in an empty folder, without the variables that colour the output."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "SGCHECK_CONFIG"):
        monkeypatch.delenv(name, raising=False)

    def call(*args: str) -> Result:
        code = run(args)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call
