"""What an assumed release does to findings: asked of its neighbours, kept where they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from finding_samples import FINDING, SECRET, checked, resolution, settled

from sgcheck.findings.assumption import assume, image_day, image_dynamo
from sgcheck.findings.checking import Checked
from sgcheck.findings.confirming import confirmed
from sgcheck.findings.model import Finding
from sgcheck.resolve.resolution import Outcome
from sgcheck.scan.model import Image, Span

NEAR = ("0.0.3", "0.0.2")


def of_release(rule: str) -> bool:
    return rule != "secret-on-command-line"


def assumed(*findings: Finding) -> Checked:
    facts = replace(settled(), assumed="the file names no release", neighbours=NEAR)
    return replace(checked(), settled=facts, findings=findings)


def ask(**by_version: Checked):  # type: ignore[no-untyped-def]
    def answer(version: str, indices: Sequence[int]) -> Mapping[int, Checked]:
        found = by_version.get("v" + version.replace(".", ""))
        return {} if found is None else dict.fromkeys(indices, found)

    return answer


def test_an_error_in_every_release_asked_stays_one() -> None:
    there = checked()
    (found,) = confirmed([assumed(FINDING)], ask(v003=there, v002=there), of_release)
    (finding,) = found.findings
    assert (finding.severity, finding.confidence) == ("error", "proved")
    assert finding.message.endswith("(the file names no release; the same in 0.0.3, 0.0.2)")


def test_a_release_without_the_error_makes_it_a_warning_that_says_so() -> None:
    without = replace(checked(), findings=())
    (found,) = confirmed([assumed(FINDING)], ask(v003=checked(), v002=without), of_release)
    (finding,) = found.findings
    assert (finding.severity, finding.confidence) == ("warning", "likely")
    assert "(on 0.0.1; the file names no release, and 0.0.2 has no such error)" in finding.message


def test_an_error_that_no_other_release_can_be_asked_about_is_none() -> None:
    (found,) = confirmed([assumed(FINDING)], ask(v003=checked()), of_release)
    assert [f.severity for f in found.findings] == ["warning"]
    (alone,) = confirmed([assumed(FINDING)], None, of_release)
    assert [f.confidence for f in alone.findings] == ["likely"]


def test_a_release_that_refuses_the_flags_says_nothing_of_the_start() -> None:
    refused = replace(checked(), findings=(), resolution=resolution(Outcome("cli_error")))
    (found,) = confirmed([assumed(FINDING)], ask(v003=refused, v002=refused), of_release)
    (finding,) = found.findings
    assert finding.severity == "warning"
    assert "no such error" not in finding.message


def test_what_no_release_decides_stays_as_it_is() -> None:
    (found,) = confirmed([assumed(SECRET)], None, of_release)
    assert found.findings == (SECRET,)


def test_a_named_release_is_not_asked_about() -> None:
    def never(version: str, indices: Sequence[int]) -> Mapping[int, Checked]:
        raise AssertionError(version)

    (found,) = confirmed([checked()], never, of_release)
    assert found.findings == (FINDING, SECRET)


def image(text: str) -> Image:
    return Image(text, Span(1, 1, 1, 2, 0, 1), text)


def test_a_nightly_is_of_the_releases_around_its_day() -> None:
    basis = assume(image("lmsysorg/sglang:nightly-dev-cu13-20260528-0abe6a85"))
    assert basis.version == "0.5.12.post1"
    assert "0.5.13" in basis.neighbours
    assert "2026-05-28" in basis.why


def test_a_month_of_nvidia_s_own_image_is_no_release() -> None:
    assert str(image_day("nvcr.io/nvidia/sglang:25.11-py3")) == "2025-11-30"
    assert image_day("acme/llm:20260528") is None
    assert image_day("lmsysorg/sglang:20261399") is None


def test_dynamo_s_images_hold_a_recorded_release() -> None:
    assert image_dynamo("nvcr.io/nvidia/ai-dynamo/sglang-runtime:0.8.0") == "0.5.6.post2"
    assert image_dynamo("nvcr.io/nvidia/ai-dynamo/sglang-runtime:9.9.9") is None
    assert image_dynamo("lmsysorg/sglang:0.8.0") is None


def test_nothing_named_is_any_of_the_last_few() -> None:
    basis = assume(None)
    assert basis.version is None and len(basis.neighbours) >= 3
    assert assume(image("lmsysorg/sglang:latest")).why == (
        "the image lmsysorg/sglang:latest names no release"
    )
