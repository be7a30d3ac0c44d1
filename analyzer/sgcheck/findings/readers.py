"""Fields that no line of a tree reads: whatever a flag gives them, nothing comes of it.

A field counts as read wherever any line loads an attribute of its name, from whatever object, holds its name
as a text that something may look up, or puts together a text that may be its name. So two fields of one name
are never taken apart, and what cannot be told is taken as read; a name that is put together of nothing known
(`f"{a}_{b}"`) could be any, and is taken for none. What does not count: the declaration, assignments, its
default for the parser, a table that names most fields (an order, a listing), and code that handles all fields
alike (to print or copy them).
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from sgcheck.findings.sources import sources
from sgcheck.source.cache import KeptFacts
from sgcheck.source.tree import Tree
from sgcheck.syntax.parsing import parsed

MOST_FILES = 6
"""A name that more files have is taken as read; it would cost much to be sure."""
MOST_BYTES = 4_000_000
_RECORD = "ServerArgs"
_FORMATTED = re.compile(rb"""\b[fF]["']([^"'\s]{2,80})["']""")
_BEFORE = re.compile(rb"""(?:getattr\([^()\n]*,\s*|\[)$""")
_ONE_WORD = re.compile(rb"(?:\w|\{[^{}]*\})+")
_ADDED = re.compile(rb"""["'](\w+)["']\s*\+|\+\s*["'](\w+)["']""")
_HOLE = re.compile(rb"\{[^{}]*\}")
_LEAST_PART = 3
"""Letters that the known part of a name must have, where it is looked up as an attribute or an item."""
_APART = bytes(i if chr(i).isalnum() or i == ord("_") else ord(" ") for i in range(128)) + bytes(
    range(128, 256)
)
"""Leaves of a text only its words."""


def unread_fields(tree: Tree, fields: Iterable[str], folder: Path | None = None) -> frozenset[str]:
    """Those of a release's fields that nothing reads; kept in `folder` by the tree's digest."""
    return _kept(tree.digest, tree, frozenset(fields), folder)


@lru_cache(maxsize=16)
def _kept(digest: str, tree: Tree, fields: frozenset[str], folder: Path | None) -> frozenset[str]:
    facts = KeptFacts(folder, digest)
    data = facts.load()
    with suppress(KeyError, TypeError):
        if frozenset(data["fields"]) == fields:
            return frozenset(data["unread"])
    found = _unread(tree, fields)
    facts.store({"fields": sorted(fields), "unread": sorted(found)})
    return found


def _unread(tree: Tree, fields: frozenset[str]) -> frozenset[str]:
    wanted = {name.encode() for name in fields}
    named: dict[str, list[str]] = defaultdict(list)
    built: set[tuple[bool, tuple[bytes, ...]]] = set()
    for path, content in sources(tree, (".py",)):
        if len(content) > MOST_BYTES:
            return frozenset()
        built |= _built(content)
        for word in wanted.intersection(content.translate(_APART).split()):
            named[word.decode()].append(path)
    rare = {name for name in fields if 0 < len(named[name]) <= MOST_FILES}
    read = {name for name in rare for looked_up, parts in built if _may_be(name, parts, looked_up)}
    rare -= read
    rare -= {name for name in rare if any(_is_loaded(name, tree.read(p)) for p in named[name])}
    for path in sorted({path for name in rare for path in named[name]}):
        names = _read_in(tree.read(path), fields)
        if names is None:
            return frozenset()
        read |= names
    return frozenset(rare - read)


def _is_loaded(name: str, content: bytes) -> bool:
    """Whether a text plainly has `.NAME`, not to assign to it; a comment does it, too. Spares parsing."""
    pattern = rb"(?<!%s)\.%s\b(?!\s*(?:=[^=]|:))" % (_RECORD.encode(), name.encode())
    return re.search(pattern, content) is not None


def _read_in(content: bytes, fields: frozenset[str]) -> set[str] | None:
    """The fields that a file reads, None for one that is not understood."""
    root = parsed(content)
    if root is None:
        return None
    found: set[str] = set()
    stack: list[ast.AST] = [root]
    while stack:
        node = stack.pop()
        found |= _names(node) & fields
        stack.extend(
            child for child in ast.iter_child_nodes(node) if not _is_idle(node, child, fields)
        )
    return found


def _names(node: ast.AST) -> set[str]:
    """The names that a node may look up."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        default = isinstance(node.value, ast.Name) and node.value.id == _RECORD
        return set() if default else {node.attr}
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value, *node.value.split(".")}
    if isinstance(node, ast.MatchClass):
        return set(node.kwd_attrs)
    return set()


def _built(content: bytes) -> set[tuple[bool, tuple[bytes, ...]]]:
    """The known parts of words that a file puts together, and whether each is looked up on the spot."""
    found: set[tuple[bool, tuple[bytes, ...]]] = set()
    for match in _FORMATTED.finditer(content):
        text = match[1]
        if b"{" in text and _ONE_WORD.fullmatch(text):
            looked_up = _BEFORE.search(content, max(match.start() - 200, 0), match.start())
            parts = tuple(part for part in _HOLE.split(text) if part)
            found.add((looked_up is not None, parts))
    if b"getattr(" in content:
        for first, second in _ADDED.findall(content):
            found.add((True, (first or second,)))
    return found


def _may_be(name: str, parts: tuple[bytes, ...], looked_up: bool) -> bool:
    """Whether a word of such parts may be the name: they are most of it, or it is looked up."""
    known = sum(map(len, parts))
    enough = sum(len(part.strip(b"_")) for part in parts) >= _LEAST_PART
    text = name.encode()
    return (2 * known > len(text) or (looked_up and enough)) and all(part in text for part in parts)


def _is_idle(parent: ast.AST, child: ast.AST, fields: frozenset[str]) -> bool:
    """Whether what is below names fields without reading one."""
    if isinstance(parent, ast.keyword):
        return parent.arg == "dest" and isinstance(child, ast.Constant)
    if (
        isinstance(parent, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return)
        and child is parent.value
    ):
        return is_listing(child, fields)
    return False


def is_listing(node: ast.AST, fields: frozenset[str]) -> bool:
    """Whether a literal names most of all fields."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        node = node.args[0]
    if not isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
        return False
    items = node.keys if isinstance(node, ast.Dict) else node.elts
    texts = Counter(each.value for each in items if isinstance(each, ast.Constant))
    return 2 * len(fields.intersection(t for t in texts if isinstance(t, str))) > len(fields)


__all__ = ["is_listing", "unread_fields"]
