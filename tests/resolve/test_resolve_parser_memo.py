"""The parser is built once for many launches: no answer may differ from that of a fresh start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.parser_memo import can_copy, copy_parser
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import Resolution
from sgcheck.source import Tree, memory_tree
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.stdlib.argparse_ import ArgumentParser
from sgcheck.world.target import target_from_case

METADATA = """\
Metadata-Version: 2.1
Name: sglang
Version: 0.0.0
Requires-Dist: torch==2.9.1
Requires-Dist: transformers==4.57.1
"""
CASE = {
    "arch": "sm120",
    "gpu": {"name": "NVIDIA RTX PRO 6000", "memory_mib": 97887, "count": 8},
    "cuda": "13.0",
}
ENTRY = """\
import argparse
import dataclasses
import functools
import os
import sys

CALLS = []
NAMES = ["a", "b"]
{head}


@functools.cache
def names():
    return tuple(NAMES)


@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    backend: str = "a"
    level: int = 0
    calls: int = 0
    extra: object = None

    @staticmethod
    def add_cli_args(parser):
        CALLS.append(1)
        parser.add_argument("--model-path")
        parser.add_argument("--backend", choices=names(), default=ServerArgs.backend)
        group = parser.add_argument_group("more")
        group.add_argument("--level", type=int, default=0)
{adding}

    def resolve_once(self):
        self.calls = len(CALLS)
{resolving}


def prepare_server_args(argv):
{before}
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
{after}
    return ServerArgs(**vars(parser.parse_args(argv)))
"""


def tree_of(
    *, adding: str = "", resolving: str = "", before: str = "", after: str = "", head: str = ""
) -> Tree:
    entry = ENTRY.format(
        head=dedent(head),
        adding=indent(dedent(adding), " " * 8),
        resolving=indent(dedent(resolving), " " * 8),
        before=indent(dedent(before), " " * 4),
        after=indent(dedent(after), " " * 4),
    )
    files = {
        "sglang/__init__.py": "",
        "sglang/srt/__init__.py": "",
        "sglang/srt/server_args.py": entry,
    }
    return memory_tree({p: t.encode() for p, t in files.items()}, metadata=METADATA)


def check(predictor: Predictor, *argv: str, env: Mapping[str, str] | None = None) -> Resolution:
    launch = Launch(argv, env or {}, target_from_case(CASE), UNKNOWN_MODEL, {})
    return predictor.check(launch, explore=False)


LAUNCHES: tuple[tuple[tuple[str, ...], dict[str, str]], ...] = (
    ((), {}),
    (("--backend", "b"), {}),
    (("--level", "3"), {"LEVEL": "7"}),
    (("--backend", "c"), {}),
    (("--lev", "4", "--backend=b"), {}),
    (("--level", "x"), {"LEVEL": "7"}),
    ((), {"LEVEL": "9"}),
    (("--model-path", "/m"), {}),
)


LOOKS_AT_ARGUMENTS = {
    "attribute": "len(sys.argv)",
    "getattr": "len(getattr(sys, 'ar' + 'gv'))",
    "dictionary": "len(vars(sys)['argv'])",
    "listing": "len({**sys.__dict__}['argv'])",
    "import": "len(__import__('sys').argv)",
    "raw": "len(object.__getattribute__(sys, 'argv'))",
}
"""Values that depend on the command line, each in a way of its own."""


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"after": "parser.set_defaults(level=5, extra=len(argv))"},
        {"after": "parser.add_argument('--extra', default=len(parser._actions))"},
        {"after": "for action in parser._actions:\n    action.required = False\n    action.seen = 1"},
        {"adding": "parser.add_argument('--extra', default=os.environ.get('LEVEL'))"},
        *(
            {"adding": f"parser.add_argument('--extra', default={value})"}
            for value in LOOKS_AT_ARGUMENTS.values()
        ),
        {"adding": "parser.add_argument('--extra', default=os.path.exists('/models/model'))"},
        {"adding": "os.environ['LEVEL'] = '1'", "resolving": "self.extra = os.environ['LEVEL']"},
        {"before": "NAMES.append(argv[-1])"},
        {"resolving": "NAMES.append('c')"},
        {"adding": "parser.add_mutually_exclusive_group().add_argument('--extra')"},
        {"adding": "parser.add_subparsers()"},
        {"adding": "parser.add_argument('--extra', nargs='*', default=[])",
         "resolving": "self.extra.append(self.level)"},
    ],
)  # fmt: skip
def test_many_launches_are_answered_like_single_ones(parts: dict[str, str]) -> None:
    tree = tree_of(**parts)
    together = Predictor(tree)
    outcomes = set()
    for argv, env in LAUNCHES:
        alone = check(Predictor(tree), *argv, env=env)
        result = check(together, *argv, env=env)
        assert result == alone, (argv, env)
        outcomes.add(result.outcome.status)
    assert "ok" in outcomes or "add_subparsers" in parts.get("adding", "")


def _runs_of_the_method(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> int:
    added: list[Any] = []
    original = ArgumentParser.add_argument

    def counting(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and args[0] == "--model-path":
            added.append(args)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(ArgumentParser, "add_argument", counting)
    predictor = Predictor(tree)
    for _ in range(5):
        check(predictor)
    return len(added)


def test_the_third_launch_builds_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _runs_of_the_method(tree_of(), monkeypatch) == 2


@pytest.mark.parametrize("value", LOOKS_AT_ARGUMENTS.values(), ids=LOOKS_AT_ARGUMENTS)
def test_a_parser_that_depends_on_the_launch_is_built_each_time(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tree_of(adding=f"parser.add_argument('--extra', default={value})")
    assert _runs_of_the_method(tree, monkeypatch) == 5


def test_a_module_that_kept_the_arguments_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tree_of(
        adding="parser.add_argument('--extra', default=len(KEPT))", head="KEPT = sys.argv"
    )
    assert _runs_of_the_method(tree, monkeypatch) == 5


def test_a_copy_shares_no_part_that_parsing_changes() -> None:
    source, target = ArgumentParser(), ArgumentParser()
    group = source.add_argument_group("g")
    group.add_argument("--x", type=int, default=1)
    either = source.add_mutually_exclusive_group()
    either.add_argument("--y", action="append")
    assert can_copy(source)
    copy_parser(source, target)
    target.set_defaults(x=2)
    target.add_argument("--z")
    assert vars(source.parse_args([])) == {"x": 1, "y": None}
    assert vars(target.parse_args(["--y", "1"])) == {"x": 2, "y": ["1"], "z": None}
    assert {id(a) for a in source._actions}.isdisjoint(id(a) for a in target._actions)
    assert all(a.container is not source for a in target._actions)  # type: ignore[attr-defined]


def test_a_parser_with_parsers_inside_is_not_copied() -> None:
    # The tree's parsers are made of a copy of the module that is nobody else's.
    parser = ArgumentParser()
    assert can_copy(parser)
    parser.add_subparsers()
    assert not can_copy(parser)


@pytest.mark.parametrize("names", ["vars(sys)", "sys.__dict__", "{**vars(sys)}"])
def test_watching_the_arguments_shows_no_name_of_its_own(names: str) -> None:
    tree = tree_of(
        resolving=f"self.extra = sorted(n for n in {names} if not n.isascii() or n[0] == '_')"
    )
    assert check(Predictor(tree)).fields["extra"].value == []


def test_a_predictor_of_single_launches_starts_each_anew(tmp_path: Path) -> None:
    tree = tree_of(head="import os", resolving="os.environ['LEVEL'] = str(len(CALLS))")
    usual = Predictor(tree, cache=tmp_path)
    single = Predictor(tree, cache=tmp_path, once=True)
    for argv, env in LAUNCHES:
        expected, found = (check(each, *argv, env=env) for each in (usual, single))
        assert found == expected
        if found.outcome.status == "ok":
            assert found.fields["calls"].value == 1
            assert found.env_after["LEVEL"] == "1"
