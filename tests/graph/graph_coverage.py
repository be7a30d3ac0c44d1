"""How much of what a release writes is in its graph: by a plain search of the text, and by launches.

    python tests/graph/graph_coverage.py [RELEASE or SPEC…]
        [--cases FOLDER]  recorded launches, `public-RELEASE.jsonl.gz`, beside `models/`
        [--every N]       every Nth of them (default 1)

prints, per release, how many writes a text search and launches find, and those that the graph lacks.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sgcheck.graph.build import build_graph, rules_of_graph
from sgcheck.graph.data import RuleGraph
from sgcheck.graph.on_target import dead_on
from sgcheck.resolve.launch import Launch, named_folders
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import Resolution
from sgcheck.source import Tree, open_tree
from sgcheck.world.model_facts import UNKNOWN_MODEL, load_model
from sgcheck.world.target import target_from_case

ASSIGNMENT = re.compile(
    r"^\s*(?:self|server_args)\.(\w+)(?:: [^=]+)? [-+*/|]?=(?!=)"
    r"|^\s*(?:overrides|declared)\[\"(\w+)\"\] ="
)
SETATTR = re.compile(r"\b(?:object\.__)?setattr(?:__)?\((?:self|server_args), \"(\w+)\",")
HOME = ("sglang/srt/server_args.py", "sglang/srt/arg_groups/")


def written(graph: RuleGraph) -> dict[tuple[str, int], set[str]]:
    """(file, line) -> the fields that rules of the graph write there."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for _, data in rules_of_graph(graph):
        if data["field"] is not None:
            for line in range(data["statement_line"], data["end_line"] + 1):
                found[data["file"], line].add(data["field"])
    return found


def fields_of(graph: RuleGraph) -> set[str]:
    """The fields of the record."""
    return {data["label"] for _, data in graph.nodes(data=True) if data["kind"] == "field"}


def text_writes(tree: Tree, fields: set[str]) -> Iterator[tuple[str, int, str]]:
    """(file, line, field) of every assignment to the record that the home files spell out."""
    for path in python_files(tree):
        if not path.startswith(HOME):
            continue
        for number, text in enumerate(tree.read(path).decode().splitlines(), 1):
            found = ASSIGNMENT.search(text) or SETATTR.search(text)
            name = next((group for group in found.groups() if group), None) if found else None
            if name in fields and name is not None:
                yield path, number, name


def python_files(tree: Tree, folder: str = "sglang/srt") -> Iterator[str]:
    """Every Python file below a folder."""
    try:
        entries = sorted(tree.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if entry.endswith(".py"):
            yield f"{folder}/{entry}"
        elif "." not in entry:
            yield from python_files(tree, f"{folder}/{entry}")


def covered_functions(graph: RuleGraph) -> dict[str, list[range]]:
    """File -> the lines of the functions of the graph."""
    found: dict[str, list[range]] = defaultdict(list)
    for _, data in graph.nodes(data=True):
        if data["kind"] == "function":
            found[data["file"]].append(range(data["line"], data["end_line"] + 1))
    return found


def missing_text(graph: RuleGraph, tree: Tree) -> tuple[int, list[str], list[str]]:
    """Text writes: how many, those that no rule has, and those in functions outside the graph."""
    rules, functions = written(graph), covered_functions(graph)
    seen = 0
    missing: list[str] = []
    outside: list[str] = []
    for file, line, field in text_writes(tree, fields_of(graph)):
        seen += 1
        if field in rules[file, line]:
            continue
        inside = any(line in span for span in functions.get(file, ()))
        (missing if inside else outside).append(f"{file}:{line}: {field}")
    return seen, missing, outside


def missing_fired(
    rules: dict[tuple[str, int], set[str]], resolution: Resolution
) -> tuple[int, list[str]]:
    """Writes that fired: how many, and those that are no rule of the graph at their line."""
    seen, missing = 0, []
    for name, answer in resolution.fields.items():
        for step in answer.because:
            if step.kind in ("write", "declared", "env") and step.file and step.line:
                seen += 1
                if name not in rules[step.file, step.line]:
                    missing.append(f"{step.file}:{step.line}: {name}")
    return seen, missing


def dead_but_fired(
    graph: RuleGraph, predictor: Predictor, launch: Launch, resolution: Resolution
) -> list[str]:
    """Rules that wrote although they are called dead on the launch's machine: there must be none."""
    dead = dead_on(graph, predictor, launch)
    fired = {
        (step.file, step.line, name)
        for name, answer in resolution.fields.items()
        for step in answer.because
        if step.kind in ("write", "declared") and step.file
    }
    alive = {
        (data["file"], line, data["field"])
        for node, data in rules_of_graph(graph)
        if node not in dead and data["field"]
        for line in range(data["statement_line"], data["end_line"] + 1)
    }
    killed = {
        (data["file"], line, data["field"])
        for node, data in rules_of_graph(graph)
        if node in dead and data["field"]
        for line in range(data["statement_line"], data["end_line"] + 1)
    }
    return [f"{f}:{n}: {name}" for f, n, name in sorted((fired & killed) - alive, key=str)]


def recorded(folder: Path, version: str) -> Iterator[dict[str, Any]]:
    """The recorded launches of a release."""
    with gzip.open(folder / "cases" / f"public-{version}.jsonl.gz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def launch_of(case: dict[str, Any], root: Path) -> Launch:
    """A recorded launch."""
    model = load_model(case["model_dir"], root=root) if case.get("model_dir") else UNKNOWN_MODEL
    folders = named_folders(case["argv"], root)
    return Launch(
        tuple(case["argv"]), case.get("env") or {}, target_from_case(case), model, folders
    )


def main() -> int:
    """The command line; 1 if the graph of any release lacks something."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("releases", nargs="*", default=["0.5.9", "0.5.23"])
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    lacking = 0
    for spec in options.releases:
        tree = open_tree(spec)
        graph = build_graph(tree)
        seen, missing, outside = missing_text(graph, tree)
        print(f"{tree.version}: text search {seen} writes, {len(missing)} missing", flush=True)
        for text in missing:
            print(f"    {text}")
        print(f"  in functions that the resolution does not run: {outside or 'none'}")
        lacking += len(missing)
        if options.cases is not None:
            predictor, rules = Predictor(tree), written(graph)
            cases = fired = 0
            absent: dict[str, int] = defaultdict(int)
            wrong: dict[str, int] = defaultdict(int)
            for number, case in enumerate(recorded(options.cases, tree.version)):
                if number % options.every or not case.get("model_dir"):
                    continue
                launch = launch_of(case, options.cases)
                resolution = predictor.check(launch, explore=False)
                count, gone = missing_fired(rules, resolution)
                cases, fired = cases + 1, fired + count
                for text in gone:
                    absent[text] += 1
                if cases % 10 == 1:
                    for text in dead_but_fired(graph, predictor, launch, resolution):
                        wrong[text] += 1
            print(f"  {cases} launches, {fired} writes fired, no rule for {dict(absent) or 'none'}")
            print(f"  fired although dead: {dict(wrong) or 'none'}", flush=True)
            lacking += len(absent) + len(wrong)
    return min(lacking, 1)


if __name__ == "__main__":
    raise SystemExit(main())
