"""The HTML report of a check."""

from __future__ import annotations

from pathlib import Path

from browser_pages import browser_page
from graph_trees import ENTRY, IN_PLACE_FILES, in_place, line_of
from msgspec.structs import replace
from test_graph_colour import STARTS

from sgcheck.report.document import Selection
from sgcheck.report.formats import FORMATS
from sgcheck.report.html.check import render_check_html
from sgcheck.resolve.resolution import (
    Because,
    Case,
    FieldAnswer,
    LaunchError,
    LogLine,
    Outcome,
    OutcomeCase,
    Reason,
    Resolution,
)

ALGORITHM = FieldAnswer(
    "algorithm",
    "decided",
    "EAGLE",
    user_value="NEXTN",
    user_set=True,
    because=(
        Because("flag", "NEXTN"),
        Because(
            "write",
            "EAGLE",
            ENTRY,
            line_of(IN_PLACE_FILES, ENTRY, 'self.algorithm = "EAGLE"'),
            "ServerArgs._handle_algorithm",
            ("one", "two", "three", 'self.algorithm == "NEXTN"'),
            "https://example.org/line",
            effective=True,
        ),
    ),
)
FULL = replace(
    STARTS,
    fields={**STARTS.fields, "algorithm": ALGORITHM},
    effective={"main": {"moe_runner": STARTS.fields["draft_backend"]}, "draft": {}},
    log=(LogLine("WARNING", "chunk is small", ENTRY, 3),),
    env_after={"A": "1", "B": None},
)


def page_of(*results: Resolution, names: tuple[str, ...] = (), graph: bool = False) -> str:
    selection = Selection(frozenset(names) if names else None)
    return render_check_html(results, selection, in_place() if graph else None)


def test_it_is_a_format_of_check() -> None:
    assert FORMATS["html"] == "sgcheck.report.html.check:render"


def test_what_a_launch_that_starts_shows(tmp_path: Path) -> None:
    file = tmp_path / "check.html"
    file.write_text(page_of(FULL, names=("algorithm", "draft_backend"), graph=True), "utf-8")
    with browser_page(file) as (page, _):
        assert page.locator("h1").inner_text().endswith("SGLang 9.9.9 starts on sm120")
        assert page.locator(".backends").inner_text().split()[:6] == [
            "backend", "value", "why", "where", "moe_runner", "auto",
        ]  # fmt: skip
        forced = page.locator(".forced tbody tr td").all_inner_texts()
        assert forced[:3] == ["--algorithm", "NEXTN", "EAGLE"]
        steps = page.locator("#field-algorithm li").all_inner_texts()
        assert steps[0] == "NEXTN your flag"
        # At most the deciding lines, the innermost ones.
        assert "one" not in steps[1] and "because two" in steps[1]
        assert "(+1 outer condition)" in steps[1]
        assert page.locator("#field-algorithm a").first.get_attribute("href") == (
            "https://example.org/line"
        )
        assert "chunk is small" in page.locator("article").inner_text()
        assert "B removed" in page.locator("article").inner_text()
        drawn = page.locator("#field-draft_backend svg text").all_text_contents()
        # What a rule saw of a field is only said where the field kept one value.
        assert drawn[:3] == ["backend", "= auto", "draft_backend"]
        assert drawn[-2:] == ["draft_backend", "= auto"]
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        page.emulate_media(media="print")
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_the_drawing_names_only_what_fired() -> None:
    page = page_of(FULL, names=("draft_backend",), graph=True)
    assert page.count("<svg") == 1
    assert "1 rule of this field did not fire and is not drawn" in page
    assert "deep_gemm" not in page


def test_no_drawing_without_the_graph() -> None:
    assert "<svg" not in page_of(FULL, names=("draft_backend",))


def test_an_error_with_its_line() -> None:
    error = LaunchError(
        "ValueError", "no <model>", ENTRY, 9, "f", ("x is None",), "https://e.org/9"
    )
    page = page_of(replace(STARTS, outcome=Outcome("startup_error", error), fields={}))
    assert "ValueError: no &lt;model&gt;" in page
    assert f'<a class="code" href="https://e.org/9">{ENTRY}:9</a>' in page
    assert "because x is None" in page


def test_conditional_and_unknown_outcomes() -> None:
    cases = (OutcomeCase("model is A", "ok"), OutcomeCase("model is B", "startup_error"))
    page = page_of(replace(STARTS, outcome=Outcome("conditional", cases=cases)))
    assert "fails if</b> model is B" in page and "model is A" not in page
    reason = Reason("not-modelled(torch.foo)", ENTRY, 4)
    page = page_of(replace(STARTS, outcome=Outcome("unknown", reason=reason), fields={}))
    assert "not-modelled(torch.foo)" in page and f"{ENTRY}:4" in page


def test_several_targets_are_several_articles() -> None:
    assert page_of(FULL, FULL).count("<article") == 2


def test_hostile_text_stays_text() -> None:
    evil = "</style><script>alert(1)</script>\x1b[31m"
    step = Because("write", evil, evil, 1, evil, (evil,), "javascript:alert(1)", evil, True)
    answer = FieldAnswer(
        evil,
        "conditional",
        cases=(Case(evil, evil),),
        because=(step,),
        user_value="x",
        user_set=True,
    )
    error = LaunchError(evil, evil, evil, 1, evil, (evil,), "javascript:alert(1)")
    outcome = Outcome("conditional", cases=(OutcomeCase(evil, "startup_error", error),))
    page = page_of(
        replace(
            FULL,
            argv=(evil,),
            outcome=outcome,
            fields={evil: answer},
            effective={"main": {evil: answer}},
            log=(LogLine(evil, evil, evil, 1, evil),),
            env_after={evil: evil},
        )
    )
    assert "<script" not in page and "javascript:" not in page and "\x1b" not in page
    assert page.count("</style>") == 1
