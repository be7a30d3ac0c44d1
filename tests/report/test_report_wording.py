"""The small pieces of text: values, conditions, control characters, terminals, rows."""

from __future__ import annotations

import io
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.report.layout import NO_BREAK, Page, Span
from sgcheck.report.terminal import Terminal, detect, shows_links, wants_color
from sgcheck.report.wording import (
    argv_text,
    clean,
    condition_text,
    effective_steps,
    flag_in,
    guard_text,
    step_lines,
    value_text,
    when_text,
)
from sgcheck.resolve.resolution import Because, FieldAnswer


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        ("None", "'None'"),
        (True, "True"),
        ("flashinfer_cutlass", "flashinfer_cutlass"),
        ("", "''"),
        ("two words", "'two words'"),
        (0.9, "0.9"),
        ([1, "a"], "[1, 'a']"),
        ("x" * 70, "x" * 59 + "…"),
    ],
)
def test_value_text(value: Any, text: str) -> None:
    assert value_text(value) == text


@given(st.text())
def test_nothing_in_a_text_steers_the_terminal(text: str) -> None:
    assert not any((ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 for c in clean(text))


def test_clean_takes_whole_sequences_away() -> None:
    assert clean("\x1b[1;33mred\x1b[0m") == "red"
    assert clean("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\") == "link"
    assert clean("a\rb\x07") == "a b "


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("a is one of A, B, C", "a is one of A, B, C"),
        ("a is one of A, B, C, D", "a is one of A, B, … (+2)"),
        ("a is one of A, B, C, D and b is x", "a is one of A, B, … (+2) and b is x"),
        ("(a is one of A, B, C, D, E)", "(a is one of A, B, … (+3))"),
        ("a, b, c, d", "a, b, c, d"),
    ],
)
def test_long_choices_are_cut(condition: str, text: str) -> None:
    assert condition_text(condition) == text
    assert condition_text(condition, verbose=True) == condition


def test_when_text() -> None:
    assert when_text("otherwise") == "otherwise"
    assert when_text("x is 1") == "if x is 1"


def test_flag_in_finds_the_spelling_of_the_user() -> None:
    assert flag_in(("--tp-size", "8"), "tp_size") == "--tp-size"
    assert flag_in(("--tp-size=8",), "tp_size") == "--tp-size"
    assert flag_in(("--tp", "8"), "tp_size") is None
    assert flag_in(("--tp-size-x", "8"), "tp_size") is None


def test_argv_text_keeps_a_flag_with_its_value() -> None:
    argv = ("--tp", "8", "--json", '{"a": 1}', "-x", "--modes", "a", "b", "--n", "-1", "")
    text = argv_text(argv)
    assert text.replace(NO_BREAK, " ") == shlex.join(argv)
    assert text.split(" ") == [
        f"--tp{NO_BREAK}8",
        f"--json{NO_BREAK}'{{\"a\":{NO_BREAK}1}}'",
        "-x",
        f"--modes{NO_BREAK}a",
        "b",
        "--n",
        "-1",
        "''",
    ]


def test_step_lines() -> None:
    assert step_lines(Because("flag", 8), "--tp-size") == ["set by --tp-size"]
    assert step_lines(Because("flag", 8), None) == ["set by your flag"]
    write = Because("write", 8, "f", 1, "A.f", ("a", "b", "c"))
    assert step_lines(write, None) == ["because b", "and c", "(+1 outer condition)"]
    assert step_lines(write, None, verbose=True) == ["because a", "and b", "and c"]
    assert step_lines(Because("write", 8, "f", 1, "A.handle"), None) == ["set in handle"]
    assert step_lines(Because("write", 8, "f", 1), None) == ["set by SGLang"]
    assert step_lines(Because("declared", 8, "f", 1, "g", when="x is 1"), None) == ["if x is 1"]


def test_long_guards_are_cut_unless_verbose() -> None:
    guard = "x and " * 30
    assert len(guard_text(guard)) == 120
    assert guard_text(guard).endswith("…")
    assert guard_text(guard, verbose=True) == guard


def test_without_a_marked_step_the_last_one_with_the_value_counts() -> None:
    steps = (Because("default", 1), Because("write", 2), Because("write", 1), Because("write", 2))
    answer = FieldAnswer("f", "decided", 2, because=steps)
    assert effective_steps(answer) == [steps[3]]
    assert effective_steps(FieldAnswer("f", "decided", 5, because=steps)) == []
    assert effective_steps(FieldAnswer("f", "unknown", because=steps)) == []


@pytest.mark.parametrize(
    ("environ", "is_terminal", "choice", "color"),
    [
        ({}, True, "auto", True),
        ({}, False, "auto", False),
        ({"NO_COLOR": "1"}, True, "auto", False),
        ({"NO_COLOR": ""}, True, "auto", True),
        ({"NO_COLOR": "1"}, False, "always", True),
        ({"FORCE_COLOR": "1"}, False, "auto", True),
        ({"FORCE_COLOR": "0"}, False, "auto", False),
        ({"CLICOLOR_FORCE": "1"}, False, "auto", True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, "auto", False),
        ({"TERM": "dumb"}, True, "auto", False),
        ({"CLICOLOR": "0"}, True, "auto", False),
        ({"FORCE_COLOR": "1"}, True, "never", False),
    ],
)
def test_color(environ: dict[str, str], is_terminal: bool, choice: Any, color: bool) -> None:
    assert wants_color(is_terminal, choice, environ) is color


@pytest.mark.parametrize(
    ("environ", "is_terminal", "links"),
    [
        ({}, True, False),
        ({"VTE_VERSION": "7600"}, True, True),
        ({"VTE_VERSION": "4000"}, True, False),
        ({"TERM_PROGRAM": "WezTerm"}, True, True),
        ({"TERM_PROGRAM": "WezTerm"}, False, False),
        ({"TERM_PROGRAM": "WezTerm", "CI": "true"}, True, False),
        ({"FORCE_HYPERLINK": "1"}, False, True),
        ({"FORCE_HYPERLINK": "0", "TERM": "xterm-kitty"}, True, False),
    ],
)
def test_links(environ: dict[str, str], is_terminal: bool, links: bool) -> None:
    assert shows_links(is_terminal, environ) is links


@pytest.mark.parametrize(("encoding", "is_unicode"), [("utf-8", True), ("ascii", False)])
def test_a_file_is_plain_and_80_columns_wide(encoding: str, is_unicode: bool) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    assert detect(stream, "auto", {}) == Terminal(80, False, False, is_unicode)


def test_a_cell_that_is_too_long_pushes_the_rest_to_the_next_line() -> None:
    page = Page(Terminal(80))
    page.row([Span("a-name-that-is-long"), Span("value"), Span("why")], [2, 10, 20])
    page.row([Span("short"), Span("value"), Span("why")], [2, 10, 20])
    assert page.lines == [
        "  a-name-that-is-long",
        "          value     why",
        "  short   value     why",
    ]


def test_the_last_cell_wraps_in_its_column() -> None:
    page = Page(Terminal(60))
    page.row([Span("n"), Span("word " * 12)], [0, 30])
    assert len(page.lines) == 2
    assert page.lines[1].startswith(" " * 30 + "word")
    assert all(len(line) <= 60 for line in page.lines)
