"""SARIF against the standard's own schema, which is published by OASIS and no part of this repository."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from finding_samples import FINDING, SECRET, report

from sgcheck.findings.model import Finding
from sgcheck.report.scan_report import render

PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
SCHEMA = "package/lib/schemas/sarif-2.1.0-rtm.5.json"


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The official schema, from a package of npm that has it."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("schema")
    done = subprocess.run(
        [npm, "pack", "--silent", PACKAGE], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"npm cannot be reached: {done.stderr[-200:]}")
    with tarfile.open(next(folder.glob("*.tgz"))) as package:
        member = package.extractfile(SCHEMA)
        assert member is not None
        yield json.loads(member.read())


@pytest.mark.release
@pytest.mark.parametrize("findings", [(), (FINDING,), (FINDING, SECRET)])
def test_sarif_fits_the_official_schema(schema: Any, findings: tuple[Finding, ...]) -> None:
    document = json.loads(render("sarif", report(findings=findings)))
    validator = jsonschema.validators.validator_for(schema)(schema)
    assert [error.message for error in validator.iter_errors(document)] == []
    broken = {**document, "runs": [{**document["runs"][0], "unheard": 1}]}
    assert list(validator.iter_errors(broken))
