"""Command lines read with a parser's table: uses, values, what is open."""

from __future__ import annotations

import argparse
import contextlib
import io

import pytest
from finding_samples import TABLE, launches, subject
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.findings.command import read_command
from sgcheck.findings.flags import FlagTable, read_flags
from sgcheck.scan.model import Span, Word

SPAN = Span(1, 1, 1, 2, 0, 1)


def words(*texts: str) -> list[Word]:
    return [Word(text, Span(1, n + 1, 1, n + 2, n, n + 1)) for n, text in enumerate(texts)]


def test_values_spellings_and_strays() -> None:
    command = read_command(
        words(
            "--tp",
            "8",
            "--model=m",
            "--trust-remote-code",
            "x",
            "--lora-paths",
            "a",
            "b",
            "--pp-size",
            "-1",
        ),
        TABLE,
    )
    assert [(u.name, [v.text for v in u.values], u.inline) for u in command.uses] == [
        ("--tensor-parallel-size", ["8"], False),
        ("--model-path", ["m"], True),
        ("--trust-remote-code", [], False),
        ("--lora-paths", ["a", "b"], False),
        ("--pp-size", ["-1"], False),
    ]
    assert [word.text for word in command.stray] == ["x"]
    assert command.last("--tp-size") is command.uses[0]
    assert command.of_dest("model_path")[0].value == "m"


@pytest.mark.parametrize(
    ("spelling", "match", "names"),
    [
        ("--tp", "exact", ("--tp",)),
        ("--mem-frac", "abbreviated", ("--mem-fraction-static",)),
        (
            "--t",
            "ambiguous",
            ("--tensor-parallel-size", "--tp", "--tp-size", "--trust-remote-code"),
        ),
        ("--nope", "unknown", ()),
        ("-x", "unknown", ()),
    ],
)
def test_how_a_spelling_is_taken(spelling: str, match: str, names: tuple[str, ...]) -> None:
    use = read_command(words(spelling, "1"), TABLE).uses[0]
    assert (use.match, use.names) == (match, names)
    assert (use.flag is None) == (match not in ("exact", "abbreviated"))


def test_what_is_known_only_at_run_time_is_left_out_of_the_prediction() -> None:
    text = 'sglang serve --model-path m --tp "$TP" --port=$PORT $EXTRA 8 "${MORE[@]}"\n'
    command = read_command(launches(text)[0].argv, TABLE)
    assert command.prediction_argv() == ("--model-path", "m")
    assert [use.written for use in command.unread] == ['--tp "$TP"', "--port=$PORT"]
    assert [word.source or word.text for word in command.open][:2] == ["$EXTRA", "8"]
    assert not command.stray


def test_the_text_that_a_finding_shows_of_a_use() -> None:
    use = subject('sglang serve --model-path m --tp "${TP}"\n').use_of("tp_size")
    assert use is not None
    assert use.written == '--tp "${TP}"'
    assert (use.span.column, use.span.end_column) == (29, 41)


VALUES = st.sampled_from(
    ["8", "-1", "x", "m", "--tp", "--pp-size", "--trust-remote-code", "--lora-paths", "--model=a"]
)


@given(st.lists(VALUES, max_size=8))
def test_what_argparse_accepts_is_read_as_it_does(argv: list[str]) -> None:
    """The same values for the same flags; no stray word where argparse refuses none."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("--tp", "--tp-size", dest="tp")
    parser.add_argument("--pp-size")
    parser.add_argument("--model")
    parser.add_argument("--trust-remote-code", action="store_true")
    parser.add_argument("--lora-paths", nargs="*")
    table = FlagTable.of("1", read_flags(parser))
    command = read_command(words(*argv), table)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            namespace, rest = parser.parse_known_args(argv)
    except (argparse.ArgumentError, SystemExit):
        assert any(len(u.values) < (u.flag.least if u.flag else 0) for u in command.uses)
        return
    assert [word.text for word in command.stray] == rest
    for dest in ("tp", "pp_size", "model", "lora_paths"):
        uses = command.of_dest(dest)
        wanted = getattr(namespace, dest)
        found = [value.text for value in uses[-1].values] if uses else None
        assert found == ([wanted] if isinstance(wanted, str) else wanted)
    assert bool(command.of_dest("trust_remote_code")) == namespace.trust_remote_code
