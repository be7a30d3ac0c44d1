"""The rules of two trees against each other: matched by what they do, whatever holds them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from review_trees import ENTRY, RULES, TEXTS, tree

from sgcheck.cli import run
from sgcheck.graph.build import build_graph
from sgcheck.review.rules_diff import RulesDiff, rows, rules_diff, rules_document
from sgcheck.source import open_tree


def compared(changes: dict[str, str]) -> RulesDiff:
    graphs = [build_graph(t, jobs=1, cache=False) for t in (tree(), tree(changes))]
    return rules_diff(rows(graphs[0]), rows(graphs[1]))


def told(found: RulesDiff) -> list[tuple[str, str]]:
    return [(change.how, change.subject) for change in found.changes]


def entry(old: str, new: str) -> dict[str, str]:
    assert TEXTS[ENTRY].count(old) == 1
    return {ENTRY: TEXTS[ENTRY].replace(old, new)}


def test_the_same_tree() -> None:
    found = compared({})
    assert told(found) == []
    assert found.matched == found.old_rules == found.new_rules > 12


def test_a_value() -> None:
    found = compared(entry('self.runner = "cutlass"', 'self.runner = "marlin"'))
    assert told(found) == [("value", "runner")]


def test_a_guard_with_what_it_has_more() -> None:
    found = compared(entry("is_blackwell():", "is_blackwell() and self.tp == 1:"))
    guards = [c for c in found.changes if c.how == "guard" and c.subject == "runner"]
    assert any(change.added == ("self.tp == 1",) for change in guards)
    assert {how for how, _ in told(found)} == {"guard"}


def test_added_and_removed() -> None:
    more = "        self._pages()\n        if self.tp == 7:\n            self.interval = 7\n"
    changed = entry("        self._pages()\n", more)
    assert told(compared(changed)) == [("added", "interval")]
    graphs = [build_graph(t, jobs=1, cache=False) for t in (tree(changed), tree())]
    assert told(rules_diff(rows(graphs[0]), rows(graphs[1]))) == [("removed", "interval")]


def test_an_error() -> None:
    found = compared(entry("self.tp > 8 and self.spec", "self.tp > 4 and self.spec"))
    assert told(found) == [("guard", "raise ValueError")]


def test_renamed_functions_and_other_lines_change_nothing() -> None:
    text = (
        TEXTS[ENTRY].replace("_runner(self)", "_choose(self)").replace("._runner()", "._choose()")
    )
    assert text != TEXTS[ENTRY]
    assert told(compared({ENTRY: "# more\n" * 5 + text})) == []


def test_a_rule_that_moves_into_a_hook_of_another_file_is_still_matched() -> None:
    body = (
        "        if self.page_size is None:\n            self.page_size = page_of(self.attention)\n"
    )
    assert TEXTS[ENTRY].count(body) == 1
    text = TEXTS[ENTRY].replace(body, "        pages_hook(self)\n")
    text = text.replace("import declared, draft_rules", "import declared, draft_rules, pages_hook")
    hook = (
        "from sglang.srt.helpers import page_of\n\n\n"
        "def pages_hook(args):\n"
        "    if args.page_size is None:\n"
        "        args.page_size = page_of(args.attention)\n\n\n"
    )
    found = compared({ENTRY: text, RULES: hook + TEXTS[RULES]})
    assert told(found) == []
    assert found.matched == found.old_rules


def test_the_document() -> None:
    found = compared(entry('self.runner = "cutlass"', 'self.runner = "marlin"'))
    loaded = json.loads(json.dumps(rules_document(found)))
    assert loaded["schema"] == "sgcheck.diff-rules/1"
    (change,) = loaded["changes"]
    assert change["old"]["file"] == change["new"]["file"] == ENTRY
    assert change["old"]["line"] == change["new"]["line"] > 1


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run_it(*args: str) -> tuple[int, str, str]:
        code = run(args)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run_it


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., tuple[int, str, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, changes in (("a", {}), ("b", entry("interval: int = 1", "interval: int = 9"))):
        for path, text in {**TEXTS, **changes}.items():
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    code, out, _ = call("diff", "--rules", "a", "b")
    assert code == 0
    assert "rules with another value (1)" in out
    assert "interval" in out
    code, out, _ = call("diff", "--rules", "--fields", "runner", "a", "b", "--format", "json")
    assert json.loads(out)["changes"] == []
    assert call("diff", "--rules", "--fields", "nothing", "a", "b")[0] == 2
    assert call("diff", "--fields", "runner", "a", "b")[0] == 2
    assert call("diff", "--rules", "a", "b", "--", "--tp", "2")[0] == 2


@pytest.mark.release
def test_a_rewrite_still_matches_most_rules() -> None:
    """From fields changed in place to a pipeline of declarations, over many files."""
    graphs = [build_graph(open_tree(version)) for version in ("0.5.9", "0.5.23")]
    names = frozenset(
        data["label"] for _, data in graphs[0].nodes(data=True) if data["kind"] == "field"
    ) & frozenset(
        data["label"] for _, data in graphs[1].nodes(data=True) if data["kind"] == "field"
    )
    old, new = (rows(graph, names) for graph in graphs)
    found = rules_diff(old, new)
    assert found.matched >= 0.75 * len(old)
    assert found.matched + len(found.of("removed")) == len(old)
    assert found.matched + len(found.of("added")) == len(new)
