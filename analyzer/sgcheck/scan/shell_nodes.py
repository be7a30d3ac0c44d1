"""What the syntax tree of a script says by itself, whatever path is followed."""

from __future__ import annotations

from tree_sitter import Node

from sgcheck.scan.shell_tree import Script

_QUOTES = "\"'"


def case_items(script: Script, node: Node) -> list[tuple[list[str], list[Node]]]:
    """The branches of a `case`: patterns, and the statements with those that `;&` falls through to."""
    found: list[tuple[list[str], list[Node]]] = []
    following: list[Node] = []
    for item in reversed([child for child in node.children if child.type == "case_item"]):
        patterns, body = _case_parts(script, item)
        falls = bool(item.children) and item.children[-1].type == ";&"
        following = [*body, *following] if falls else body
        found.append((patterns, following))
    return found[::-1]


def _case_parts(script: Script, item: Node) -> tuple[list[str], list[Node]]:
    patterns: list[str] = []
    for i, child in enumerate(item.children):
        if child.type == ")":
            return patterns, item.children[i + 1 :]
        if child.is_named:
            patterns.append(script.source(child).strip(_QUOTES))
    return patterns, []


def flag_variables(script: Script) -> frozenset[str]:
    """The plain variables to which the script gives flags somewhere: unset, they stand for no words."""
    found: set[str] = set()
    stack = [script.root]
    while stack:
        node = stack.pop()
        if node.type == "variable_assignment":
            name, _, value = script.source(node).partition("=")
            if value.lstrip(_QUOTES).startswith("--") and name.rstrip("+").isidentifier():
                found.add(name.rstrip("+"))
        stack.extend(node.children)
    return frozenset(found)
