"""YAML as nodes with places: composed by PyYAML (YAML 1.1, as SGLang reads it), never constructed.

Aliases stay shared nodes, so that a file of a few lines cannot grow to gigabytes; whoever walks a tree
does so through a `Budget`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sgcheck.scan.text import EMPTY, Mapped, SourceFile
from sgcheck.scan.yaml_scalars import scalar_mapped

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

_MAX_DEPTH = 60
_MAX_VISITS = 200_000
MAX_DOCUMENTS = 2_000
"""Documents of one file that are read."""
_NULLS = {"", "~", "null", "Null", "NULL"}


class TooLarge(Exception):
    """A tree that grows without end when its aliases are followed."""


@dataclass
class Budget:
    """How many more nodes may be visited."""

    left: int = _MAX_VISITS

    def take(self) -> None:
        """Count one visit; `TooLarge` when none is left."""
        self.left -= 1
        if self.left < 0:
            raise TooLarge


class Document:
    """One YAML document of a mapped text (the file, or a scalar in it)."""

    def __init__(self, file: SourceFile, text: Mapped, root: Node) -> None:
        self.file = file
        self.text = text
        self.root = root
        self.budget = Budget()
        self._tables: dict[int, dict[str, tuple[Node, Node]]] = {}

    def place(self, node: Node) -> tuple[int, int]:
        """The file's offsets of a node, without the blank lines that PyYAML counts to its end."""
        start, end = node.start_mark.index, node.end_mark.index
        raw = self.text.text
        while end > start and raw[end - 1] in " \t\r\n":
            end -= 1
        if start >= len(raw):
            start = max(len(raw) - 1, 0)
        first = self.text.place(start)[0] if raw else 0
        return first, max(first, self.text.place(end - 1)[1] if end > start else first)

    def scalar(self, node: Node) -> Mapped:
        """The text of a scalar, each character with its place. EMPTY for other nodes."""
        if not isinstance(node, ScalarNode):
            return EMPTY
        return scalar_mapped(self.text, node)

    def items(self, node: Node | None) -> Iterator[tuple[str, Node, Node]]:
        """Key text, key node and value node of a mapping, merge keys (`<<`) resolved; else nothing."""
        for name, (key, value) in self._table(node).items():
            self.budget.take()
            yield name, key, value

    def _table(self, node: Node | None, depth: int = 0) -> dict[str, tuple[Node, Node]]:
        """A mapping's pairs by key text; nodes are shared by aliases, so each is read once."""
        if not isinstance(node, MappingNode):
            return {}
        known = self._tables.get(id(node))
        if known is not None:
            return known
        table: dict[str, tuple[Node, Node]] = {}
        self._tables[id(node)] = table  # a mapping that merges itself sees what is there so far
        merges: list[Node] = []
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                merges.extend(value.value if isinstance(value, SequenceNode) else [value])
            elif isinstance(key, ScalarNode):
                table[key.value] = (key, value)  # the last of several wins, as in PyYAML
        for merged in merges if depth < _MAX_DEPTH else ():
            for name, pair in list(self._table(merged, depth + 1).items()):
                self.budget.take()
                table.setdefault(name, pair)
        return table

    def get(self, node: Node | None, *keys: str) -> Node | None:
        """The node at a path of keys, or None."""
        for key in keys:
            pair = self._table(node).get(key)
            if pair is None:
                return None
            node = pair[1]
        return node

    def text_at(self, node: Node | None, *keys: str) -> str | None:
        """The scalar's text at a path of keys, or None; an explicit null is None too."""
        found = self.get(node, *keys)
        if isinstance(found, ScalarNode) and not is_null(found):
            return str(found.value)
        return None

    def elements(self, node: Node | None) -> list[Node]:
        """The nodes of a sequence; empty for anything else."""
        if not isinstance(node, SequenceNode):
            return []
        self.budget.left -= len(node.value)
        self.budget.take()
        return list(node.value)

    def walk(self, node: Node | None = None) -> Iterator[tuple[tuple[str, ...], Node]]:
        """Every node below, with its path of keys and indices, parents first."""
        stack: list[tuple[tuple[str, ...], Node]] = [((), self.root if node is None else node)]
        while stack:
            path, current = stack.pop()
            self.budget.take()
            yield path, current
            if len(path) > _MAX_DEPTH:
                continue
            below: list[tuple[tuple[str, ...], Node]] = []
            if isinstance(current, MappingNode):
                below = [((*path, k), v) for k, _, v in self.items(current)]
            elif isinstance(current, SequenceNode):
                below = [((*path, str(i)), v) for i, v in enumerate(current.value)]
            stack.extend(reversed(below))


def is_null(node: Node) -> bool:
    """Whether a node is YAML's null."""
    return isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def load_documents(file: SourceFile, text: Mapped) -> tuple[list[Document], tuple[str, int] | None]:
    """All documents of a text and, when the text breaks off, the fault and its line in the file.

    The documents before a fault are returned.
    """
    documents: list[Document] = []
    loader = None
    try:
        loader = _Loader(text.text)
        while loader.check_node():
            node = loader.get_node()
            if node is not None and len(documents) == MAX_DOCUMENTS:
                line = file.line_of(text.place(node.start_mark.index)[0])
                return documents, (f"more than {MAX_DOCUMENTS} documents", line)
            if node is not None:
                documents.append(Document(file, text, node))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        index = min(mark.index, len(text) - 1) if mark is not None else 0
        line = file.line_of(text.place(index)[0]) if len(text) and index >= 0 else 1
        return documents, (error.problem or error.context or "not YAML", line)
    except yaml.YAMLError as error:
        return documents, (" ".join(str(error).split()), 1)
    except (RecursionError, MemoryError, ValueError, OverflowError):
        return documents, ("nested too deeply", 1)
    finally:
        if loader is not None:
            loader.dispose()
    return documents, None


class _Values(yaml.constructor.SafeConstructor):
    """Builds plain values from nodes, as `yaml.safe_load` does."""


def plain_value(node: Node) -> object:
    """The Python value of a node as `yaml.safe_load` gives it.

    Raises `ValueError` for what that refuses (an impossible date, an unhashable key, an unknown tag) and
    `TooLarge` for trees that would grow without bound.
    """
    _check_size(node, Budget(5_000), 0)
    try:
        return _Values().construct_document(node)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    except (OverflowError, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _check_size(node: Node, budget: Budget, depth: int) -> None:
    budget.take()
    if depth > _MAX_DEPTH:
        raise TooLarge
    if isinstance(node, MappingNode):
        for key, value in node.value:
            _check_size(key, budget, depth + 1)
            _check_size(value, budget, depth + 1)
    elif isinstance(node, SequenceNode):
        for value in node.value:
            _check_size(value, budget, depth + 1)


def flag_texts(value: object) -> list[str] | None:
    """What SGLang's configuration merger passes after `--key`: none for a true boolean flag.

    None means that the flag is left out (a false boolean, an empty list).
    """
    if isinstance(value, bool):
        return [] if value else None
    if isinstance(value, list):
        return [str(item) for item in value] or None
    if isinstance(value, dict):
        try:
            return [json.dumps(value)]
        except (TypeError, ValueError):
            return [str(value)]
    return [str(value)]
