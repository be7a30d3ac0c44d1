"""Parts of the graph that can be drawn: the neighbourhood of fields, and the stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sgcheck.graph.colour import Colour
from sgcheck.graph.data import RuleGraph


def around(
    graph: RuleGraph, fields: Iterable[str], colours: Mapping[str, Colour] | None = None
) -> RuleGraph:
    """What gives the fields their values: flags, rules, and what those read.

    With `colours`, the rules that stopped the start are added.
    """
    rules = {
        source
        for field in fields
        for source, _, kind in graph.in_edges(f"field:{field}", keys=True)
        if kind in ("writes", "sets")
    }
    rules |= {node for node, found in (colours or {}).items() if found.name == "failed"}
    nodes = {f"field:{field}" for field in fields} | rules
    for rule in rules:
        nodes |= {
            source
            for source, _, kind in graph.in_edges(rule, keys=True)
            if kind in ("reads", "guards")
        }
    part: RuleGraph = graph.subgraph(nodes).copy()
    # A source that is a field of its own keeps its place; what sets it is another picture.
    shown = {f"field:{field}" for field in fields}
    for source, target, kind in list(part.edges(keys=True)):
        if kind in ("writes", "sets") and target.startswith("field:") and target not in shown:
            part.remove_edge(source, target, key=kind)
    return part


def stages(graph: RuleGraph) -> RuleGraph:
    """The functions that hold rules, with the calls that lead from one to another.

    Calls through functions without rules are drawn as one.
    """
    import networkx as nx

    held = {
        node: [t for _, t, kind in graph.out_edges(node, keys=True) if kind == "holds"]
        for node, data in graph.nodes(data=True)
        if data["kind"] == "function"
    }
    part: RuleGraph = nx.MultiDiGraph(**graph.graph)
    for node, rules in held.items():
        if rules:
            part.add_node(node, **graph.nodes[node], rules=len(rules))
    for start in list(part.nodes):
        seen, queue = {start}, [start]
        for current in queue:
            for _, target, kind in sorted(graph.out_edges(current, keys=True)):
                if kind != "calls" or target in seen:
                    continue
                seen.add(target)
                if target in part:
                    part.add_edge(start, target, key="calls", kind="calls")
                else:
                    queue.append(target)
    return part
