"""No command line and no environment makes a rule fail, and every finding has a place in the text."""

from __future__ import annotations

import pytest
from finding_samples import TABLE, resolution, settled
from hypothesis import given, settings
from hypothesis import strategies as st

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.command import read_command
from sgcheck.findings.environment import KnownNames
from sgcheck.findings.subject import Subject
from sgcheck.report.scan_report import FORMATS, ScanReport, render
from sgcheck.report.terminal import Terminal
from sgcheck.resolve.resolution import FieldAnswer, LaunchError, Outcome, OutcomeCase, Reason
from sgcheck.scan import read_launches
from sgcheck_rules.registry import rules

WORDS = st.sampled_from(
    [
        "--tp",
        "--tp-size=8",
        "--tp=$TP",
        "8",
        "-1",
        "--model-path",
        "acme/Tiny-NVFP4",
        "--nope",
        "--t",
        "$EXTRA",
        "${X:-4}",
        "''",
        "--host",
        "::1",
        "--port",
        "99999999999",
        "--api-key",
        "s",
        "--config",
        "/x.yaml",
        "--lora-paths",
        "a=b",
        "'--moe-runner-backend'",
        "triton",
        "bogus",
        "--nnodes",
        "0",
        "--dp-size",
        "--",
        "-",
        "=",
        "--=x",
        "--mem-frac",
        "0.5",
    ]
)
ANY = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="'\"\\`$"), max_size=6
)
OUTCOMES = st.sampled_from(
    [
        Outcome("ok"),
        Outcome("unknown", reason=Reason("internal-fault")),
        Outcome("cli_error", LaunchError("SystemExit", "")),
        Outcome(
            "startup_error", LaunchError("E", "", "sglang/x.py", 3, None, ("self.tp_size > 8",))
        ),
        Outcome(
            "conditional", cases=(OutcomeCase("a", "startup_error", LaunchError("E", "--tp")),)
        ),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS | ANY, max_size=10), OUTCOMES, st.sampled_from(["SGL_A", "SGLANG_B", "C"]))
def test_rules_and_formats_take_anything(words: list[str], outcome: Outcome, name: str) -> None:
    text = f"{name}=1 sglang serve " + " ".join(words).replace("\n", " ") + "\n"
    reading = read_launches(text, "x::y %.sh")
    facts = settled()
    fields = {
        "tp_size": FieldAnswer("tp_size", "decided", 8, user_value=4, user_set=True),
        "kv_cache_dtype": FieldAnswer("kv_cache_dtype", "unknown"),
    }
    from msgspec.structs import replace

    resolved = replace(resolution(outcome), fields=fields, effective={"main": fields})
    known = KnownNames(frozenset({"SGLANG_A"}), renames=True)
    findings = []
    for launch in reading.launches:
        for answer in (None, resolved):
            subject = Subject(
                launch,
                read_command(launch.merged_argv(), TABLE if answer is not None else None),
                facts,
                facts.targets[0],
                TABLE if answer is not None else None,
                answer,
                "0.0.1",
                known_names=lambda: known,
            )
            for rule in rules():
                builder = FindingBuilder(
                    rule.meta.id,
                    severity=rule.meta.severity,
                    confidence=rule.meta.confidence,
                    launch=launch,
                )
                findings += list(rule.check(subject, builder))
    lines = text.split("\n")
    for finding in findings:
        place = finding.place
        assert 1 <= place.line <= place.end_line <= len(lines)
        assert place.column >= 1
        assert len(finding.fingerprint) == 32
    report = ScanReport([], findings, [], rules(), lambda _: lines, Terminal(), least="note")
    for each in FORMATS:
        assert render(each, report).endswith("\n") or not findings


@pytest.mark.parametrize("width", [60, 100])
def test_an_excerpt_of_a_very_long_line_fits(width: int) -> None:
    from dataclasses import replace

    from finding_samples import FINDING

    from sgcheck.findings.model import Place

    line = "x" * 5000 + " --tp 8 " + "\t" + "y" * 5000
    finding = replace(
        FINDING, place=Place("f", 1, 5002, 1, 5008), related=(), because=(), launch=None
    )
    report = ScanReport([], [finding], [], rules(), lambda _: [line], Terminal(width))
    text = render("full", report)
    assert "--tp 8" in text
    assert max(map(len, text.split("\n"))) <= width + 8
