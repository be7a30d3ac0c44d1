"""What of the graph can happen on one machine: dead rules, and settings that can never matter.

The questions to the hardware that conditions ask are put to the tree's own code with the machine as
its world. A rule is dead only where one of its conditions, or one of every chain of calls that leads
to its function, is certainly false there; what cannot be answered kills nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from sgcheck.errors import WorkerEnded
from sgcheck.graph.build import guard_text
from sgcheck.graph.data import Data, RuleGraph
from sgcheck.graph.questions import Asked, Questions
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.performing import Performs
from sgcheck.resolve.resolution import Reason

if TYPE_CHECKING:
    from sgcheck.resolve.predict import Predictor

Dead: TypeAlias = Mapping[str, str]
"""Node of a dead rule or function -> the condition that is false on the machine."""


def dead_on(graph: RuleGraph, predictor: Performs, launch: Launch) -> Dead:
    """The dead rules and functions on the launch's machine; nothing else of the launch counts."""
    held = _held(graph, predictor, launch)
    false = {asked: value for asked, value in held.items() if value is not None}

    def broken(file: str, function: str, guards: list[Data]) -> str | None:
        for guard in guards:
            value = false.get(Asked(file, function, guard["text"]))
            if value is not None and value != guard["holds"]:
                return guard_text(guard)
        return None

    found: dict[str, str] = {}
    cut: dict[str, str] = {}
    live = _reached(graph, lambda source, target, data: _passes(graph, source, data, broken, cut))
    everything = _reached(graph, lambda *_: True)
    for node, data in graph.nodes(data=True):
        if data["kind"] == "function" and node in everything and node not in live:
            found[node] = cut.get(node, "no function that can run here calls it")
    for node, data in graph.nodes(data=True):
        if data["kind"] != "rule" or data["rule"] == "default":
            continue
        home = f"function:{data['file']}:{data['function']}"
        reason = broken(data["file"], data["function"], data["guards"]) or found.get(home)
        if reason is not None:
            found[node] = reason
    return found


def _passes(
    graph: RuleGraph,
    source: str,
    data: Data,
    broken: Callable[[str, str, list[Data]], str | None],
    cut: dict[str, str],
) -> bool:
    caller = graph.nodes[source]
    reason = broken(caller["file"], caller["function"], data["guards"])
    if reason is not None:
        cut.setdefault(data["target"], reason)
    return reason is None


def _reached(graph: RuleGraph, passes: Callable[[str, str, Data], bool]) -> set[str]:
    """The functions that are reached from those that nothing calls, along calls that pass."""
    functions = [n for n, data in graph.nodes(data=True) if data["kind"] == "function"]
    called = {
        target for source, target, kind in graph.edges(keys=True) if kind == "calls" != source
    }
    todo = [node for node in functions if node not in called]
    seen = set(todo)
    for node in todo:
        for _, target, kind, data in graph.out_edges(node, keys=True, data=True):
            if kind != "calls" or target in seen:
                continue
            if passes(node, target, {**data, "target": target}):
                seen.add(target)
                todo.append(target)
    return seen


def _held(graph: RuleGraph, predictor: Performs, launch: Launch) -> dict[Asked, bool | None]:
    """Every condition of the graph -> whether it holds on the machine, None where that is open."""
    asked: dict[Asked, None] = {}
    for _, data in graph.nodes(data=True):
        if data["kind"] == "rule":
            for guard in data["guards"]:
                asked[Asked(data["file"], data["function"], guard["text"])] = None
    for source, _, kind, data in graph.edges(keys=True, data=True):
        if kind == "calls":
            caller = graph.nodes[source]
            for guard in data["guards"]:
                asked[Asked(caller["file"], caller["function"], guard["text"])] = None

    rows = tuple((each.file, each.function, each.text) for each in asked)
    try:
        answers = predictor.perform(held, launch, rows)
    except WorkerEnded:
        return {}
    return dict(zip(asked, answers, strict=True)) if len(answers) == len(rows) else {}


def held(
    predictor: Predictor, launch: Launch, asked: tuple[tuple[str, str, str], ...]
) -> tuple[bool | None, ...]:
    """The operation: whether conditions (file, function, text) hold; empty where nothing can be asked."""

    def question(_module: Any, load: Callable[[str], Any]) -> tuple[bool | None, ...]:
        questions = Questions(predictor.tree, load)
        return tuple(questions.holds(Asked(*each)) for each in asked)

    answers = predictor.asked(launch, question)
    return () if isinstance(answers, Reason) else tuple(answers)
