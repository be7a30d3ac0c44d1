"""The graph as text for other programs: JSON, GraphML, DOT, Mermaid.

All text of the tree is escaped for the format; the order is that of the node ids, so that the
same tree gives the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sgcheck.graph.build import guard_text
from sgcheck.graph.colour import Colour
from sgcheck.graph.data import Data, RuleGraph

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SHAPES = {
    "field": ("ellipse", "([{}])"),
    "flag": ("note", "[/{}/]"),
    "probe": ("hexagon", "{{{{{}}}}}"),
    "env": ("cds", "[\\{}\\]"),
    "model": ("house", "[({})]"),
    "rule": ("box", "[{}]"),
    "function": ("folder", "[[{}]]"),
}
_FILLS = {
    "decided": "#b7e4c7",
    "fired": "#e4f5ea",
    "failed": "#f5b5b5",
    "not-fired": "#eeeeee",
    "not-reached": "#f8f8f8",
    "not-seen": "#fff3cd",
    "dead": "#d9d9d9",
    "given": "#cfe2ff",
}
_LINES = {"guards": "dashed", "overwrites": "dotted"}
_MAX_LABEL = 60


def document(graph: RuleGraph, colours: Mapping[str, Colour] | None = None) -> dict[str, Any]:
    """The graph as plain data of the schema `sgcheck.graph/1`."""
    about = graph.graph
    nodes = []
    for node in sorted(graph.nodes):
        entry: dict[str, Any] = {"id": node, **graph.nodes[node]}
        found = (colours or {}).get(node)
        if found is not None:
            entry["colour"] = {
                "name": found.name,
                "when": found.when,
                "value": found.value,
                "blocked_by": found.blocked_by,
            }
        nodes.append(entry)
    edges = [
        {"source": source, "target": target, **data}
        for source, target, _, data in sorted(
            graph.edges(keys=True, data=True), key=lambda edge: edge[:3]
        )
    ]
    return {
        "schema": about["schema"],
        "sglang": {
            "version": about["version"],
            "origin": about["origin"],
            "tree": about["tree"],
            "ref": about["ref"],
        },
        "problems": about.get("problems", []),
        "dynamic": about.get("dynamic", []),
        "nodes": nodes,
        "edges": edges,
    }


def to_json(graph: RuleGraph, colours: Mapping[str, Colour] | None = None) -> str:
    """`document` as ASCII JSON."""
    return json.dumps(document(graph, colours), indent=1, ensure_ascii=True) + "\n"


def to_graphml(graph: RuleGraph, colours: Mapping[str, Colour] | None = None) -> str:
    """GraphML. Lists and objects are JSON in a string; what XML cannot hold becomes U+FFFD."""
    import networkx as nx

    plain: RuleGraph = nx.MultiDiGraph()
    for entry in document(graph, colours)["nodes"]:
        node = _xml(entry.pop("id"))
        plain.add_node(node, **{k: _scalar(v) for k, v in entry.items() if v is not None})
    for source, target, key, data in sorted(
        graph.edges(keys=True, data=True), key=lambda edge: edge[:3]
    ):
        attributes = {k: _scalar(v) for k, v in data.items() if v is not None}
        plain.add_edge(_xml(source), _xml(target), key=key, **attributes)
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return head + "\n".join(nx.generate_graphml(plain)) + "\n"


def _scalar(value: Any) -> str | int | float | bool:
    if isinstance(value, bool | int | float):
        return value
    return _xml(value if isinstance(value, str) else json.dumps(value, sort_keys=True))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def to_dot(graph: RuleGraph, colours: Mapping[str, Colour] | None = None) -> str:
    """Graphviz DOT."""
    lines = ["digraph rules {", "  rankdir=LR;", '  node [fontname="sans-serif", fontsize=10];']
    for node in sorted(graph.nodes):
        data = graph.nodes[node]
        shape = _SHAPES[data["kind"]][0]
        attributes = [f"label={_dot(_label(data))}", f"shape={shape}"]
        attributes.append(f"tooltip={_dot(_tooltip(data))}")
        if data.get("url"):
            attributes.append(f"URL={_dot(data['url'])}")
        fill = _fill(node, colours)
        if fill:
            attributes.append(f'style=filled, fillcolor="{fill}"')
        lines.append(f"  {_dot(node)} [{', '.join(attributes)}];")
    for source, target, key in sorted(graph.edges(keys=True)):
        style = _LINES.get(key, "solid")
        lines.append(f"  {_dot(source)} -> {_dot(target)} [label={key}, style={style}];")
    return "\n".join([*lines, "}"]) + "\n"


def _dot(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", "")
    return '"' + plain.replace("\r", " ").replace("\n", "\\n") + '"'


def to_mermaid(graph: RuleGraph, colours: Mapping[str, Colour] | None = None) -> str:
    """A Mermaid flowchart, to be put into Markdown."""
    ids = {node: f"n{index}" for index, node in enumerate(sorted(graph.nodes))}
    lines = ["flowchart LR"]
    for node, short in ids.items():
        data = graph.nodes[node]
        shape = _SHAPES[data["kind"]][1].format('"' + _mermaid(_label(data)) + '"')
        lines.append(f"  {short}{shape}")
    for source, target, key in sorted(graph.edges(keys=True)):
        arrow = "-.->" if key in _LINES else "-->"
        lines.append(f"  {ids[source]} {arrow}|{key}| {ids[target]}")
    for name, fill in _FILLS.items():
        members = [
            ids[n]
            for n, found in sorted((colours or {}).items())
            if found.name == name and n in ids
        ]
        if members:
            lines.append(f"  classDef {name.replace('-', '_')} fill:{fill},stroke:#555")
            lines.append(f"  class {','.join(members)} {name.replace('-', '_')}")
    return "\n".join(lines) + "\n"


def _mermaid(text: str) -> str:
    """Mermaid reads `#NN;` as a character; everything but plain words is written that way."""
    return "".join(
        c if c.isascii() and (c.isalnum() or c in " _.:/=,-") else f"#{ord(c)};"
        for c in text.replace("\n", " ")
        if c.isprintable()
    )


def _fill(node: str, colours: Mapping[str, Colour] | None) -> str | None:
    found = (colours or {}).get(node)
    return _FILLS[found.name] if found is not None else None


def _label(data: Data) -> str:
    label, place = str(data["label"]), ""
    if data["kind"] == "rule" and data["rule"] not in ("raise", "log"):
        place = f" @{data['file'].rpartition('/')[2]}:{data['line']}"
    limit = max(_MAX_LABEL - len(place), 20)
    return (label if len(label) <= limit else label[: limit - 1] + "…") + place


def _tooltip(data: Data) -> str:
    if data["kind"] != "rule":
        return str(data["label"])
    conditions = " and ".join(guard_text(guard) for guard in data["guards"])
    return f"{data['file']}:{data['line']} {conditions}".strip()
