"""`sgcheck diff --rules A B`: the rules themselves, without launches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sgcheck.commands import options
from sgcheck.commands.levels import EXIT_OK
from sgcheck.commands.output import note, stdout_terminal, write, write_json
from sgcheck.errors import UsageError

if TYPE_CHECKING:
    from sgcheck.source import Tree


def diff_rules(old: str, new: str, params: Mapping[str, Any]) -> int:
    """Compare and write. Rules alone break nothing: the exit code is 0."""
    from sgcheck.graph.build import build_graph
    from sgcheck.report.document import dump_pretty
    from sgcheck.review.rules_diff import rows, rules_diff, rules_document
    from sgcheck.review.rules_text import render
    from sgcheck.source import StderrProgress, open_tree

    if params["output_format"] not in ("text", "json"):
        raise UsageError("--rules answers in text or json: leave --format out")
    names = options.split_names(params["fields"])
    progress = StderrProgress()
    graphs = []
    trees: list[Tree] = []
    try:
        for spec in (old, new):
            trees.append(open_tree(spec, offline=params["offline"], progress=progress))
        for spec, tree in zip((old, new), trees, strict=True):
            progress(f"reading the rules of {spec}", transient=True)
            graphs.append(build_graph(tree))
    finally:
        progress.clear()
        for tree in trees:
            tree.close()
    for graph in graphs:
        for problem in graph.graph["problems"]:
            note(f"not read: {problem}")
    known = {
        data["label"] for g in graphs for _, data in g.nodes(data=True) if data["kind"] == "field"
    }
    for name in names:
        if name not in known:
            raise UsageError(f"neither {old} nor {new} has a field {name}")
    wanted = frozenset(names) if names else None
    found = rules_diff(rows(graphs[0], wanted), rows(graphs[1], wanted))
    if params["output_format"] == "json":
        write_json(dump_pretty(rules_document(found)))
    else:
        write(render(found, stdout_terminal(params["color"]), (old, new), params["verbose"]))
    return EXIT_OK
