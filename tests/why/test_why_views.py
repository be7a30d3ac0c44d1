"""`why --versus`, `--tree` and `--all-cases` over an invented release."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from why_release import line_of, write_release

from sgcheck.cli import run

FILE = "sglang/srt/server_args.py"
Why = Callable[..., tuple[int, str, str]]


@pytest.fixture
def why(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Why:
    """Runs `sgcheck why` in a folder with the release; gives exit code, output, complaints."""
    write_release(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "SGCHECK_CONFIG"):
        monkeypatch.delenv(name, raising=False)

    def call(field: str, *args: str) -> tuple[int, str, str]:
        given = ["--isolated", "--sglang", "tree", "--model", "m"]
        given += [] if "--all-cases" in args else ["--arch", "sm90"]
        code = run(["why", field, *given, *args])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def part(why: Why, field: str, *args: str) -> dict[str, Any] | None:
    """The part of a comparison, as JSON."""
    at = args.index("--versus")
    code, out, err = why(field, "--format", "json", *args[:at], *args[at:])
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    assert found["schema"] == "sgcheck.why-versus/1"
    result: dict[str, Any] | None = found["part"]
    return result


def test_the_first_branch_is_found_and_followed_to_the_flag(why: Why) -> None:
    found = part(why, "draft_backend", "--spec", "NEXTN", "--versus", "--spec", "EAGLE")
    assert found is not None
    guard = 'if self.speculative_algorithm == "EAGLE" and self.draft_backend is None:'
    assert (found["kind"], found["file"], found["line"]) == ("branch", FILE, line_of(guard))
    assert found["holds"] is False
    assert found["left"]["line"] == line_of("self.draft_backend = self.moe_runner_backend")
    assert found["right"]["line"] == line_of('self.draft_backend = "triton"')
    assert [(x["field"], x["left"], x["right"]) for x in found["looked"]] == [
        ("speculative_algorithm", "NEXTN", "EAGLE")
    ]
    assert found["parts"][0]["kind"] == "input"


def test_one_line_with_two_values_is_followed_through_locals(why: Why) -> None:
    found = part(why, "share", "--tp", "1", "--versus", "--tp", "2")
    assert found is not None
    assert (found["kind"], found["line"]) == ("value", line_of("self.share = left / 100"))
    assert (found["left"]["value"], found["right"]["value"]) == (0.96, 0.92)
    assert [each["field"] for each in found["parts"]] == ["tp_size"]


def test_a_function_that_only_one_calls_is_told_by_its_condition(why: Why) -> None:
    found = part(why, "attention_backend", "--versus", "--arch", "sm120")
    assert found is not None
    assert (found["kind"], found["line"]) == ("branch", line_of("if is_new():"))
    assert found["holds"] is False and found["text"] == "is_new()"
    assert found["left"]["file"] is None
    assert found["right"]["line"] == line_of('self.attention_backend = "new"')


def test_exchanging_the_launches_exchanges_the_sides(why: Why) -> None:
    one = part(why, "draft_backend", "--spec", "NEXTN", "--versus", "--spec", "EAGLE")
    two = part(why, "draft_backend", "--spec", "EAGLE", "--versus", "--spec", "NEXTN")
    assert one is not None and two is not None
    assert (one["left"], one["right"]) == (two["right"], two["left"])
    assert one["line"] == two["line"] and one["holds"] is not two["holds"]


def test_equal_launches_part_nowhere(why: Why) -> None:
    assert part(why, "draft_backend", "--versus", "--arch", "sm90") is None
    code, out, _ = why("draft_backend", "--versus", "--arch", "sm90")
    assert code == 0 and "nowhere: the same lines give it the same values" in out


def test_flags_after_the_dashes_are_those_of_their_launch(why: Why) -> None:
    kept = part(why, "pages", "--", "--tp", "4", "--versus", "--spec", "EAGLE")
    assert kept is None
    found = part(why, "pages", "--", "--tp", "4", "--versus", "--", "--tp", "2")
    assert found is not None
    assert (found["left"]["value"], found["right"]["value"]) == (8, 4)


def test_versus_as_text(why: Why) -> None:
    code, out, _ = why("draft_backend", "--spec", "NEXTN", "--versus", "--spec", "EAGLE")
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    assert "flags A: --speculative-algorithm NEXTN" in out
    assert "true in B, false in A" in out
    assert f"{FILE}:{line_of('self.draft_backend = self.moe_runner_backend')}" in out


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("--versus", "--sglang", "tree"), "both launches are of one SGLang"),
        (("--versus", "--arch", "sm90,sm120"), "several architectures"),
        (("--versus", "--model", "nowhere/x"), "nowhere/x"),
        (("--tree", "--versus", "--tp", "2"), "choose one"),
        (("--tree", "--all-cases"), "choose one"),
        (("--versus", "--nonsense"), "--nonsense"),
    ],
)
def test_bad_input_is_one_sentence(why: Why, args: tuple[str, ...], word: str) -> None:
    code, out, err = why("pages", *args)
    assert code == 2 and not out and word in err and "Traceback" not in err


@pytest.mark.parametrize("view", [("--versus", "--tp", "2"), ("--tree",), ("--all-cases",)])
def test_a_field_that_is_none_gets_the_nearest(why: Why, view: tuple[str, ...]) -> None:
    code, _, err = why("draft_backendd", *view)
    assert code == 2 and "did you mean draft_backend" in err


def test_the_tree_leads_to_what_decided(why: Why) -> None:
    code, out, _ = why("draft_backend", "--tree", "--moe", "a", "--format", "json")
    found = json.loads(out)
    assert code == 0 and found["schema"] == "sgcheck.why-tree/1"
    tree = found["tree"]
    assert tree["value"] == "a" and [b["field"] for b in tree["branches"]] == ["moe_runner_backend"]
    assert tree["branches"][0]["steps"][0]["kind"] == "flag"


def test_the_tree_keeps_what_a_field_had_before(why: Why) -> None:
    _, out, _ = why("share", "--tree", "--spec", "NEXTN", "--format", "json")
    tree = json.loads(out)["tree"]
    lines = [step["line"] for step in tree["steps"] if step["line"]]
    assert lines == [line_of("self.share = left / 100"), line_of("self.share = self.share * 0.5")]
    assert {b["field"] for b in tree["branches"]} == {"speculative_algorithm", "tp_size"}


def test_the_tree_as_text(why: Why) -> None:
    _, out, _ = why("share", "--tree", "--spec", "NEXTN")
    assert "├─ " in out and "└─ " in out and max(map(len, out.splitlines())) <= 80


def test_all_cases_tell_equal_machines_once(why: Why) -> None:
    code, out, _ = why("attention_backend", "--all-cases", "--format", "json")
    found = json.loads(out)
    assert code == 0 and found["schema"] == "sgcheck.why-cases/1"
    by_value = {m["answer"]["value"]: m["archs"] for m in found["machines"]}
    assert by_value == {
        None: ["sm75", "sm80", "sm86", "sm89", "sm90"],
        "new": ["sm100", "sm103", "sm110", "sm120", "sm121"],
    }
    _, text, _ = why("attention_backend", "--all-cases")
    assert "on sm100, sm103, sm110, sm120, sm121" in text and "= new" in text
