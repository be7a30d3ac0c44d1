"""Which write can replace the value of which earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx as nx


def writes_by_field(graph: nx.MultiDiGraph) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """The rules that write each field (defaults included), in order."""
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for node, data in graph.nodes(data=True):
        if data["kind"] == "rule" and data["field"] is not None:
            found.setdefault(data["field"], []).append((node, data))
    for rules in found.values():
        rules.sort(key=lambda item: (item[1]["order"], item[0]))
    return found


def overwrite_edges(graph: nx.MultiDiGraph) -> Iterator[tuple[str, str]]:
    """(later, earlier) pairs of rules, where both can run in one launch.

    Going back from a write, an earlier one that always runs ends the search.
    """
    for rules in writes_by_field(graph).values():
        for index, (later, data) in enumerate(rules):
            for earlier, before in reversed(rules[:index]):
                if before["order"] == data["order"] or exclude_each_other(before, data):
                    continue
                yield later, earlier
                if not before["guards"] and before["rule"] != "default":
                    break


def exclude_each_other(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two rules of one function stand in different branches of one condition."""
    if first["file"] != second["file"] or first["function"] != second["function"]:
        return False
    held = {(g["text"], g["line"]): g["holds"] for g in first["guards"]}
    return any(held.get((g["text"], g["line"]), g["holds"]) != g["holds"] for g in second["guards"])
