"""The reports of hand-built resolutions, byte for byte.

`SGCHECK_UPDATE_GOLDEN=1 pytest tests/report` writes the files again; read the difference before
committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import sample_resolutions as samples

from sgcheck.report import document, text, why
from sgcheck.report.document import Selection
from sgcheck.report.formats import Report, render
from sgcheck.report.terminal import Terminal
from sgcheck.resolve.resolution import Resolution
from sgcheck.resolve.why import Later, Seen, Site, WhyReport

GOLDEN = Path(__file__).parents[2] / "fixtures" / "golden" / "report"
PLAIN = Terminal(80)
RICH = Terminal(80, color=True, links=True)
ASCII = Terminal(80, unicode=False)


def assert_golden(name: str, actual: str) -> None:
    path = GOLDEN / name
    if os.environ.get("SGCHECK_UPDATE_GOLDEN"):
        path.write_text(actual, encoding="utf-8")
    assert actual == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", samples.ALL)
def test_text(name: str) -> None:
    assert_golden(f"{name}.txt", text.render_check(samples.ALL[name](), PLAIN))


@pytest.mark.parametrize("name", samples.ALL)
def test_json(name: str) -> None:
    report = Report([samples.ALL[name]()], Selection(), False, PLAIN)
    assert_golden(f"{name}.json", document.render(report))


@pytest.mark.parametrize("name", ["starts", "fails"])
def test_text_with_colours_and_links(name: str) -> None:
    assert_golden(f"{name}.color.txt", text.render_check(samples.ALL[name](), RICH))


def test_text_in_ascii() -> None:
    actual = text.render_check(samples.starts(), ASCII)
    assert actual.isascii()
    assert_golden("starts.ascii.txt", actual)


def test_verbose_text_with_changed_fields() -> None:
    selection = Selection(changed=True)
    actual = text.render_check(samples.starts(), PLAIN, selection, verbose=True)
    assert_golden("starts.changed.txt", actual)


def test_table_of_many_targets() -> None:
    report = Report(samples.many_targets(), Selection(), False, PLAIN)
    assert_golden("table.txt", render("text", report))


def test_table_of_chosen_fields() -> None:
    selection = Selection(frozenset({"quantization", "chunked_prefill_size", "random_seed"}))
    report = Report(samples.many_targets(), selection, False, PLAIN)
    assert_golden("table.fields.txt", render("text", report))


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("starts", "speculative_moe_runner_backend"),
        ("starts", "quantization"),
        ("starts", "random_seed"),
        ("fails", "moe_runner_backend"),
    ],
)
def test_why(name: str, field: str) -> None:
    actual = why.render_why(WhyReport(samples.ALL[name](), field), PLAIN)
    assert_golden(f"why-{name}-{field}.txt", actual)


def test_why_shows_what_did_not_fire_and_the_order() -> None:
    seen = Seen(
        'self.speculative_algorithm == "EAGLE"',
        1313,
        (("speculative_algorithm", "NEXTN"),),
        (Later("speculative_algorithm", "NEXTN", "EAGLE", "sglang/srt/server_args.py", 2353),),
    )
    place = ("sglang/srt/server_args.py", 1327, "ServerArgs._handle_model")
    quiet = Site(*place, '"triton"', (seen.text,), fired=False, reached=True, stopped_at=seen)
    idle = Site(*place, '"deep_gemm"', (), fired=False, reached=False)
    report = WhyReport(samples.ALL["starts"](), "quantization", (quiet, idle))
    shown = why.render_why(report, PLAIN)
    assert "speculative_algorithm is NEXTN there" in shown
    assert "becomes EAGLE only later" in shown
    assert "server_args.py:2353" in shown
    assert "its function does not run on this launch" in shown


@pytest.mark.parametrize("name", samples.ALL)
def test_lines_fit_unless_one_word_does_not(name: str) -> None:
    resolution: Resolution = samples.ALL[name]()
    for width in (60, 80, 100):
        for line in text.render_check(resolution, Terminal(width)).splitlines():
            assert len(line) <= width or len(line.split()[-1]) > width - 45, line
