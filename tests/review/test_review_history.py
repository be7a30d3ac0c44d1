"""`sgcheck history` and `sgcheck since` over a row of small trees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_trees import CHOICES, ENTRY, HELPERS, TEXTS

from sgcheck.cli import run
from sgcheck.errors import UsageError
from sgcheck.resolve.resolution import FieldAnswer
from sgcheck.review.field_history import Point, same_rule
from sgcheck.review.model import Site
from sgcheck.review.timeline import changes_in, chosen_releases, label, looked_at

COUNT = 9
CHANGED_AT = 5


def same(left: object, right: object) -> bool:
    return left == right


@given(st.lists(st.integers(0, 2), min_size=1, max_size=40).map(sorted))
def test_every_change_of_a_row_that_never_returns_is_found(row: list[int]) -> None:
    found = looked_at(len(row), row.__getitem__, same)
    real = [(i, i + 1) for i in range(len(row) - 1) if row[i] != row[i + 1]]
    assert changes_in(found, same) == real
    assert all(row[index] == state for index, state in found.items())


@given(st.integers(2, 500), st.data())
def test_few_are_looked_at(count: int, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, count - 1))
    found = looked_at(count, lambda index: index >= at, same)
    assert len(found) <= 3 + count.bit_length()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20))
def test_with_all_as_seeds_all_are_looked_at(row: list[int]) -> None:
    assert looked_at(len(row), row.__getitem__, same, range(len(row))) == dict(enumerate(row))


def test_how_a_rule_is_written_does_not_make_it_another_one() -> None:
    def point(kind: str, text: str, *conditions: str) -> Point:
        answer = FieldAnswer("page_size", "decided", value=1)
        return Point(answer, "1", (Site(kind, "a.py", 1, "f", conditions, None, text),))

    assert same_rule(point("default", "page_size: int = 1"), point("default", "page_size: A = 1"))
    write = point("write", "self.page_size = 1", "self.tp > 4 and self.spec is None")
    assert same_rule(write, point("write", "cfg.page_size = 1", "cfg.tp > 4", "cfg.spec is None"))
    assert not same_rule(write, point("write", "cfg.page_size = 1", "cfg.tp > 8"))
    assert not same_rule(write, point("default", "page_size: int = 1"))


def test_releases_between_two() -> None:
    assert chosen_releases((), "0.5.8", "0.5.10") == ["0.5.8", "0.5.9", "0.5.10"]
    assert chosen_releases(("b", "a"), None, None) == ["b", "a"]
    with pytest.raises(UsageError, match="is no release number"):
        chosen_releases((), "newest", None)
    with pytest.raises(UsageError, match="--from comes first"):
        chosen_releases((), "0.5.10", "0.5.8")
    assert label("/a/sglang-0.5.9-py3-none-any.whl") == "sglang-0.5.9"
    assert label("0.5.9") == "0.5.9"


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Nine releases: at the sixth a rule and the choices change, and a flag gets another name."""
    monkeypatch.chdir(tmp_path)
    for number in range(COUNT):
        files = dict(TEXTS)
        if number >= CHANGED_AT:
            files[HELPERS] = files[HELPERS].replace("else 1", "else 2")
            files[CHOICES] = files[CHOICES].replace('"triton"', '"triton", "new"')
            files[ENTRY] = files[ENTRY].replace(
                '"--interval",', '"--pause", dest="interval", help="SGLANG_NEW_ONE",'
            )
        for path, text in files.items():
            file = tmp_path / f"r{number}" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return ",".join(f"r{number}" for number in range(COUNT))


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run_it(*args: str) -> tuple[int, str, str]:
        code = run(args)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run_it


MODEL = ("--arch", "sm90", "--model", "qwen3-8b")


def test_history(row: str, call: Call) -> None:
    code, out, err = call("history", "page_size", "--releases", row, *MODEL, "--format", "json")
    assert (code, err) == (0, "")
    loaded = json.loads(out)
    (change,) = loaded["changes"]
    assert (change["from"], change["to"]) == ("r4", "r5")
    (entry,) = change["entries"]
    assert (entry["old"]["value"], entry["new"]["value"]) == (1, 2)
    assert entry["edits"][0]["new"]["file"] == HELPERS
    resolved = [each["release"] for each in loaded["releases"] if each["resolved"]]
    assert {"r0", "r4", "r5", "r8"} <= set(resolved)
    assert len(resolved) < COUNT
    code, out, _ = call("history", "page_size", "--releases", row, *MODEL)
    assert "r4 → r5" in out
    assert "page_size: 1 → 2" in out


def test_every(row: str, call: Call) -> None:
    command = ("history", "interval", "--releases", row, *MODEL, "--format", "json")
    resolved = [each["resolved"] for each in json.loads(call(*command)[1])["releases"]]
    assert sum(resolved) == 2
    resolved = [e["resolved"] for e in json.loads(call(*command, "--every")[1])["releases"]]
    assert sum(resolved) == COUNT


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--interval",), "is gone"),
        (("--pause",), "appears"),
        (("--runner=new",), "appears"),
        (("--runner", "new"), "appears"),
        (("SGLANG_NEW_ONE",), "appears"),
    ],
)
def test_since(row: str, call: Call, words: tuple[str, ...], what: str) -> None:
    code, out, err = call("since", "--releases", row, "--format", "json", *words)
    assert (code, err) == (0, "")
    loaded = json.loads(out)
    (change,) = loaded["changes"]
    assert (change["from"], change["to"], change["what"]) == ("r4", "r5", what)
    code, out, _ = call("since", "--releases", row, *words)
    assert f"r5: {what} (not so in r4)" in out


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("history", "nothing", "--releases", "r0,r1", *MODEL), 2, "has a field nothing"),
        (("history", "tp", "--releases", "r0,no", *MODEL), 2, "there is no 'no'"),
        (("history", "tp", "--from", "0.5.9", "--to", "0.5.8", *MODEL), 2, "--from comes first"),
        (("history", "tp", "--releases", "r0", "--arch", "sm90,sm100"), 2, "one architecture"),
        (("since", "--no-such-flag", "--releases", "r0,r8"), 3, "knows --no-such-flag"),
        (("since", "not a flag", "--releases", "r0"), 2, "name a --flag"),
    ],
)
def test_bad_input_is_one_sentence(
    row: str, call: Call, args: tuple[str, ...], code: int, words: str
) -> None:
    found, out, err = call(*args)
    assert (found, out) == (code, "")
    assert words in err
    assert len([line for line in err.splitlines() if line.startswith("sgcheck: ")]) == 1
