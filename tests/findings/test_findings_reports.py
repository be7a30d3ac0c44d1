"""The formats of a scan, each checked against what its reader demands."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from finding_samples import FINDING, SECRET, checked, report
from msgspec import structs

from sgcheck.findings.model import Finding
from sgcheck.report.github import annotation
from sgcheck.report.scan_report import FORMATS, render
from sgcheck.resolve.resolution import Outcome, Reason

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_ends_with_a_newline_and_is_the_same_twice(name: str) -> None:
    text = render(name, report())
    assert text.endswith("\n")
    assert text == render(name, report())


@pytest.mark.parametrize("name", [n for n in FORMATS if n not in ("json", "sarif", "gitlab")])
def test_no_format_for_people_shows_a_secret(name: str) -> None:
    assert "s3cr3t" not in render(name, report())
    assert "s3cr3t" not in render(name, report(replace(FINDING, place=SECRET.place), SECRET))


def test_full_shows_the_users_line_and_sglangs() -> None:
    text = render("full", report(FINDING))
    assert "error[start-failure]" in text
    assert "  --> deploy/a b.sh:2:5" in text
    assert "  2 |     --tp 4 \\\n    |     ^^^^^^\n" in text
    assert "SGLang: sglang/srt/server_args.py:7 in ServerArgs.check" in text
    assert "7 | raise ValueError(...)" in text
    assert "checked with SGLang 0.0.1 (option) on sm90 (option)" in text
    assert "x.bin: skipped: not text" in text


def test_concise_is_one_line_per_finding_and_a_count() -> None:
    lines = render("concise", report()).splitlines()
    assert lines[0].startswith("deploy/a b.sh:2:5: error[start-failure] SGLang 0.0.1")
    assert lines[-1] == "1 launch: 1 error, 1 warning; 2 suppressed; 1 place skipped"


def test_notes_are_hidden_and_counted() -> None:
    note = replace(FINDING, severity="note")
    assert render("concise", report(note)) == (
        "1 launch: nothing found; 1 note hidden (--notes shows them); 2 suppressed;"
        " 1 place skipped\n"
    )
    assert len(render("concise", report(note, least="note")).splitlines()) == 2


def test_github_annotations_are_escaped() -> None:
    finding = replace(FINDING, place=replace(FINDING.place, file="a,b:c%d.sh"))
    text = annotation(finding)
    assert text.startswith("::error file=a%2Cb%3Ac%25d.sh,line=2,col=5,endLine=2,endColumn=10,")
    head, _, message = text[2:].partition("::")
    assert "title=sgcheck start-failure" in head
    assert "100%25 sure: a,b%0ATip: choose another%0Abackend%0ABecause:" in message
    assert "\n" not in text


def test_an_annotation_over_lines_has_no_columns() -> None:
    finding = replace(FINDING, place=replace(FINDING.place, end_line=4))
    assert annotation(finding).startswith("::error file=deploy/a b.sh,line=2,endLine=4,title=")


def test_gitlab_has_what_gitlab_reads() -> None:
    rows = json.loads(render("gitlab", report()))
    assert rows[0]["location"] == {"path": "deploy/a b.sh", "lines": {"begin": 2, "end": 2}}
    assert [row["severity"] for row in rows] == ["major", "minor"]
    assert len({row["fingerprint"] for row in rows}) == 2
    for row in rows:
        assert row.keys() == {"description", "check_name", "fingerprint", "severity", "location"}


def test_junit_has_a_case_per_launch() -> None:
    bad = replace(FINDING, message="a <b> & \x00 \ud800")
    root = ET.fromstring(render("junit", report(bad)))
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "start-failure"
    assert failure.get("message") == "a <b> & \ufffd \ufffd"


def test_markdown_cells_cannot_be_left() -> None:
    finding = replace(FINDING, message="a | b\n# c <script> [x](y)")
    row = next(line for line in render("markdown", report(finding)).splitlines() if "🔴" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == 5
    assert "\\<script\\>" in row


def test_json_holds_everything_with_counted_columns() -> None:
    document = json.loads(render("json", report()))
    assert document["schema"] == "sgcheck.scan/1"
    launch = document["launches"][0]
    assert launch["argv"][0] == {"text": "--tp", "line": 2, "column": 5}
    assert launch["sglang"] == {"version": "0.0.1", "from": "option"}
    assert launch["target"]["arch"] == "sm90"
    assert launch["outcome"] == {"status": "ok"}
    finding = document["findings"][0]
    assert finding["because"]["line"] == 7
    assert (finding["line"], finding["column"], finding["end_column"]) == (2, 5, 11)
    assert document["skipped"] == [{"file": "x.bin", "line": None, "reason": "not text"}]


def _sarif_schema() -> Any:
    """The official schema where a file of it is named, else the parts that sgcheck writes.

    The official one is published by OASIS; it is no part of this repository.
    """
    path = os.environ.get("SGCHECK_SARIF_SCHEMA")
    chosen = Path(path) if path else HERE / "sarif_subset.schema.json"
    return json.loads(chosen.read_text(encoding="utf-8"))


@pytest.mark.parametrize("findings", [(), (FINDING,), (FINDING, SECRET)])
def test_sarif_fits_its_schema(findings: tuple[Finding, ...]) -> None:
    document = json.loads(render("sarif", report(findings=findings)))
    jsonschema.validate(document, _sarif_schema())
    run = document["runs"][0]
    assert len(run["results"]) == len(findings)
    for result, finding in zip(run["results"], findings, strict=True):
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == finding.rule
        assert result["partialFingerprints"] == {"sgcheck/v1": finding.fingerprint}


def test_sarif_keeps_sglangs_lines_out_of_the_users_repository() -> None:
    result = json.loads(render("sarif", report(FINDING)))["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "deploy/a%20b.sh"
    assert place["region"] == {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 11}
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    uri = steps[1]["location"]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("https://github.com/sgl-project/sglang/blob/v0.0.1/")
    assert "#" not in uri


@pytest.mark.parametrize("file", ["a::b.yaml", "C:x.sh", "ü/é.yaml", "./x.sh", "a\\b.sh"])
def test_sarif_uris_are_relative_references(file: str) -> None:
    from urllib.parse import urlsplit

    finding = replace(FINDING, place=replace(FINDING.place, file=file), related=())
    result = json.loads(render("sarif", report(finding)))["runs"][0]["results"][0]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert urlsplit(uri).scheme == ""
    assert uri.isascii()


@pytest.mark.parametrize(
    ("code", "said"), [("target-not-modelled", True), ("model-unknown", False)]
)
def test_a_launch_that_is_not_resolved_says_why(code: str, said: bool) -> None:
    made = checked()
    assert made.resolution is not None
    outcome = Outcome("unknown", reason=Reason(code, detail="rocm"))
    ended = structs.replace(made.resolution, outcome=outcome)
    made = replace(made, resolution=ended)
    shown = report(launches=[made])
    assert (f"not resolved: {code}: rocm" in render("text", shown)) is said
    document = json.loads(render("json", shown))
    assert document["launches"][0]["outcome"] == {"status": "unknown", "reason": f"{code}: rocm"}
