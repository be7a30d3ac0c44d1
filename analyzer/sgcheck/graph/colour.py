"""Colour the graph by one resolved launch: what fired, what did not, and what stopped it.

A condition is only said to be what held a rule back where that is certain: where it compares
fields that kept one value through the whole resolution with constants.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sgcheck.graph.build import guard_text, rules_of_graph
from sgcheck.graph.data import Data, RuleGraph
from sgcheck.report.document import same_value
from sgcheck.resolve.resolution import JsonValue, LaunchError, Resolution

ColourName: TypeAlias = Literal[
    "decided", "fired", "failed", "not-fired", "not-reached", "not-seen", "dead", "given"
]


@dataclass(frozen=True, slots=True)
class Colour:
    """What a launch did with a node.

    `decided`: its value is the final one; `fired`; `failed`: it stopped the start; `not-fired`;
    `not-reached`: it comes after the line that stopped the start; `not-seen`: the launch was not
    followed to its end, so it may or may not fire; `dead`: it cannot fire on this machine, whatever
    else is given; `given`: a flag of the command line. `when` is the condition of a conditional
    answer, `blocked_by` the guard that certainly did not hold.
    """

    name: ColourName
    when: str = ""
    value: JsonValue = None
    blocked_by: str | None = None


def mark_dead(colours: Mapping[str, Colour], dead: Mapping[str, str]) -> dict[str, Colour]:
    """The colours with those rules that are dead on the machine (see `on_target`) named so."""
    fired = ("decided", "fired", "failed")
    return dict(colours) | {
        node: Colour("dead", blocked_by=reason)
        for node, reason in dead.items()
        if node in colours and colours[node].name not in fired
    }


def colour(graph: RuleGraph, resolution: Resolution) -> dict[str, Colour]:
    """The colours of the rules, of the fields that have an answer and of the flags given."""
    steps, logs = _steps(resolution), {(line.file, line.line) for line in resolution.log}
    errors = _errors(resolution)
    stopped = _stopped(graph, resolution.outcome.error)
    complete = resolution.outcome.status in ("ok", "startup_error")
    names = _record_names(graph)
    still = constant_fields(resolution)
    found: dict[str, Colour] = {}
    for node, data in rules_of_graph(graph):
        seen = _seen(data, steps, logs, errors)
        if seen is not None:
            found[node] = seen
        elif data["rule"] == "default":
            continue
        elif stopped is not None and data["order"] > stopped:
            found[node] = Colour("not-reached")
        else:
            blocked = _blocked_by(data, names, still)
            sure = complete or blocked is not None
            found[node] = Colour("not-fired" if sure else "not-seen", blocked_by=blocked)
    given = {word.partition("=")[0] for word in resolution.argv if word.startswith("-")}
    for node, data in graph.nodes(data=True):
        if data["kind"] == "flag" and data["label"] in given:
            found[node] = Colour("given")
        elif data["kind"] == "field" and data["label"] in resolution.fields:
            answer = resolution.fields[data["label"]]
            if answer.status == "decided":
                found[node] = Colour("decided", value=answer.value)
    return found


_Steps: TypeAlias = dict[tuple[str, int, str], tuple[bool, str, JsonValue]]


def _steps(resolution: Resolution) -> _Steps:
    """(file, line, field) -> (effective, when, value) of every step of every chain."""
    found: _Steps = {}
    for name, answer in resolution.fields.items():
        marked = any(step.effective for step in answer.because)
        last = len(answer.because) - 1
        for index, step in enumerate(answer.because):
            if step.file is None or step.line is None or step.kind == "flag":
                continue
            final = step.effective or (
                not marked and index == last and same_value(step.value, answer.value)
            )
            key = (step.file, step.line, name)
            found[key] = (final or found.get(key, (False,))[0], step.when, step.value)
    return found


def _errors(resolution: Resolution) -> dict[tuple[str, int], str]:
    """(file, line) -> condition of every error that a path of the launch ends with."""
    found: dict[tuple[str, int], str] = {}
    outcome = resolution.outcome
    errors = [("", outcome.error), *((case.condition, case.error) for case in outcome.cases)]
    for condition, error in errors:
        if error is not None and error.file is not None and error.line is not None:
            found.setdefault((error.file, error.line), condition)
    return found


def _seen(
    data: Data, steps: _Steps, logs: set[tuple[str, int]], errors: Mapping[tuple[str, int], str]
) -> Colour | None:
    for line in range(data["statement_line"], data["end_line"] + 1):
        place = (data["file"], line)
        if data["rule"] == "raise" and place in errors:
            return Colour("failed", errors[place])
        if data["rule"] == "log" and place in logs:
            return Colour("fired")
        if data["field"] is not None and (*place, data["field"]) in steps:
            final, when, value = steps[*place, data["field"]]
            return Colour("decided" if final else "fired", when, value)
    return None


def _stopped(graph: RuleGraph, error: LaunchError | None) -> int | None:
    """The position of the line that stopped the start, if that is known."""
    if error is None or error.file is None or error.line is None:
        return None
    orders = [
        data["order"]
        for _, data in rules_of_graph(graph)
        if data["file"] == error.file and data["statement_line"] <= error.line <= data["end_line"]
    ]
    return max(orders, default=None)


def _record_names(graph: RuleGraph) -> dict[tuple[str, str], frozenset[str]]:
    return {
        (data["file"], data["function"]): frozenset(data["record_names"])
        for _, data in graph.nodes(data=True)
        if data["kind"] == "function"
    }


def constant_fields(resolution: Resolution) -> dict[str, JsonValue]:
    """Fields with one decided value from beginning to end."""
    found: dict[str, JsonValue] = {}
    for name, answer in resolution.fields.items():
        values = [step.value for step in answer.because]
        if answer.status == "decided" and all(same_value(v, answer.value) for v in values):
            found[name] = answer.value
    return found


def _blocked_by(
    data: Data,
    names: Mapping[tuple[str, str], frozenset[str]],
    values: Mapping[str, JsonValue],
) -> str | None:
    record = names.get((data["file"], data["function"]), frozenset())
    for guard in data["guards"]:
        held = _evaluate(_syntax(guard["text"]), record, values)
        if held is not None and held != guard["holds"]:
            return guard_text(guard)
    return None


def _syntax(text: str) -> ast.expr | None:
    try:
        return ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _evaluate(
    node: ast.expr | None, record: frozenset[str], values: Mapping[str, JsonValue]
) -> bool | None:
    """Whether a condition holds; None where that is not certain."""
    match node:
        case ast.BoolOp(op=op, values=parts):
            held = [_evaluate(part, record, values) for part in parts]
            decisive = isinstance(op, ast.Or)
            if decisive in held:
                return decisive
            return None if None in held else not decisive
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _evaluate(operand, record, values)
            return None if inner is None else not inner
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            if not _is_field(left, record, values):
                return None
            try:
                constant = ast.literal_eval(right)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                return None
            return _compare(values[ast.unparse(left).rpartition(".")[2]], op, constant)
        case ast.Attribute(attr=name) if _is_field(node, record, values):
            return bool(values[name])
        case _:
            return None


def _is_field(node: ast.expr, record: frozenset[str], values: Mapping[str, JsonValue]) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in record
        and node.attr in values
    )


def _compare(value: JsonValue, op: ast.cmpop, constant: object) -> bool | None:
    plain = (str, int, float, bool, type(None))
    if not isinstance(value, plain):
        return None
    match op:
        case ast.Eq():
            return value == constant
        case ast.NotEq():
            return value != constant
        case ast.Is() if constant is None:
            return value is None
        case ast.IsNot() if constant is None:
            return value is not None
        case ast.In() | ast.NotIn() if isinstance(constant, tuple | list | set | frozenset):
            return (value in constant) is isinstance(op, ast.In)
        case _:
            return None
