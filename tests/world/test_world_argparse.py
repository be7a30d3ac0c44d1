"""The tree's argparse: it refuses what argparse refuses, and depends on nobody's language."""

from __future__ import annotations

import argparse

import pytest

from sgcheck.world.stdlib.argparse_ import ArgumentParser, Given, Namespace


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    fresh = Given()
    monkeypatch.setattr(ArgumentParser, "given", fresh)
    return fresh


def test_an_option_needs_as_many_names_as_values() -> None:
    parser = ArgumentParser()
    parser.add_argument("--pair", nargs=2, metavar=("FIRST", "SECOND"))
    with pytest.raises(ValueError):
        parser.add_argument("--other", nargs=2, metavar=("FIRST",))
    assert "--pair FIRST SECOND" in parser.format_usage()


def test_a_parser_is_not_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    def translated(text: str) -> str:
        return text[::-1]

    monkeypatch.setattr(argparse, "_", translated)
    titles = [group.title for group in ArgumentParser()._action_groups]
    assert titles == ["positional arguments", "options"]
    assert vars(argparse)["_"] is translated


def test_defaults_come_from_no_name_and_what_is_copied_afterwards_does(given: Given) -> None:
    parser = ArgumentParser()
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--name")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("run").add_argument("--speed", default="fast")
    found = parser.parse_args(["--level", "2", "run"])
    assert type(found) is Namespace
    assert vars(found) == {"level": 2, "name": None, "command": "run", "speed": "fast"}
    assert given.passed == {"command": {"speed"}}
    assert [dest for dest, _ in given.words] == ["level", "command"]
