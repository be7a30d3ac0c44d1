"""Packs the nodes and edges of a page: every text once, ids and links put together in the browser.

`graph.js` undoes it; a test compares what it makes with what was packed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

KEYS = (
    "kind", "label", "default", "rule", "field", "target", "form", "value", "guards", "function",
    "file", "line", "url", "order", "short", "colour",
)  # fmt: skip
"""What a node may have beside its id, in the order of the packed lists."""

DERIVED = 1
"""Stands for a link or a short label that follows from the node's other parts."""

EDGE_KINDS = ("reads", "guards", "writes", "sets", "overwrites")


class _Pool:
    """Values by number, equal ones once."""

    def __init__(self) -> None:
        self.values: list[Any] = [None]
        self._numbers: dict[str, int] = {"null": 0}

    def number(self, value: Any) -> int:
        """The number of a value; 0 is None."""
        key = json.dumps(value, sort_keys=True)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.values)
            self.values.append(value)
        return found


def pack(nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """The parts `keys`, `pool`, `base`, `nodes` and `edges` of a page's data.

    A node is a list: the number of what its id has that its other parts do not say, then the number
    of each of `keys`; zeros at the end are left out. Edges are one flat list of three numbers each:
    source and target by their position, and the kind.
    """
    pool = _Pool()
    base = _base(nodes)
    place = {str(node["id"]): number for number, node in enumerate(nodes)}
    return {
        "keys": list(KEYS),
        "edgeKinds": list(EDGE_KINDS),
        "base": base,
        "nodes": [_packed(node, pool, base) for node in nodes],
        "edges": [
            number
            for edge in edges
            for number in (
                place[edge["source"]],
                place[edge["target"]],
                EDGE_KINDS.index(edge["kind"]),
            )
        ],
        "pool": pool.values,
    }


def _packed(node: Mapping[str, Any], pool: _Pool, base: str) -> list[int]:
    parts: list[int] = [pool.number(str(node["id"]).removeprefix(_start(node)))]
    for key in KEYS:
        value = node.get(key)
        if (
            value is not None and key == "url" and value == f"{base}{node['file']}#L{node['line']}"
        ) or (value is not None and key == "short" and value == short_label(node)):
            parts.append(pool.number(DERIVED))
        elif key == "guards" and value is not None:
            guards = [pool.number([int(guard["holds"]), guard["text"]]) for guard in value]
            parts.append(pool.number(guards))
        else:
            parts.append(pool.number(value))
    while parts[-1] == 0:
        parts.pop()
    return parts


def short_label(node: Mapping[str, Any]) -> str:
    """A rule's label in a drawing: what it is, and the line that it stands on."""
    if node["rule"] in ("raise", "log"):
        return str(node["label"])
    return f"{node['label']}\n{node['file'].rpartition('/')[2]}:{node['line']}"


def _start(node: Mapping[str, Any]) -> str:
    """The beginning of an id that the node's other parts say."""
    if node["kind"] == "rule":
        return f"rule:{node['file']}:{node['line']}:"
    return f"{node['kind']}:"


def _base(nodes: Sequence[Mapping[str, Any]]) -> str:
    """What all links begin with, empty where the first one is of another form."""
    for node in nodes:
        url = node.get("url")
        if url is not None:
            end = f"{node['file']}#L{node['line']}"
            return str(url).removesuffix(end) if str(url).endswith(end) else ""
    return ""
