"""Every format says what the review says; none of a tree's texts becomes markup."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from review_trees import ENTRY, TEXTS, reviewed, tree

import sgcheck.review
from sgcheck.report.terminal import Terminal
from sgcheck.review import document, html, markdown, sarif, text
from sgcheck.review.model import CATEGORIES, Review

SCHEMA: dict[str, Any] = json.loads(
    (Path(sgcheck.review.__file__).parent / "diff.schema.json").read_text(encoding="utf-8")
)
HOSTILE = "cutlass </details><script>alert(1)</script> `tick` @everyone [x](http://x) \\x1b[31m"


def closed(schema: Any) -> Any:
    """The schema with no room for keys that it does not name."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items()}
    if result.get("type") == "object" and "properties" in result:
        result["additionalProperties"] = False
    return result


CLOSED = jsonschema.Draft202012Validator(closed(copy.deepcopy(SCHEMA)))


def changed() -> str:
    return (
        TEXTS[ENTRY]
        .replace("self.tp > 8", "self.tp > 4")
        .replace('"cutlass is used"', f'"{HOSTILE}"')
        .replace("interval: int = 1", "interval: int = 5")
        .replace('choices=["NEXTN", "EAGLE"]', 'choices=["EAGLE", "NGRAM"]')
    )


@cache
def sample() -> Review:
    return reviewed(tree(), tree({ENTRY: changed()}))


@cache
def nothing() -> Review:
    return reviewed(tree(), tree())


@pytest.mark.parametrize("review", [sample, nothing])
def test_json_is_valid_and_complete(review: Any) -> None:
    found = review()
    loaded = json.loads(document.render(found))
    CLOSED.validate(loaded)
    assert len(loaded["entries"]) == len(found.entries)
    assert loaded["moved"] == found.moved
    for number, entry in enumerate(loaded["entries"]):
        for name in entry["launches"]:
            (launch,) = [each for each in loaded["launches"] if each["name"] == name]
            assert number in launch["entries"]
    same = [each for each in loaded["launches"] if not each["entries"]]
    assert loaded["summary"]["same"] == len(same)
    assert set(loaded["summary"]) == {"launches", "same", *CATEGORIES}


def test_the_sample_has_what_is_to_be_shown() -> None:
    assert {e.change.category for e in sample().entries} >= {"breaks", "value", "log"}
    assert {f.category for f in sample().flags} == {"choice-new", "choice-gone"}


@pytest.mark.parametrize("width", [60, 80])
def test_text_keeps_its_width(width: int) -> None:
    shown = text.render(sample(), Terminal(width=width), verbose=False)
    assert max(map(len, shown.splitlines())) <= width
    assert "\x1b" not in shown
    order = [shown.index(title) for title in ("\nno longer start", "\nother value", "\nlog mess")]
    assert order == sorted(order)
    assert "no difference" in text.render(nothing(), Terminal())


def test_markdown_is_short_first_and_folded() -> None:
    shown = markdown.render(sample())
    head, _, rest = shown.partition("<details")
    assert "no longer start" in head
    assert head.count("\n") <= 12
    outside = re.sub(r"(`+).*?\1", "", shown)
    assert outside.count("<details") == outside.count("</details>") > 2
    assert rest.index("no longer start") < rest.index("other value changed")


def test_markdown_escapes_what_a_tree_says() -> None:
    shown = markdown.render(sample())
    outside = re.sub(r"(`+).*?\1", "", shown)
    assert "alert" in shown
    assert "alert" not in outside
    assert "@everyone" not in outside
    assert markdown.escaped("a_b <i> @x [y](z)") == "a\\_b \\<i\\> @\u200bx \\[y\\](z)"
    assert markdown.code("a`b") == "`` a`b ``"


def test_html_escapes_and_filters() -> None:
    page = html.render(sample())
    assert "<script>alert" not in page
    for category in {e.change.category for e in sample().entries}:
        assert f'value="{category}"' in page
    assert len(re.findall(r'<article class="entry', page)) == len(sample().entries) + len(
        sample().flags
    )
    assert not re.search(r"<(?:link|img|iframe)|\bsrc=|@import|url\(", page)


def test_sarif_holds_the_breaks() -> None:
    loaded = json.loads(sarif.render(sample()))
    schema = json.loads(
        (Path(__file__).parents[1] / "findings" / "sarif_subset.schema.json").read_text("utf-8")
    )
    jsonschema.validate(loaded, schema)
    results = loaded["runs"][0]["results"]
    assert len(results) == len(sample().of("breaks"))
    lines = {
        location["physicalLocation"]["region"]["startLine"]
        for result in results
        for location in result.get("locations", [])
    }
    raised = changed()[: changed().index("raise ValueError")].count("\n") + 1
    assert raised in lines
    assert json.loads(sarif.render(nothing()))["runs"][0]["results"] == []


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    """Whatever the hash seed."""
    script = tmp_path / "run.py"
    script.write_text(
        "import sys\n"
        "from review_trees import edited, HELPERS, reviewed, tree\n"
        "from sgcheck.review import document, html, markdown\n"
        "found = reviewed(tree(), edited(HELPERS, 'major in (10, 12)', 'major in (9,)'))\n"
        "for module in (document, html, markdown):\n"
        "    sys.stdout.write(module.render(found))\n",
        encoding="utf-8",
    )
    shown = set()
    for seed in ("1", "2"):
        path = ":".join([str(Path(__file__).parent), *sys.path])
        done = subprocess.run(
            [sys.executable, str(script)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": path, "SGCHECK_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            check=True,
        )
        shown.add(done.stdout)
    assert len(shown) == 1
