"""The HTML page of a matrix, in a browser."""

from __future__ import annotations

from pathlib import Path

from browser_pages import browser_page

from sgcheck.matrix.axes import Axis
from sgcheck.matrix.html import render_html
from sgcheck.matrix.plan import Layout, Matrix
from sgcheck.matrix.solve import Release, Setting, Solved
from sgcheck.resolve.resolution import Case, FieldAnswer, LaunchError, Outcome
from sgcheck.world.target import resolve_target

EVIL = "</td><script>alert(1)</script>"
NAME = "main.moe_runner"


def decided(value: str) -> Solved:
    answer = FieldAnswer("moe_runner_backend", "decided", value)
    return Solved(Outcome("ok"), {NAME: answer})


def page_file(folder: Path) -> Path:
    failed = LaunchError("ValueError", EVIL, "sglang/a.py", 7, url="https://example.org/a#L7")
    cases = (Case("x is 1", "a"), Case("otherwise", "b"))
    matrix = Matrix(
        (
            Axis("machine", "arch", "arch", ("sm90", "sm120")),
            Axis("flag", "--x", "x", ("one", EVIL)),
        ),
        Layout((1,), (0,)),
        (NAME,),
        Setting(Release("1.0"), resolve_target("sm90", None), None, ()),
        ("1.0",),
        {},
        (
            decided("triton"),
            Solved(Outcome("startup_error", failed), {NAME: None}),
            decided("cutlass"),
            Solved(Outcome("ok"), {NAME: FieldAnswer("f", "conditional", cases=cases)}),
        ),
    )
    file = folder / "matrix.html"
    file.write_text(render_html(matrix), "utf-8")
    return file


def test_it_shows_cells_marks_and_errors(tmp_path: Path) -> None:
    with browser_page(page_file(tmp_path)) as (page, _):
        rows = page.locator("table.matrix tbody tr")
        assert rows.nth(0).locator("td").all_inner_texts() == ["triton", "cutlass*"]
        assert rows.nth(1).locator("td").all_inner_texts() == ["fails [1]", "a or b*"]
        assert rows.nth(1).locator("th").inner_text() == EVIL
        assert page.locator("td.differs").count() == 2
        assert "otherwise" in str(rows.nth(1).locator("td").nth(1).get_attribute("title"))
        page.click("a[href='#note-1']")
        assert "sglang/a.py:7" in page.locator("#note-1").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        page.emulate_media(media="print")
        assert page.locator("td.differs").first.is_visible()
