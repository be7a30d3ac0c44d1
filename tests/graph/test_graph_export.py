"""Exports: what they hold, and that nothing in a tree can break out of them."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest
from graph_trees import ENTRY, IN_PLACE_FILES, graph_of, in_place
from hypothesis import given, settings
from hypothesis import strategies as st

from sgcheck.graph.colour import Colour
from sgcheck.graph.data import RuleGraph
from sgcheck.graph.export import to_dot, to_graphml, to_json, to_mermaid
from sgcheck.graph.select import around, stages

HOSTILE = '"]; <script>alert(1)</script> \\" --> \n end'


def hostile() -> RuleGraph:
    text = IN_PLACE_FILES[ENTRY].replace('"deep_gemm"', repr(HOSTILE))
    return around(graph_of(IN_PLACE_FILES | {ENTRY: text}), ["draft_backend"])


def test_json_holds_nodes_edges_and_their_schema() -> None:
    document = json.loads(to_json(in_place(), {"field:chunk": Colour("decided", value=1)}))
    assert document["schema"] == "sgcheck.graph/1"
    assert document["sglang"]["version"] == "9.9.9"
    nodes = {node["id"]: node for node in document["nodes"]}
    assert len(nodes) == in_place().number_of_nodes()
    assert nodes["field:chunk"]["colour"]["value"] == 1
    assert nodes["field:chunk"]["default"] == "8"
    kinds = {edge["kind"] for edge in document["edges"]}
    assert kinds == {"reads", "guards", "writes", "sets", "overwrites", "calls", "holds"}
    assert all(edge["source"] in nodes and edge["target"] in nodes for edge in document["edges"])


def test_graphml_can_be_read_back() -> None:
    back = nx.read_graphml(io.BytesIO(to_graphml(in_place()).encode()), force_multigraph=True)
    assert set(back.nodes) == set(in_place().nodes)
    assert back.number_of_edges() == in_place().number_of_edges()
    assert back.nodes["field:chunk"]["default"] == "8"


def test_graphml_of_hostile_text() -> None:
    back = nx.read_graphml(io.BytesIO(to_graphml(hostile()).encode()), force_multigraph=True)
    assert repr(HOSTILE) in {data.get("value") for _, data in back.nodes(data=True)}


def test_dot_quotes_everything() -> None:
    quoted = re.compile(r'"(?:[^"\\]|\\.)*"')
    for line in to_dot(hostile()).splitlines()[3:-1]:
        rest = quoted.sub("Q", line)
        assert re.fullmatch(
            r"  Q (\[label=Q, shape=\w+, tooltip=Q(, URL=Q)?(, style=filled, fillcolor=Q)?\]"
            r"|-> Q \[label=\w+, style=\w+\]);",
            rest,
        ), line


def test_mermaid_writes_no_character_that_it_would_read() -> None:
    lines = to_mermaid(hostile()).splitlines()
    assert lines[0] == "flowchart LR"
    for line in lines[1:]:
        assert re.fullmatch(
            r"  n\d+ (-->|-\.->)\|\w+\| n\d+|  n\d+[\[({/\\]+\"[\w .:/=,#;-]*\"[\])}/\\]+", line
        ), line


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=40))
def test_any_text_stays_inside(text: str) -> None:
    graph: RuleGraph = nx.MultiDiGraph(
        schema="s", version=text, origin="memory", tree="t", ref=None, problems=[text], dynamic=[]
    )
    graph.add_node(
        f"rule:{text}", kind="rule", rule="write", label=text, field=text, value=text, guards=[],
        file=text, line=1, url=None,
    )  # fmt: skip
    graph.add_edge(f"rule:{text}", f"rule:{text}", key="overwrites", kind="overwrites")
    assert json.loads(to_json(graph))["nodes"][0]["label"] == text
    back = nx.read_graphml(io.BytesIO(to_graphml(graph).encode()), force_multigraph=True)
    assert back.number_of_nodes() == 1
    assert to_dot(graph).count("\n") == 6
    assert to_mermaid(graph).count("\n") == 3


def test_around_a_field_holds_its_rules_and_what_they_read() -> None:
    part = around(in_place(), ["chunk"])
    kinds = {data["kind"] for _, data in part.nodes(data=True)}
    assert kinds == {"field", "flag", "rule"}
    fields = {data["label"] for _, data in part.nodes(data=True) if data["kind"] == "field"}
    assert fields == {"chunk", "backend", "page_size"}
    assert not any(target == "field:backend" for _, target in part.edges())


def test_stages_are_joined_through_functions_without_rules() -> None:
    part = stages(in_place())
    names = {data["function"] for _, data in part.nodes(data=True)}
    assert "ServerArgs.__post_init__" not in names and "ServerArgs._handle_page" in names
    assert part.has_edge(
        f"function:{ENTRY}:ServerArgs._handle_early",
        "function:sglang/srt/model.py:ModelConfig.__init__",
    )


@pytest.mark.parametrize("seed", ["1", "77"])
def test_the_bytes_do_not_depend_on_the_hash_seed(seed: str) -> None:
    code = (
        "import graph_trees, hashlib\n"
        "from sgcheck.graph.export import *\n"
        "from sgcheck.report.html.graph import render_graph_html as html\n"
        "g = graph_trees.in_place()\n"
        "print([hashlib.sha256(f(g).encode()).hexdigest()"
        " for f in (to_json, to_graphml, to_dot, to_mermaid, html)])\n"
    )
    folders = [str(Path(__file__).parent), *sys.path]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**env, "PYTHONHASHSEED": value},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for value in ("0", seed)
    ]
    assert runs[0] == runs[1] and runs[0].count("'") == 10
