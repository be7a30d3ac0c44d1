"""The graph of real releases: against their text, against predictions, and a known trap."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

import pytest
from graph_coverage import dead_but_fired

from sgcheck.graph.build import build_graph, rules_of_graph
from sgcheck.graph.colour import colour
from sgcheck.graph.data import RuleGraph
from sgcheck.graph.never import never_matters
from sgcheck.graph.on_target import dead_on
from sgcheck.graph.queries import (
    architecture,
    cycles,
    influence,
    order_traps,
    overwritten_flags,
    what_sets,
)
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import Resolution
from sgcheck.source import Tree, open_tree
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import resolve_target

pytestmark = pytest.mark.release

RELEASES = ["0.5.9", "0.5.23"]
LAUNCHES = [
    ("sm120", ["--moe-runner-backend", "flashinfer_cutlass", "--speculative-algorithm", "NEXTN"]),
    ("sm100", ["--tp-size", "8", "--attention-backend", "fa3"]),
    ("sm90", ["--tp-size", "2", "--enable-dp-attention", "--dp-size", "2", "--page-size", "16"]),
    ("sm120", ["--kv-cache-dtype", "fp8_e4m3", "--disable-radix-cache"]),
]


@cache
def tree(version: str) -> Tree:
    return open_tree(version)


@cache
def graph(version: str) -> RuleGraph:
    return build_graph(tree(version))


@cache
def written(version: str) -> dict[tuple[str, int], set[str]]:
    """(file, line) -> the fields that rules of the graph write there."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for _, data in rules_of_graph(graph(version)):
        if data["field"] is not None:
            for line in range(data["statement_line"], data["end_line"] + 1):
                found[data["file"], line].add(data["field"])
    return found


def fields(version: str) -> set[str]:
    nodes = graph(version).nodes(data=True)
    return {data["label"] for _, data in nodes if data["kind"] == "field"}


def texts_of_record_functions(version: str) -> list[tuple[str, int, str]]:
    """(file, line, text) of every line of a function that knows the record."""
    found = []
    for _, data in graph(version).nodes(data=True):
        if data["kind"] == "function" and data["record_names"]:
            lines = tree(version).read(data["file"]).decode().splitlines()
            for number in range(data["line"], data["end_line"] + 1):
                found.append((data["file"], number, lines[number - 1]))
    return sorted(set(found))


@pytest.mark.parametrize("version", RELEASES)
def test_what_a_text_search_finds_is_in_the_graph(version: str) -> None:
    """Assignments to attributes of the record and keys of declared tables, by their text only."""
    assignment = re.compile(
        r"^\s*(?:self|server_args)\.(\w+)(?:: [^=]+)? [-+*/|]?=(?!=)"
        r"|^\s*(?:overrides|declared)\[\"(\w+)\"\] ="
        r"|^\s*(?:return )?\{\"(\w+)\": "
    )
    known, seen, missing = fields(version), 0, []
    for file, number, text in texts_of_record_functions(version):
        found = assignment.search(text)
        name = next((group for group in found.groups() if group), None) if found else None
        if name in known and name is not None:
            seen += 1
            if name not in written(version)[file, number]:
                missing.append(f"{file}:{number}: {text.strip()}")
    assert missing == []
    assert seen > 150


def words_of_declaring_calls(text: str) -> list[tuple[int, str]]:
    """(line, name) of the keywords of calls of `declare_resolution`, by counting brackets."""
    found = []
    for call in re.finditer(r"\bdeclare_resolution\(", text):
        depth, at = 1, call.end()
        while depth and at < len(text):
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
            word = re.compile(r"(?<=[\s,(])(\w+)=(?!=)").match(text, at) if depth == 1 else None
            if word:
                found.append((text.count("\n", 0, at) + 1, word[1]))
            at += 1
    return found


def test_what_a_text_search_finds_in_declaring_calls() -> None:
    known, missing, seen = fields("0.5.23"), [], 0
    for file in sorted({file for file, _, _ in texts_of_record_functions("0.5.23")}):
        for line, name in words_of_declaring_calls(tree("0.5.23").read(file).decode()):
            if name in known:
                seen += 1
                if name not in written("0.5.23")[file, line]:
                    missing.append(f"{file}:{line}: {name}")
    assert missing == []
    assert seen > 250


@cache
def predictions(version: str) -> tuple[Resolution, ...]:
    predictor = Predictor(tree(version))
    model = load_model("deepseek-v3")
    return tuple(
        predictor.check(Launch(tuple(argv), {}, resolve_target(arch, None), model))
        for arch, argv in LAUNCHES
    )


@pytest.mark.parametrize("version", RELEASES)
def test_every_write_that_fired_is_a_rule_at_its_line(version: str) -> None:
    missing, seen = [], 0
    for resolution in predictions(version):
        for name, answer in resolution.fields.items():
            for step in answer.because:
                if step.kind in ("write", "declared", "env") and step.file and step.line:
                    seen += 1
                    if name not in written(version)[step.file, step.line]:
                        missing.append(f"{step.file}:{step.line}: {name}")
    assert missing == []
    assert seen > 20


@pytest.mark.parametrize("version", RELEASES)
def test_a_launch_colours_what_fired(version: str) -> None:
    resolution = predictions(version)[1]
    found = colour(graph(version), resolution)
    fired = [
        node for node, c in found.items() if c.name in ("decided", "fired") and "rule:" in node
    ]
    assert len(fired) > 20


def test_the_trap_of_nextn_in_0_5_9() -> None:
    """The DeepSeek branch asks for EAGLE before NEXTN has become EAGLE."""
    traps = order_traps(graph("0.5.9"), ["speculative_algorithm"])
    found = {(t.value, t.missed, t.early.field, t.line, t.late.line) for t in traps}
    assert ('"EAGLE"', ('"NEXTN"',), "speculative_moe_runner_backend", 1313, 2353) in found


@pytest.mark.parametrize("version", RELEASES)
def test_nothing_that_fired_is_dead_on_its_machine(version: str) -> None:
    predictor, model = Predictor(tree(version)), load_model("deepseek-v3")
    for (arch, argv), resolution in zip(LAUNCHES, predictions(version), strict=True):
        launch = Launch(tuple(argv), {}, resolve_target(arch, None), model)
        assert dead_but_fired(graph(version), predictor, launch, resolution) == []


def test_what_never_matters_in_0_5_9_on_sm120() -> None:
    """The draft's all-to-all backend is only chosen where the SM100 branch runs."""
    source = tree("0.5.9")
    machine = Launch((), {}, resolve_target("sm120", None), load_model(None))
    dead = dead_on(graph("0.5.9"), Predictor(source), machine)
    found = {each.name: each for each in never_matters(graph("0.5.9"), source, dead)}
    assert "speculative_moe_a2a_backend" in found
    assert {r.because for r in found["speculative_moe_a2a_backend"].readers} == {
        "is_sm100_supported()"
    }
    assert "moe_runner_backend" not in found and "tp_size" not in found


class TestQuestionsTo059:
    """Each question, against what reading the release by hand gives."""

    def test_what_sets_the_drafts_moe_runner(self) -> None:
        lines = {s.step.line for s in what_sets(graph("0.5.9"), "speculative_moe_runner_backend")}
        assert {1327, 2342} <= lines

    def test_what_the_moe_runner_flag_influences(self) -> None:
        found = influence(graph("0.5.9"), "flag:--moe-runner-backend")
        distance = {each.field: each.distance for each in found}
        assert distance["moe_runner_backend"] == 0
        assert distance["speculative_moe_runner_backend"] == 1

    def test_what_depends_on_sm100(self) -> None:
        uses = architecture(graph("0.5.9"), "is_sm100_supported")
        found = {(use.step.field, use.step.line) for use in uses}
        assert ("speculative_moe_runner_backend", 1327) in found
        assert ("attention_backend", 1711) in found
        assert all("is_sm100_supported" in use.probes for use in uses)

    def test_which_flags_are_overwritten(self) -> None:
        found = overwritten_flags(graph("0.5.9"), ["speculative_algorithm"])
        forced = {(each.flags, each.step.value, each.step.line) for each in found}
        assert (("--speculative-algorithm",), '"EAGLE"', 2353) in forced

    def test_which_fields_decide_each_other(self) -> None:
        for cycle in cycles(graph("0.5.9")):
            for step, field in zip(cycle.steps, (*cycle.fields[1:], cycle.fields[0]), strict=True):
                assert step.field == field
        assert len(cycles(graph("0.5.9"))) > 5
