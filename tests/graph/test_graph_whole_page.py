"""The page of a whole release in a browser, and how large it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_pages import browser_page

from sgcheck.graph.build import build_graph
from sgcheck.report.html.graph import render_graph_html
from sgcheck.report.html.vendor import scripts
from sgcheck.source import open_tree

pytestmark = pytest.mark.release

MOST_BYTES = 1_300_000
"""Of the page without the libraries in it."""


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_the_whole_resolution_is_searched_filtered_and_followed(
    version: str, tmp_path: Path
) -> None:
    text = render_graph_html(build_graph(open_tree(version)))
    assert len(text) - sum(len(library) for _, library in scripts()) < MOST_BYTES
    file = tmp_path / "whole.html"
    file.write_text(text, "utf-8")
    with browser_page(file) as (page, _):
        assert page.evaluate("sgcheckGraph.cy.nodes().length") > 20
        page.fill("#search", "moe_runner_backend")
        page.press("#search", "Enter")
        assert page.locator("#details h2").first.inner_text() == "moe_runner_backend"
        before = page.locator("#rules tr").count()
        probe = "is_sm100_supported" if version == "0.5.9" else "get_platform().is_sm100"
        page.select_option("#probe", probe)
        assert 0 < page.locator("#rules tr").count() < before
        page.select_option("#probe", "")
        page.evaluate("sgcheckGraph.showPath('flag:--moe-runner-backend')")
        assert page.evaluate("sgcheckGraph.cy.nodes('.path').length") >= 2
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 1280
        page.emulate_media(media="print")
        assert page.locator("#rules tr").first.is_visible()
        assert not page.locator(".panel.left").is_visible()
