"""In which case of a conditional answer does one concrete launch lie?

A `CaseTable` holds the answer with its conditions as conditions, not as words. `holds` asks one of
them about a concrete launch, whose facts a `Truth` gives: yes, no, or (where a question cannot
be answered from the launch) that both may be.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from sgcheck.resolve.resolution import JsonValue, OutcomeCase, Reason
from sgcheck.syntax.comparing import BY_VALUE
from sgcheck.values.condition import FALSE, TRUE, Condition, Space, Variable
from sgcheck.values.signals import LimitReached
from sgcheck.world.unknown_inputs import LEFT_OUT, UNSET

if TYPE_CHECKING:
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.predict import Predictor


class FieldCases(Struct, frozen=True):
    """The values of one field under their conditions, or why it has none."""

    cases: tuple[tuple[Condition, JsonValue], ...] = ()
    reason: Reason | None = None


class CaseTable(Struct, frozen=True):
    """An answer as conditions of `space`.

    `outcomes` exclude each other and cover `given`; the cases of each field do the same with
    `started`, the condition of those outcomes that start.
    """

    space: Space
    given: Condition
    started: Condition
    outcomes: tuple[tuple[Condition, OutcomeCase], ...]
    fields: Mapping[str, FieldCases]


def case_table(predictor: Predictor, launch: Launch) -> CaseTable:
    """The answer to a launch with its conditions. Raises as `Predictor.check` does.

    Where a limit ends everything, the only outcome is unknown for that reason, and no field has cases.
    For a launch whose machine is not modelled, or a tree that cannot be entered: ValueError.
    """
    from sgcheck.resolve import answers

    try:
        found = predictor.report(launch, answers.case_table)
    except LimitReached as limit:
        unknown = OutcomeCase("", "unknown", reason=limit.reason)
        return CaseTable(Space(), TRUE, FALSE, ((TRUE, unknown),), {})
    if not isinstance(found, CaseTable):
        raise ValueError(f"no cases: {found.outcome.reason}")
    return found


# -- asking a concrete launch ----------------------------------------------------------

Values = frozenset[Any]


class Truth(Struct, frozen=True):
    """What is true of a concrete launch.

    `values` maps a variable's name to its value; `lookup` is asked for names that are not there
    (a model's facts, say) and gives every value that may be meant, None for "not known".
    """

    values: Mapping[str, Hashable] = field(default_factory=dict)
    lookup: Callable[[str], Iterable[Any] | None] = lambda name: None

    def of(self, name: str) -> Values | None:
        """The possible values of a variable; None where the launch does not tell."""
        if name in self.values:
            return frozenset({self.values[name]})
        found = self.lookup(name)
        if found is not None:
            return frozenset(found)
        return _computed(name, self)


def holds(condition: Condition, truth: Truth) -> bool | None:
    """Whether a condition is true of a launch; None where that cannot be told."""
    verdicts = _verdicts(condition, truth, {})
    return verdicts.pop() if len(verdicts) == 1 else None


def _verdicts(
    condition: Condition, truth: Truth, memo: dict[int, tuple[Condition, set[bool]]]
) -> set[bool]:
    if condition is TRUE or condition is FALSE:
        return {condition is TRUE}
    known = memo.get(id(condition))
    if known is not None:
        return set(known[1])
    assert condition.variable is not None
    values = values_of(condition.variable, truth)
    found: set[bool] = set()
    for edge, child in condition.edges:
        if values is None or any(value in edge for value in values):
            found |= _verdicts(child, truth, memo)
    memo[id(condition)] = condition, found
    return set(found)


def values_of(variable: Variable, truth: Truth) -> Values | None:
    """The possible values of a variable in a launch, as its domain writes them."""
    values = truth.of(variable.name)
    if values is None:
        return None
    if variable.domain is None:
        return frozenset(_read_as(value, variable.extra.get("types", ())) for value in values)
    if LEFT_OUT in values and LEFT_OUT not in variable.domain:
        # A switch that is not given is off; a choice that is left out has its default.
        values = (values - {LEFT_OUT}) | {variable.extra.get("default", False)}
    spelled = {_spelled(value): value for value in variable.domain}
    return frozenset(
        value if value in variable.domain else spelled.get(_spelled(value), value)
        for value in values
    )


def _read_as(value: Any, types: tuple[type, ...]) -> Any:
    """A word of the command line as its flag reads it."""
    if isinstance(value, str) and types in ((int,), (float,)):
        try:
            return types[0](value)
        except ValueError:
            return value
    return value


def _spelled(value: Any) -> str:
    return str(value).removeprefix("torch.")


def inputs_of(launch: Launch, packages: Mapping[str, bool] | None = None) -> dict[str, Hashable]:
    """The inputs of a concrete launch by the names of their variables.

    `packages` says of packages whether they are there. Flags that are not among `argv` are left
    out.
    """
    from sgcheck.world import unknown_inputs as names

    found: dict[str, Hashable] = {
        names.ARCHITECTURE: launch.target.arch,
        names.CUDA: launch.target.cuda,
        names.COUNT: launch.target.count,
    }
    for name, present in {**launch.packages, **(packages or {})}.items():
        found[names.package_question(name)] = present
    for name, value in launch.env.items():
        found[names.environment_name(name)] = UNSET if value is None else value
    words = list(launch.argv)
    for position, word in enumerate(words):
        if not word.startswith("--"):
            continue
        flag, equals, value = word.partition("=")
        following = words[position + 1] if position + 1 < len(words) else None
        if equals:
            found[flag] = value
        elif following is not None and not following.startswith("--"):
            found[flag] = following
        else:
            found[flag] = True
    return found


def truth_of(
    launch: Launch,
    packages: Mapping[str, bool] | None = None,
    lookup: Callable[[str], Iterable[Any] | None] = lambda name: None,
) -> Truth:
    """What is true of a launch in which nothing is unknown. `lookup` answers for its models."""
    values = inputs_of(launch, packages)

    def find(name: str) -> Iterable[Any] | None:
        if name.startswith("environment ") and _ATOM.fullmatch(name):
            return (UNSET,)
        if name.startswith("--") and _ATOM.fullmatch(name):
            return (LEFT_OUT,)
        return lookup(name)

    return Truth(values, find)


# -- questions that are computed from others ---------------------------------------------

_ATOM = re.compile(
    r"environment [A-Za-z_][A-Za-z0-9_]*|--[A-Za-z0-9][A-Za-z0-9-]*|GPU count"
    r"|(?:draft )?model(?:/[a-z_]+)?(?:\.[A-Za-z_][A-Za-z0-9_]*)+(?!\w*\()"
)
_METHODS = ("lower", "upper", "strip", "startswith", "endswith")
_CALLS: dict[str, Callable[..., Any]] = {"int": int, "float": float, "str": str, "len": len}
_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Mod: operator.mod,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.In: lambda a, b: a in b, ast.Is: operator.is_, **BY_VALUE,
}  # fmt: skip


class _NotKnown(Exception):
    pass


def _computed(name: str, truth: Truth) -> Values | None:
    """The value of a question that is written as a calculation over others (`--tp-size > 4`)."""
    atoms: list[str] = []

    def number(match: re.Match[str]) -> str:
        text = match.group()
        # A method at the end of a dotted name is no part of the name.
        head, dot, last = text.rpartition(".")
        if dot and last in _METHODS:
            atoms.append(head)
            return f"atom_{len(atoms) - 1}.{last}"
        atoms.append(text)
        return f"atom_{len(atoms) - 1}"

    text = re.sub(_ATOM, number, name)
    if not atoms or (len(atoms) == 1 and text == "atom_0"):
        return None
    try:
        tree = ast.parse(text, mode="eval").body
        return frozenset({_evaluated(tree, [_argument(atom, truth) for atom in atoms])})
    except (SyntaxError, _NotKnown, TypeError, ArithmeticError, LookupError, ValueError):
        return None


def _argument(atom: str, truth: Truth) -> Any:
    values = truth.of(atom)
    if values is None or len(values) != 1:
        raise _NotKnown
    value = next(iter(values))
    if atom.startswith("--") and isinstance(value, str):
        # A number is written as one: no flag that is calculated with is a text.
        return _read_as(_read_as(value, (int,)), (float,))
    return value


def _evaluated(node: ast.AST, atoms: list[Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name.startswith("atom_"):
            return atoms[int(name.removeprefix("atom_"))]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluated(left, atoms), _evaluated(right, atoms))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluated(left, atoms), _evaluated(right, atoms))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluated(operand, atoms)
        case ast.Tuple(elts=elements):
            return tuple(_evaluated(element, atoms) for element in elements)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
            return _CALLS[name](*(_evaluated(arg, atoms) for arg in args))
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=args, keywords=[]):
            receiver = _evaluated(value, atoms)
            if isinstance(receiver, str) and name in _METHODS:
                return getattr(receiver, name)(*(_evaluated(arg, atoms) for arg in args))
    raise _NotKnown
