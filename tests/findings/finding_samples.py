"""Launches, subjects and findings made by hand, without a tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sgcheck.findings.checking import Checked
from sgcheck.findings.command import read_command
from sgcheck.findings.flags import Flag, FlagTable
from sgcheck.findings.model import Evidence, Finding, Place, Related
from sgcheck.findings.settle import Settled
from sgcheck.findings.subject import Subject
from sgcheck.report.scan_report import ScanReport
from sgcheck.report.terminal import Terminal
from sgcheck.resolve.resolution import (
    Gpu,
    ModelInfo,
    Outcome,
    Resolution,
    Target,
    TreeInfo,
)
from sgcheck.scan import read_launches
from sgcheck.scan.model import Launch, Skipped
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import resolve_target
from sgcheck_rules.registry import rules

TABLE = FlagTable.of(
    "0.0.1",
    (
        Flag(("--model-path", "--model"), "model_path", 1, 1, "_StoreAction"),
        Flag(
            ("--tensor-parallel-size", "--tp-size", "--tp"),
            "tp_size",
            1,
            1,
            "_StoreAction",
            default=1,
        ),
        Flag(("--pp-size",), "pp_size", 1, 1, "_StoreAction", default=1),
        Flag(("--dp-size",), "dp_size", 1, 1, "_StoreAction", default=1),
        Flag(("--nnodes",), "nnodes", 1, 1, "_StoreAction", default=1),
        Flag(("--node-rank",), "node_rank", 1, 1, "_StoreAction", default=0),
        Flag(("--port",), "port", 1, 1, "_StoreAction", default=30000),
        Flag(("--host",), "host", 1, 1, "_StoreAction", default="127.0.0.1"),
        Flag(("--config",), "config", 1, 1, "_StoreAction"),
        Flag(("--api-key",), "api_key", 1, 1, "_StoreAction"),
        Flag(("--trust-remote-code",), "trust_remote_code", 0, 0, "_StoreTrueAction"),
        Flag(("--lora-paths",), "lora_paths", 0, None, "LoRAPathAction"),
        Flag(
            ("--moe-runner-backend",),
            "moe_runner_backend",
            1,
            1,
            "_StoreAction",
            ("auto", "triton"),
        ),
        Flag(("--mem-fraction-static",), "mem_fraction_static", 1, 1, "_StoreAction"),
    ),
)


def launches(text: str, file: str = "serve.sh") -> tuple[Launch, ...]:
    """The launches in a text."""
    reading = read_launches(text, file)
    assert reading.launches, reading.skipped
    return reading.launches


def settled() -> Settled:
    """Everything from an option."""
    target = resolve_target("sm90", None)
    return Settled(
        "0.0.1", None, "option", False, (target,), "option", True, UNKNOWN_MODEL, "not said", {}, {}
    )


def subject(text: str, file: str = "serve.sh", resolution: Resolution | None = None) -> Subject:
    """The first launch of a text, read with `TABLE`."""
    launch = launches(text, file)[0]
    facts = settled()
    command = read_command(launch.merged_argv(), TABLE)
    return Subject(launch, command, facts, facts.targets[0], TABLE, resolution, "0.0.1")


def resolution(outcome: Outcome | None = None) -> Resolution:
    """A resolution without fields."""
    return Resolution(
        TreeInfo("0.0.1", "memory", "sha256:0"),
        Target("sm90", Gpu("NVIDIA H100", 81559, 8), "13.0"),
        ModelInfo("unknown"),
        (),
        outcome or Outcome("ok"),
    )


FINDING = Finding(
    rule="start-failure",
    severity="error",
    confidence="proved",
    message="SGLang 0.0.1 fails to start on sm90: ValueError: no, 100% sure: a,b",
    place=Place("deploy/a b.sh", 2, 5, 2, 11),
    fingerprint="0123456789abcdef0123456789abcdef",
    related=(Related(Place("deploy/a b.sh", 3, 1, 3, 4), "takes part"),),
    because=(
        Evidence(
            "sglang",
            "sglang/srt/server_args.py",
            7,
            "https://github.com/sgl-project/sglang/blob/v0.0.1/python/sglang/srt/server_args.py#L7",
            "ServerArgs.check",
            ("self.tp_size > 8",),
            "raise ValueError(...)",
        ),
    ),
    tip="choose another\nbackend",
    launch=0,
)
SECRET = replace(
    FINDING,
    rule="secret-on-command-line",
    severity="warning",
    message="the value of --api-key is a secret in plain text",
    place=Place("deploy/a b.sh", 3, 12, 3, 18),
    fingerprint="ffffffffffffffffffffffffffffffff",
    related=(),
    because=(),
    tip=None,
    sensitive=True,
)
TEXT = "sglang serve \\\n    --tp 4 \\\n --api-key s3cr3t --model-path m\n"


def checked(file: str = "deploy/a b.sh") -> Checked:
    """One checked launch of `TEXT`."""
    launch = launches(TEXT, file)[0]
    return Checked(launch, settled(), "0.0.1", resolution(), (FINDING, SECRET))


def report(*findings: Finding, **changes: Any) -> ScanReport:
    """A report of some findings."""
    made = ScanReport(
        [checked()],
        findings or (FINDING, SECRET),
        [Skipped("x.bin", "not text")],
        rules(),
        lambda _: TEXT.split("\n"),
        Terminal(),
        3,
        {"comment": 2},
    )
    return replace(made, **changes)
