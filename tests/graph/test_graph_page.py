"""The HTML page of the graph: what it carries, and how it behaves in a browser."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from browser_pages import browser_page
from graph_trees import ENTRY, IN_PLACE_FILES, graph_of, in_place, line_of, rule_at

from sgcheck.graph.colour import Colour
from sgcheck.report.html.graph import embedded, render_graph_html, resource
from sgcheck.report.html.packing import pack
from sgcheck.report.html.vendor import FOLDER, checksum, licences, scripts, vendored


def page_of(folder: Path, *fields: str, **more: Any) -> Path:
    file = folder / "graph.html"
    file.write_text(render_graph_html(in_place(), fields, **more), "utf-8")
    return file


class TestVendored:
    def test_every_file_has_its_checksum(self) -> None:
        for item in vendored():
            assert checksum((FOLDER / item.file).read_bytes()) == item.sha256, item.file
            assert re.fullmatch(r"\d+\.\d+\.\d+", item.version)

    def test_no_file_is_left_over(self) -> None:
        found = {path.name for path in FOLDER.iterdir() if path.suffix in (".js", ".txt")}
        assert found == {item.file for item in vendored()}

    def test_every_package_comes_with_its_licence(self) -> None:
        with_text = {item.package for item in vendored() if item.file.endswith(".txt")}
        assert {item.package for item in vendored()} == with_text
        assert licences().count("Permission is hereby granted") == len(with_text)
        assert {item.licence for item in vendored()} == {"MIT"}

    def test_scripts_cannot_end_their_element(self) -> None:
        for _, text in scripts():
            assert "</script" not in text and "sourceMappingURL" not in text


class TestText:
    def test_the_page_names_no_address_but_links(self) -> None:
        page = render_graph_html(in_place())
        own = re.sub(r"<script>.*?</script>|<pre>.*?</pre>", "", page, flags=re.S)
        assert "://" not in own
        assert not re.search(r"<(link|img|iframe|script src)", own)

    def test_hostile_text_stays_text(self) -> None:
        evil = "</script><img src=x onerror=alert(1)>"
        text = IN_PLACE_FILES[ENTRY].replace('"deep_gemm"', repr(evil))
        graph = graph_of(IN_PLACE_FILES | {ENTRY: text})
        graph.graph["version"] = evil
        page = render_graph_html(graph, ["draft_backend"], launch=evil)
        assert "<img" not in page
        assert page.count("</script>") == page.count("<script")

    def test_embedded_data_is_the_same_data(self) -> None:
        data = {"a": "</script>&<!--", "b": ["\u2028", 1, None]}
        assert json.loads(embedded(data)) == data
        assert "<" not in embedded(data) and "&" not in embedded(data)

    def test_a_chosen_field_brings_only_its_part(self) -> None:
        page = render_graph_html(in_place(), ["chunk"])
        assert '"chunk"' in page and '"dtype"' not in page


class TestPacking:
    """What the page's script makes of the packed data is what was packed."""

    def test_the_browser_unpacks_the_same(self, tmp_path: Path) -> None:
        nodes: list[dict[str, Any]] = [
            {"id": "field:a", "kind": "field", "label": "a", "default": "None", "file": "x.py",
             "line": 3, "url": "https://example.org/x.py#L3"},
            {"id": "rule:x.py:4:2:write:a", "kind": "rule", "rule": "write", "label": "a = 1",
             "field": "a", "file": "x.py", "line": 4, "function": "f", "order": 0, "value": "",
             "guards": [{"text": "b", "holds": False}, {"text": "c", "holds": True}],
             "short": "a = 1\nx.py:4", "url": "https://elsewhere.org/other",
             "colour": {"name": "decided", "when": "", "blocked_by": None}},
            {"id": "rule:x.py:5:2:raise:E", "kind": "rule", "rule": "raise", "label": "raise E",
             "file": "x.py", "line": 5, "function": "f", "order": 1, "guards": [],
             "short": "raise E"},
            {"id": "probe:\u2028</x>", "kind": "probe", "label": "\u2028</x>"},
        ]  # fmt: skip
        edges = [
            {"source": "rule:x.py:4:2:write:a", "target": "field:a", "kind": "writes"},
            {"source": "probe:\u2028</x>", "target": "rule:x.py:5:2:raise:E", "kind": "guards"},
        ]
        script = resource("graph.js").partition("(function () {")[0]
        text = json.dumps({"title": "t", "packed": pack(nodes, edges)})
        page_file = tmp_path / "empty.html"
        page_file.write_text("<!doctype html><title>t</title>", "utf-8")
        with browser_page(page_file) as (page, _):
            made = page.evaluate(
                f"(text) => {{ {script}; return unpack(JSON.parse(text)); }}", text
            )
        assert made == {"title": "t", "nodes": nodes, "edges": edges}

    def test_equal_texts_are_there_once(self) -> None:
        guard = {"text": "a rather long condition", "holds": True}
        nodes = [
            {"id": f"rule:x.py:{n}:1:write:a", "kind": "rule", "rule": "write", "label": "a",
             "file": "x.py", "line": n, "guards": [guard]}
            for n in range(50)
        ]  # fmt: skip
        assert json.dumps(pack(nodes, [])).count("a rather long condition") == 1


class TestBrowser:
    def test_overview_search_and_field(self, tmp_path: Path) -> None:
        with browser_page(page_of(tmp_path)) as (page, _):
            shown = page.evaluate("sgcheckGraph.cy.nodes().map(n => n.data('label'))")
            assert "1  _handle_early\n2 rules" in shown
            page.fill("#search", "draft")
            labels = page.locator("#results button").all_inner_texts()
            assert labels[0].split() == ["draft_backend", "field"]
            page.press("#search", "Enter")
            assert page.locator("#focus .chip").inner_text().startswith("draft_backend")
            assert page.locator("#details h2").first.inner_text() == "draft_backend"
            values = page.locator("#rules tr td:nth-child(3)").all_inner_texts()
            assert values == [
                "None",
                '"deep_gemm"',
                '"auto" if self.backend == "big" else self.backend',
            ]
            assert page.url.endswith("#field%3Adraft_backend")
            page.fill("#search", "no such thing")
            assert page.locator("#results").inner_text() == "nothing of that name"

    def test_filters_by_kind_and_by_question(self, tmp_path: Path) -> None:
        with browser_page(page_of(tmp_path, "draft_backend")) as (page, _):
            kinds = "sgcheckGraph.cy.nodes().map(n => n.data('kind'))"
            assert {"probe", "model", "flag", "rule"} <= set(page.evaluate(kinds))
            page.uncheck("#kinds input[value=probe]")
            assert "probe" not in page.evaluate(kinds)
            page.check("#kinds input[value=probe]")
            page.select_option("#probe", "is_sm100_supported")
            values = page.locator("#rules tr td:nth-child(3)").all_inner_texts()
            assert values == ['"deep_gemm"']

    def test_folding_and_opening_a_stage(self, tmp_path: Path) -> None:
        with browser_page(page_of(tmp_path, "draft_backend")) as (page, _):
            page.select_option("#fold", "function")
            stages = "sgcheckGraph.cy.nodes('[kind = \"stage\"]').map(n => n.data('label'))"
            assert sorted(page.evaluate(stages)) == [
                "_handle_algorithm\n1 rule",
                "_handle_early\n1 rule",
            ]
            page.evaluate(
                "sgcheckGraph.cy.nodes('[kind = \"stage\"]')"
                ".filter(n => n.data('label').includes('early')).emit('tap')"
            )
            page.click("#open-stage")
            assert page.evaluate(stages) == ["_handle_algorithm\n1 rule"]
            page.select_option("#fold", "file")
            assert page.evaluate(stages) == ["srt/server_args.py\n2 rules"]

    def test_the_path_from_a_source_to_the_field(self, tmp_path: Path) -> None:
        with browser_page(page_of(tmp_path, "draft_backend")) as (page, _):
            page.evaluate("sgcheckGraph.showPath('probe:is_sm100_supported')")
            path = set(page.evaluate("sgcheckGraph.cy.nodes('.path').map(n => n.id())"))
            deep = rule_at(in_place(), line_of(IN_PLACE_FILES, ENTRY, 'self.draft_backend = "deep'))
            assert {"probe:is_sm100_supported", deep, "field:draft_backend"} <= path
            assert "field:backend" not in path
            assert page.evaluate("sgcheckGraph.cy.elements('.dim').length") > 0
            page.click("#clear")
            assert page.evaluate("sgcheckGraph.cy.elements('.path, .dim').length") == 0
            page.evaluate("sgcheckGraph.cy.getElementById('field:draft_backend').emit('tap')")
            page.click("#highlight")
            assert page.evaluate("sgcheckGraph.cy.edges('.path').length") > 3

    def test_lines_are_linked(self, tmp_path: Path) -> None:
        graph = in_place().copy()
        for _, data in graph.nodes(data=True):
            if data.get("file"):
                data["url"] = f"https://example.org/{data['file']}#L{data['line']}"
        file = tmp_path / "linked.html"
        file.write_text(render_graph_html(graph, ["chunk"]), "utf-8")
        with browser_page(file) as (page, _):
            line = line_of(IN_PLACE_FILES, ENTRY, "self.chunk = 1\n")
            link = page.locator(f"#rules a[href='https://example.org/{ENTRY}#L{line}']")
            assert link.inner_text() == f"{ENTRY}:{line}"
            assert link.get_attribute("rel") == "noopener noreferrer"

    def test_colours_of_a_launch(self, tmp_path: Path) -> None:
        deep = rule_at(in_place(), line_of(IN_PLACE_FILES, ENTRY, 'self.draft_backend = "deep'))
        colours = {
            "field:draft_backend": Colour("decided", value="deep_gemm"),
            deep: Colour("decided"),
        }
        file = page_of(tmp_path, "draft_backend", colours=colours, launch="--algorithm EAGLE")
        with browser_page(file) as (page, _):
            assert "--algorithm EAGLE" in page.locator("header").inner_text()
            fills = page.evaluate("sgcheckGraph.cy.nodes().map(n => [n.id(), n.data('fill')])")
            assert dict(fills)[deep] == "#b7e4c7"
            labels = page.evaluate("sgcheckGraph.cy.nodes('[focus = 1]').map(n => n.data('label'))")
            assert labels == ["draft_backend\n= deep_gemm"]
            assert "gave the final value" in page.locator("#rules").inner_text()

    def test_fits_1280_by_800_and_paper(self, tmp_path: Path) -> None:
        with browser_page(page_of(tmp_path, "draft_backend")) as (page, _):
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 1280
            assert (
                page.evaluate("document.querySelector('.work').getBoundingClientRect().bottom")
                <= 801
            )
            assert page.evaluate("sgcheckGraph.cy.zoom()") >= 0.8
            page.emulate_media(media="print")
            assert not page.locator(".panel.left").is_visible()
            assert page.locator("#rules tr").count() == 3
            assert page.pdf(format="A4", landscape=True).startswith(b"%PDF")

    def test_the_real_scripts_run_with_hostile_text(self, tmp_path: Path) -> None:
        evil = "</script><img src=x onerror=alert(1)>"
        text = IN_PLACE_FILES[ENTRY].replace('"deep_gemm"', repr(evil))
        file = tmp_path / "evil.html"
        graph = graph_of(IN_PLACE_FILES | {ENTRY: text})
        file.write_text(render_graph_html(graph, ["draft_backend"]), "utf-8")
        with browser_page(file) as (page, _):
            assert repr(evil) in page.locator("#rules").inner_text()
            assert page.locator("img").count() == 0


def test_the_own_script_is_javascript() -> None:
    """Where there is node but no browser, the script is at least parsed."""
    import shutil

    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine")
    script = FOLDER.parent / "graph.js"
    subprocess.run([node, "--check", str(script)], check=True, capture_output=True)
