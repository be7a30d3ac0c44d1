"""Which write can replace the value of which earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sgcheck.graph.data import RuleGraph


def writes_by_field(graph: RuleGraph) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """The rules that write each field (defaults included), in order."""
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for node, data in graph.nodes(data=True):
        if data["kind"] == "rule" and data["field"] is not None:
            found.setdefault(data["field"], []).append((node, data))
    for rules in found.values():
        rules.sort(key=lambda item: (item[1]["order"], item[0]))
    return found


def overwrite_edges(graph: RuleGraph) -> Iterator[tuple[str, str]]:
    """(later, earlier) pairs of rules, where both can run in one launch.

    Going back from a write, an earlier one that always runs ends the search.
    """
    only_for = _registered(graph)
    for rules in writes_by_field(graph).values():
        for index, (later, data) in enumerate(rules):
            for earlier, before in reversed(rules[:index]):
                if before["order"] == data["order"] or exclude_each_other(before, data):
                    continue
                mine, its = only_for.get(_owner(data)), only_for.get(_owner(before))
                if mine and its and mine.isdisjoint(its):
                    continue
                yield later, earlier
                if not before["guards"] and before["rule"] != "default":
                    break


def _owner(data: dict[str, Any]) -> tuple[str, str]:
    return data["file"], data["function"]


def _registered(graph: RuleGraph) -> dict[tuple[str, str], frozenset[str]]:
    """What each registered function is registered for."""
    return {
        (data["file"], data["function"]): frozenset(data["registered_for"])
        for _, data in graph.nodes(data=True)
        if data["kind"] == "function" and data["registered_for"]
    }


def exclude_each_other(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two rules of one function stand in different branches of one condition."""
    if first["file"] != second["file"] or first["function"] != second["function"]:
        return False
    held = {(g["text"], g["line"]): g["holds"] for g in first["guards"]}
    return any(held.get((g["text"], g["line"]), g["holds"]) != g["holds"] for g in second["guards"])
