"""What the syntax tree of a script says by itself, whatever path is followed."""

from __future__ import annotations

import re

from tree_sitter import Node

from sgcheck.scan.command import is_python
from sgcheck.scan.model import ConfigFile
from sgcheck.scan.shell_tree import Script
from sgcheck.scan.text import Mapped

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


def variable_of(script: Script, word: Node) -> str | None:
    """The variable that a word is and nothing else (`$X`, `"${X}"`, `${X:-d}`), or None."""
    source = script.source(word).strip('"')
    found = re.fullmatch(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::?[-=][^{}$`]*)?\})", source)
    return None if found is None else found[1] or found[2]


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


def only_prints(script: Script, statement: Node, heredoc: Node) -> bool:
    """Whether a here-document is shown to people: `cat` without a file or a pipe."""
    source = script.source(statement.children[0]).split(None, 1)
    piped = any(c.type == "pipeline" for c in heredoc.children)
    written = any(c.type == "file_redirect" for c in (*statement.children, *heredoc.children))
    return source[:1] == ["cat"] and not piped and not written


def given_to_python(script: Script, statement: Node, heredoc: Node) -> bool:
    """Whether a here-document is Python's standard input, or is written to a file of Python's."""
    for child in (*statement.children, *heredoc.children):
        if child.type == "file_redirect" and script.source(child).rstrip(_QUOTES).endswith(".py"):
            return True
    words = script.source(statement.children[0]).split()
    return any(map(is_python, words)) and not any(word.endswith(".py") for word in words)


def written_config(
    script: Script, statement: Node, heredoc: Node, text: Mapped
) -> ConfigFile | None:
    """The SGLang configuration that a here-document writes, for a later `--config`."""
    from sgcheck.scan.server_config import embedded_config

    for child in (*statement.children, *heredoc.children):
        name = script.source(child).lstrip("> ").strip(_QUOTES)
        if child.type == "file_redirect":
            config = embedded_config(script.file, text, name.rsplit("/", 1)[-1])
            if config is not None:
                return config
    return None
