"""Builder, fingerprints, merging of readings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from finding_samples import FINDING, launches

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.checking import merge
from sgcheck.findings.fingerprint import fingerprint, number_repeats
from sgcheck.findings.model import Finding
from sgcheck.scan.model import Span


def builder(text: str = "sglang serve --tp 8\n", file: str = "serve.sh") -> FindingBuilder:
    launch = launches(text, file)[0]
    return FindingBuilder("forced", severity="warning", confidence="proved", launch=launch, index=0)


def made(text: str = "sglang serve --tp 8\n", file: str = "serve.sh", key: str = "--tp") -> Finding:
    launch = launches(text, file)[0]
    return builder(text, file).finding("a message", at=launch.argv[0].span, key=(key,))


def test_a_finding_needs_a_primary_span_a_message_and_a_key() -> None:
    span = Span(1, 1, 1, 2, 0, 1)
    with pytest.raises(ValueError, match="primary span"):
        builder().finding("x", at=None, key=("k",))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="primary span"):
        builder().finding("x", at=replace(span, line=0), key=("k",))
    with pytest.raises(ValueError, match="message"):
        builder().finding(" ", at=span, key=("k",))
    with pytest.raises(ValueError, match="key"):
        builder().finding("x", at=span, key=())
    assert builder().finding("x", at=span, key=("k",)).severity == "warning"


def test_a_fingerprint_does_not_move_with_the_lines() -> None:
    first = made()
    moved = made("#!/bin/bash\n# comment\n\nsglang serve \\\n   --tp   8\n")
    assert moved.place != first.place
    assert moved.fingerprint == first.fingerprint
    assert made(key="--pp-size").fingerprint != first.fingerprint
    assert made(file="other.sh").fingerprint != first.fingerprint
    assert fingerprint("r", "a\\b", (), ("x  y",)) == fingerprint("r", "a/b", (), ("x y",))


def test_equal_fingerprints_are_numbered_in_order() -> None:
    marks = [f.fingerprint for f in number_repeats([FINDING, FINDING, FINDING])]
    assert marks == [FINDING.fingerprint, f"{FINDING.fingerprint}-2", f"{FINDING.fingerprint}-3"]


def test_a_finding_of_every_reading_stays_as_it_is() -> None:
    assert merge([("on sm90", [FINDING]), ("on sm120", [FINDING])]) == (FINDING,)
    assert merge([("", [FINDING])]) == (FINDING,)


def test_a_finding_of_some_readings_says_when_and_is_no_error() -> None:
    merged = merge([("on sm90", []), ("on sm120", [FINDING])])
    assert [(f.severity, f.confidence) for f in merged] == [("warning", "likely")]
    assert merged[0].message.endswith("(on sm120)")


def test_samples_weaken_and_add_nothing() -> None:
    other = replace(FINDING, fingerprint="f" * 32, rule="forced")
    assert merge([("on sm90", [FINDING])], [("on sm100", [FINDING, other])]) == (FINDING,)
    weak = merge([("on sm90", [FINDING])], [("on sm100", [other])])
    assert [(f.rule, f.severity) for f in weak] == [("start-failure", "warning")]
