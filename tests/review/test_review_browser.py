"""The page of a review in a real browser: its filters, and that it asks nothing of anybody."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_pages import browser_page
from review_trees import ENTRY, TEXTS, reviewed, tree

from sgcheck.review import html


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = TEXTS[ENTRY].replace("self.tp > 8", "self.tp > 4").replace("int = 1\n", "int = 2\n")
    file = tmp_path_factory.mktemp("review") / "review.html"
    file.write_text(html.render(reviewed(tree(), tree({ENTRY: text}))), encoding="utf-8")
    return file


def test_filters(page_file: Path) -> None:
    with browser_page(page_file) as (page, _):
        shown = page.locator(".entry:visible")
        whole = shown.count()
        assert whole > 2
        assert page.locator("#shown").inner_text() == f"{whole} of {whole} shown"
        page.locator('.category[value="breaks"]').uncheck()
        assert page.locator('.entry[data-category="breaks"]:visible').count() == 0
        assert 0 < shown.count() < whole
        page.locator('.category[value="breaks"]').check()
        page.locator("#words").fill("INTERVAL")
        assert shown.count() >= 1
        assert all("interval" in text.lower() for text in shown.all_inner_texts())
        page.locator("#words").fill("no such word")
        assert shown.count() == 0
        page.locator("#words").fill("")
        page.locator("#arch").select_option("sm120")
        archs = shown.evaluate_all("all => all.map((each) => each.dataset.archs)")
        assert archs
        assert all(not each or "sm120" in each.split() for each in archs)


def test_nothing_is_cut_off_at_a_small_width(page_file: Path) -> None:
    with browser_page(page_file, width=800) as (page, _):
        widths = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert page.evaluate(widths)
