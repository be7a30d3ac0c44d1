"""What is dead on a machine, and which settings can never matter there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgcheck.cli import run
from sgcheck.graph.build import build_graph
from sgcheck.graph.colour import colour, mark_dead
from sgcheck.graph.data import RuleGraph
from sgcheck.graph.never import Never, never_matters
from sgcheck.graph.on_target import dead_on
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.source import Tree, memory_tree
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import resolve_target

ENTRY = "sglang/srt/server_args.py"
SOURCE = """\
import argparse
import dataclasses
import os

from sglang.srt.probes import has_fast_path, is_asked_for, is_new, is_old

_is_old = is_old()
_is_wished = os.environ.get("WISHED") == "1"


@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    only_new: str = None
    only_old: str = None
    both: str = None
    by_env: str = None
    by_local: str = None
    by_wish: str = None
    far: str = None
    runtime_only: int = 0

    def __post_init__(self):
        if is_new():
            if self.only_new == "x":
                self.both = "new"
            self.handle_new()
        elif _is_old and self.only_old == "y":
            self.both = "old"
        if self.both is None:
            self.both = "none"
        if is_asked_for() and self.by_env:
            self.both = "asked"
        is_new_one = self.by_local == "z"
        if is_new_one:
            self.both = "local"
        if _is_wished and self.by_wish:
            self.both = "wished"

    def handle_new(self):
        if self.far:
            self.both = "far"


def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--model-path", default="")
    parser.add_argument("--only-new")
    parser.add_argument("--only-old")
    return ServerArgs(**vars(parser.parse_args(argv)))
"""
PROBES = """\
import os

import torch


def is_new():
    return torch.cuda.get_device_capability()[0] >= 10


def is_old():
    return not is_new()


def is_asked_for():
    return os.environ.get("ASKED", "0") == "1"


def has_fast_path():
    return True
"""
RUNTIME = "def serve(args):\n    return args.only_old\n"


def tree() -> Tree:
    metadata = "Metadata-Version: 2.1\nName: sglang\nVersion: 1.0.0\n"
    metadata += "Requires-Dist: torch==2.9.1\nRequires-Dist: transformers==4.57.1\n"
    files = {ENTRY: SOURCE, "sglang/srt/probes.py": PROBES, "sglang/srt/runtime.py": RUNTIME}
    empty = {"sglang/__init__.py": b"", "sglang/srt/__init__.py": b""}
    return memory_tree({k: v.encode() for k, v in files.items()} | empty, metadata=metadata)


def launch(arch: str) -> Launch:
    return Launch((), {}, resolve_target(arch, None), UNKNOWN_MODEL)


def answers(arch: str) -> tuple[RuleGraph, dict[str, str], dict[str, Never]]:
    source = tree()
    graph = build_graph(source, cache=False)
    dead = dict(dead_on(graph, Predictor(source), launch(arch)))
    return graph, dead, {n.name: n for n in never_matters(graph, source, dead)}


def line(text: str) -> int:
    return SOURCE[: SOURCE.index(text)].count("\n") + 1


def dead_lines(graph: RuleGraph, dead: dict[str, str]) -> set[int]:
    return {graph.nodes[node]["line"] for node in dead if node.startswith("rule:")}


def test_rules_behind_a_false_question_are_dead() -> None:
    graph, dead, _ = answers("sm90")
    assert dead_lines(graph, dead) == {line('self.both = "new"'), line('self.both = "far"')}
    graph, dead, _ = answers("sm120")
    assert dead_lines(graph, dead) == {line('self.both = "old"')}


def test_a_function_that_only_dead_calls_reach_is_dead() -> None:
    _, dead, _ = answers("sm90")
    assert dead[f"function:{ENTRY}:ServerArgs.handle_new"] == "is_new()"
    _, dead, _ = answers("sm120")
    assert f"function:{ENTRY}:ServerArgs.handle_new" not in dead


def test_settings_that_only_dead_rules_read() -> None:
    _, _, old = answers("sm90")
    assert set(old) == {"only_new", "far"}
    assert old["only_new"].scope == "all" and old["only_new"].flags == ("--only-new",)
    assert old["far"].readers[0].because == "is_new()"


def test_what_other_code_names_is_said() -> None:
    _, _, new = answers("sm120")
    assert set(new) == {"only_old"}
    assert new["only_old"].scope == "resolution"
    assert new["only_old"].elsewhere == ("sglang/srt/runtime.py:2",)


def test_what_the_environment_or_a_local_decides_kills_nothing() -> None:
    for arch in ("sm90", "sm120"):
        _, dead, never = answers(arch)
        assert not {"by_env", "by_local", "by_wish", "runtime_only"} & set(never)
        assert not any("asked" in text or "wished" in text for text in dead.values())


def test_a_launch_is_coloured_with_what_is_dead() -> None:
    source = tree()
    graph = build_graph(source, cache=False)
    predictor = Predictor(source)
    found = predictor.check(launch("sm90"))
    colours = mark_dead(colour(graph, found), dead_on(graph, predictor, launch("sm90")))
    names = {graph.nodes[n]["line"]: c.name for n, c in colours.items() if n.startswith("rule:")}
    assert names[line('self.both = "new"')] == "dead"
    assert names[line('self.both = "none"')] == "decided"
    assert names[line('self.both = "local"')] == "not-fired"


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (
        (ENTRY, SOURCE),
        ("sglang/srt/probes.py", PROBES),
        ("sglang/__init__.py", ""),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "cache"))
    words = ["graph", "--isolated", "--sglang", str(tmp_path), "--query", "never"]
    assert run([*words, "--arch", "sm90", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["query"] == "never"
    assert {n["name"] for n in found["answers"][0]["found"]} == {"only_new", "far"}
    assert run([*words, "--arch", "sm90", "far"]) == 0
    text = capsys.readouterr().out
    assert "far" in text and "only_new" not in text
    assert run(words) == 2
    assert "--gpu NAME" in capsys.readouterr().err
    assert run([*words, "--arch", "sm90", "only_newer"]) == 2
    assert "did you mean only_new" in capsys.readouterr().err
