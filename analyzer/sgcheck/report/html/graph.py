"""The rule graph as one HTML page, to be opened from a file without network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from sgcheck.graph.colour import Colour
from sgcheck.graph.data import Data, RuleGraph
from sgcheck.graph.select import around, stages
from sgcheck.report.html.packing import pack, short_label
from sgcheck.report.html.vendor import licences, scripts
from sgcheck.report.wording import clean, value_text

_NODE_KEYS = (
    "kind", "label", "default", "rule", "field", "target", "form", "value", "guards", "function",
    "file", "line", "url", "order",
)  # fmt: skip
_FOLD_ABOVE = 24
_FILES_ABOVE = 60


def render_graph_html(
    graph: RuleGraph,
    fields: Sequence[str] = (),
    colours: Mapping[str, Colour] | None = None,
    launch: str = "",
) -> str:
    """The page. With `fields` it holds their neighbourhood, else the whole graph, folded.

    `launch` says in words which launch the colours are of.
    """
    part = around(graph, fields, colours) if fields else graph
    version = clean(str(graph.graph["version"]))
    about = f"{part.number_of_nodes():,} nodes, {part.number_of_edges():,} edges"
    page: str = template("graph.html.j2").render(
        title=f"Rule graph of SGLang {version}",
        subtitle=f"{launch} · {about}" if launch else about,
        css=resource("page.css") + resource("graph.css"),
        script=resource("graph.js"),
        scripts=scripts(),
        licences=licences(),
        data=embedded(_data(graph, part, fields, colours)),
    )
    return page


def _data(
    graph: RuleGraph,
    part: RuleGraph,
    fields: Sequence[str],
    colours: Mapping[str, Colour] | None,
) -> dict[str, Any]:
    nodes = [
        _node(node, part.nodes[node], (colours or {}).get(node))
        for node in sorted(part.nodes)
        if part.nodes[node]["kind"] != "function"
    ]
    known = {node["id"] for node in nodes}
    edges = [
        {"source": source, "target": target, "kind": kind}
        for source, target, kind in sorted(part.edges(keys=True))
        if source in known and target in known
    ]
    rules = sum(1 for node in nodes if node["kind"] == "rule" and node["rule"] != "default")
    calls = [] if fields else _stage_calls(graph)
    overview = (
        "file" if len({name for pair in calls for name in pair}) > _FILES_ABOVE else "function"
    )
    folded = "function" if rules > _FOLD_ABOVE else "none"
    return {
        "title": f"SGLang {clean(str(graph.graph['version']))}",
        "notes": _notes(graph),
        "focus": [f"field:{field}" for field in fields],
        "fold": folded if fields else overview,
        "overview": overview,
        "coloured": colours is not None,
        "always": sorted(
            node
            for node, found in (colours or {}).items()
            if found.name == "failed" and node in known
        ),
        "stageCalls": calls,
        "packed": pack(nodes, edges),
    }


def _node(node: str, data: Data, colour: Colour | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": node}
    entry.update({key: data[key] for key in _NODE_KEYS if data.get(key) is not None})
    if data["kind"] == "rule":
        entry["short"] = short_label(entry)
    if colour is not None:
        entry["colour"] = {
            "name": colour.name,
            "when": colour.when,
            "blocked_by": colour.blocked_by,
        }
        if data["kind"] == "field":
            entry["colour"]["text"] = value_text(colour.value)
    return entry


def _stage_calls(graph: RuleGraph) -> list[tuple[str, str]]:
    part = stages(graph)
    return sorted(
        {
            (_stage(part.nodes[source]), _stage(part.nodes[target]))
            for source, target in part.edges()
            if source != target
        }
    )


def _stage(data: Data) -> str:
    return f"{data['file']}\n{data['function']}"


def _notes(graph: RuleGraph) -> list[str]:
    notes = [f"Not read: {problem}" for problem in graph.graph.get("problems", [])[:5]]
    dynamic = graph.graph.get("dynamic", [])
    if dynamic:
        notes.append(f"Writes of a field named only at run time: {', '.join(dynamic[:5])}")
    return notes


def resource(name: str) -> str:
    """A file of this package."""
    return files("sgcheck.report.html").joinpath(name).read_text("utf-8")


def template(name: str) -> Any:
    """A template; what it is given is escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(resource),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def embedded(data: Any) -> str:
    """JSON that can stand in a `<script>` element whatever it holds."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
