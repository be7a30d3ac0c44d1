"""Comments, configuration and baseline: what they leave out, and what is said of those without effect."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from finding_samples import FINDING

from sgcheck.errors import UsageError
from sgcheck.findings.baseline import baseline_text, load_baseline
from sgcheck.findings.model import Finding, Place
from sgcheck.findings.suppression import Kept, Silence, suppress
from sgcheck.scan import Reading, read_launches

RULES = ("start-failure", "forced", "unused-suppression")


def silenced(
    text: str,
    findings: list[Finding],
    ignored: tuple[str, ...] = (),
    ran: tuple[str, ...] = RULES,
    baseline: Path | None = None,
) -> Kept:
    reading: Reading = read_launches(text, "a.sh")
    known = load_baseline(str(baseline)) if baseline is not None else None
    comments = {"a.sh": reading.suppressions}
    return suppress(
        findings, reading.launches, Silence(comments, lambda _: ignored, known, RULES, ran)
    )


def at(line: int, rule: str = "start-failure") -> Finding:
    return replace(FINDING, rule=rule, place=Place("a.sh", line, 5, line, 9), related=())


LAUNCH = "sglang serve --model-path m \\\n  --tp 8 \\\n  --pp-size 2\n"


def test_a_comment_above_a_command_speaks_for_all_its_lines() -> None:
    text = "# sgcheck: ignore[start-failure] our image is patched\n" + LAUNCH
    kept = silenced(text, [at(3)])
    assert kept.findings == ()
    assert kept.suppressed == {"comment": 1}


def test_a_comment_speaks_for_its_own_rule_only() -> None:
    text = "# sgcheck: ignore[forced] fine\n" + LAUNCH
    rules = [f.rule for f in silenced(text, [at(3)]).findings]
    assert rules == ["unused-suppression", "start-failure"]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# sgcheck: ignore[forced] a reason", "suppresses nothing"),
        ("# sgcheck: ignore[no-such-rule] a reason", "there is no rule no-such-rule"),
        ("# sgcheck: ignore a reason", "names no rule"),
    ],
)
def test_a_comment_without_effect_is_a_finding(comment: str, message: str) -> None:
    found = silenced(f"{comment}\n{LAUNCH}", []).findings
    assert [f.rule for f in found] == ["unused-suppression"]
    assert message in found[0].message
    assert (found[0].place.line, found[0].place.column) == (1, 1)


def test_a_comment_without_a_reason_works_and_is_a_finding() -> None:
    kept = silenced("# sgcheck: ignore[start-failure]\n" + LAUNCH, [at(2)])
    assert [f.rule for f in kept.findings] == ["unused-suppression"]
    assert "no reason" in kept.findings[0].message


def test_a_comment_about_a_rule_that_did_not_run_is_not_called_unused() -> None:
    text = "# sgcheck: ignore[forced] a reason\n" + LAUNCH
    assert silenced(text, [], ran=("start-failure", "unused-suppression")).findings == ()


def test_the_configuration_ignores_rules() -> None:
    kept = silenced(LAUNCH, [at(1), at(1, "forced")], ignored=("forced",))
    assert [f.rule for f in kept.findings] == ["start-failure"]
    assert kept.suppressed == {"configuration": 1}


def test_a_baseline_takes_known_findings_and_tells_of_stale_ones(tmp_path: Path) -> None:
    stale = replace(at(1, "forced"), fingerprint="e" * 32)
    path = tmp_path / "known.json"
    path.write_text(baseline_text([at(1), stale]))
    assert json.loads(path.read_text())["schema"] == "sgcheck.baseline/1"
    kept = silenced(LAUNCH, [at(2)], baseline=path)
    assert kept.suppressed == {"baseline": 1}
    assert [(f.rule, f.severity, f.place.file) for f in kept.findings] == [
        ("unused-suppression", "warning", str(path))
    ]
    assert '"' + "e" * 32 in path.read_text().splitlines()[kept.findings[0].place.line - 1]


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"schema": "x"}', '{"schema": "sgcheck.baseline/1", "findings": [1]}', "[" * 5000],
)
def test_a_file_that_is_no_baseline_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"b\.json"):
        load_baseline(str(path))
