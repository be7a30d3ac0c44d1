"""Settings that can never matter on one machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sgcheck.graph.data import RuleGraph
from sgcheck.graph.on_target import Dead
from sgcheck.graph.queries import Step, step_of

if TYPE_CHECKING:
    from sgcheck.source import Tree

SHOWN_PLACES = 3
_WORD = re.compile(rb"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Reader:
    """A dead rule that would look at the setting, and the condition that kills it."""

    step: Step
    because: str


@dataclass(frozen=True, slots=True)
class Never:
    """A setting that only dead rules of the resolution look at.

    `scope` is `all` where no other code of the tree names it either: then it can never matter. It is
    `resolution` where other code does (`elsewhere`, at most three places): it changes nothing of the
    resolution here, but a running server may look at it.
    """

    kind: Literal["field", "env"]
    name: str
    flags: tuple[str, ...]
    scope: Literal["all", "resolution"]
    readers: tuple[Reader, ...]
    elsewhere: tuple[str, ...]


def never_matters(
    graph: RuleGraph, tree: Tree, dead: Dead, names: Iterable[str] | None = None
) -> list[Never]:
    """The settings, those of scope `all` first. `names` are nodes; None for every setting.

    A setting that no rule looks at at all is left out: the graph knows nothing of what reads it.
    """
    flags: dict[str, list[str]] = {}
    for _, data in graph.nodes(data=True):
        if data["kind"] == "flag" and data["field"]:
            flags.setdefault(data["field"], []).append(data["label"])
    only = None if names is None else set(names)
    readers = {
        node: rules
        for node, data in graph.nodes(data=True)
        if data["kind"] in ("field", "env") and (only is None or node in only)
        if (rules := _dead_readers(graph, node, dead))
    }
    elsewhere = _elsewhere(graph, tree, {graph.nodes[node]["label"] for node in readers})
    found: list[Never] = []
    for node, rules in readers.items():
        data = graph.nodes[node]
        places = elsewhere.get(data["label"], ())
        found.append(
            Never(
                data["kind"],
                data["label"],
                tuple(sorted(flags.get(data["label"], ()))),
                "resolution" if places else "all",
                rules,
                tuple(places),
            )
        )
    return sorted(found, key=lambda item: (item.scope, item.kind != "field", item.name))


def _dead_readers(graph: RuleGraph, node: str, dead: Dead) -> tuple[Reader, ...]:
    """The rules that look at a setting, if all of them are dead; else none."""
    found: dict[str, Reader] = {}
    for _, target, kind in sorted(graph.out_edges(node, keys=True)):
        if kind not in ("reads", "guards"):
            continue
        data = graph.nodes[target]
        if data["kind"] == "rule" and data["rule"] == "default":
            continue
        if target not in dead:
            return ()
        if data["kind"] == "rule":
            found[target] = Reader(step_of(target, data), dead[target])
    return tuple(found.values())


def _elsewhere(graph: RuleGraph, tree: Tree, names: set[str]) -> dict[str, list[str]]:
    """Where code outside of the resolution and of the declarations names the settings."""
    spans: dict[str, list[range]] = {}
    for _, data in graph.nodes(data=True):
        if data["kind"] == "function":
            spans.setdefault(data["file"], []).append(range(data["line"], data["end_line"] + 1))
        elif data["kind"] in ("field", "flag") and data.get("file"):
            spans.setdefault(data["file"], []).append(range(data["line"], data["line"] + 1))
    wanted = {name.encode() for name in names}
    found: dict[str, list[str]] = {}
    for path in _python_files(tree):
        source = tree.read(path)
        hits = wanted.intersection(_WORD.findall(source))
        if hits:
            for name, line in _lines(source, hits, spans.get(path, ())):
                places = found.setdefault(name, [])
                if len(places) < SHOWN_PLACES:
                    places.append(f"{path}:{line}")
    return found


def _lines(source: bytes, names: set[bytes], known: Iterable[range]) -> Iterator[tuple[str, int]]:
    ranges = list(known)
    for number, text in enumerate(source.splitlines(), 1):
        code = text.split(b"#", 1)[0]
        for name in sorted(names.intersection(_WORD.findall(code))):
            if not any(number in span for span in ranges) and not _is_declaration(code, name):
                yield name.decode(), number


def _is_declaration(code: bytes, name: bytes) -> bool:
    """`NAME = …` or `NAME: …` at the start of a line declares it and uses nothing."""
    return re.match(rb"\s*" + name + rb"\s*[:=](?!=)", code) is not None


def _python_files(tree: Tree) -> Iterator[str]:
    todo = ["sglang"]
    while todo:
        folder = todo.pop()
        try:
            entries = sorted(tree.listdir(folder), reverse=True)
        except (FileNotFoundError, NotADirectoryError):
            continue  # a file without an ending
        for entry in entries:
            path = f"{folder}/{entry}"
            if entry.endswith(".py"):
                yield path
            elif "." not in entry:
                todo.append(path)
