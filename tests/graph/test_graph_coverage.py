"""Every release's graph against a text search, and against a few recorded launches.

`graph_coverage.py` does the same with all launches, as a script.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from graph_coverage import missing_fired, missing_text, text_writes, written
from msgspec.structs import replace

from sgcheck.graph.build import build_graph
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.source import memory_tree, open_tree
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import target_from_case

SAMPLES = Path(__file__).parents[2] / "fixtures" / "oracle"
RELEASES = sorted(path.name.removesuffix(".json.gz") for path in SAMPLES.glob("*.json.gz"))
EVERY = 10
ALWAYS = ("0.5.6", "0.5.9", "0.5.12", "0.5.15", "0.5.20", "0.5.23")
"""Two of each style of resolution; the other releases are in the long tests."""


def cases(version: str) -> list[dict[str, Any]]:
    """Every tenth recorded launch of a release."""
    with gzip.open(SAMPLES / f"{version}.json.gz", "rt", encoding="utf-8") as file:
        found: list[dict[str, Any]] = json.load(file)["cases"]
    return found[::EVERY]


def launch_of(case: dict[str, Any]) -> Launch:
    folders = {path: replace(load_model(name), path=path) for path, name in case["models"].items()}
    model = folders.pop(case["model"])
    return Launch(tuple(case["argv"]), case["env"], target_from_case(case), model, folders)


@pytest.mark.release
@pytest.mark.oracle
@pytest.mark.parametrize(
    "version",
    [pytest.param(v, marks=[] if v in ALWAYS else pytest.mark.long) for v in RELEASES],
)
def test_the_graph_has_every_write(version: str) -> None:
    tree = open_tree(version)
    graph = build_graph(tree)
    seen, missing, _ = missing_text(graph, tree)
    assert missing == [] and seen > 50
    predictor, rules, fired = Predictor(tree), written(graph), 0
    for case in cases(version):
        count, gone = missing_fired(rules, predictor.check(launch_of(case), explore=False))
        fired += count
        assert gone == []
    assert fired > 10


def test_the_text_search_finds_what_it_should() -> None:
    source = b"""\
class ServerArgs:
    def f(self, server_args):
        self.tp_size = 1
        server_args.page: int = 2
        self.pages += 1
        if self.tp_size == 2: pass
        overrides["page"] = 3
        object.__setattr__(self, "pages", 4)
        other.page = 5
"""
    tree = memory_tree({"sglang/srt/server_args.py": source, "sglang/srt/x.py": source})
    found = [(line, name) for _, line, name in text_writes(tree, {"tp_size", "page", "pages"})]
    assert found == [(3, "tp_size"), (4, "page"), (5, "pages"), (7, "page"), (8, "pages")]
