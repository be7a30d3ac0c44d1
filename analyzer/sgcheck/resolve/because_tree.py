"""From a field back to what decided it: its deciding step, the fields that this looks at, and so on."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgcheck.report.wording import effective_steps
from sgcheck.resolve.resolution import Because, FieldAnswer, Resolution

if TYPE_CHECKING:
    from sgcheck.source import Tree
    from sgcheck.syntax.rule_model import Guard, ModuleRules, Read, Rule

MAX_DEPTH = 12
_WRITES = ("write", "declare")


@dataclass(frozen=True, slots=True)
class Branch:
    """One field: its answer, the steps that decide it, and what these look at.

    `asks` are probes, variables and model facts; `again` says that the field stands elsewhere in
    the tree with its own branches.
    """

    answer: FieldAnswer
    steps: tuple[Because, ...] = ()
    asks: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()
    again: bool = False


def because_tree(tree: Tree, resolution: Resolution, name: str) -> Branch | None:
    """The tree of a field; None where it has no answer. Reads the deciding functions with libcst."""
    if name not in resolution.fields:
        return None
    return _Grower(tree, resolution).branch(name, 0)


class _Grower:
    def __init__(self, tree: Tree, resolution: Resolution) -> None:
        self._tree = tree
        self._resolution = resolution
        self._seen: set[str] = set()
        self._modules: dict[tuple[str, str], ModuleRules] = {}

    def branch(self, name: str, depth: int) -> Branch:
        answer = self._resolution.fields[name]
        steps, reads = self._steps(answer)
        fields = dict.fromkeys(r.name for r in reads if r.kind == "field")
        known = [f for f in fields if f in self._resolution.fields and f != name]
        asks = dict.fromkeys(r.name for r in reads if r.kind in ("probe", "env", "model"))
        if name in self._seen or depth >= MAX_DEPTH:
            return Branch(answer, steps, tuple(asks), again=bool(known))
        self._seen.add(name)
        branches = tuple(self.branch(each, depth + 1) for each in known)
        return Branch(answer, steps, tuple(asks), branches)

    def _steps(self, answer: FieldAnswer) -> tuple[tuple[Because, ...], list[Read]]:
        """The deciding steps and what they look at; before one that changes the field, what it had."""
        steps = list(effective_steps(answer))
        reads = [read for step in steps for read in self._reads(step, answer.name)]
        at = min((i for i, s in enumerate(answer.because) if s in steps), default=0)
        while at > 0 and any(read.name == answer.name for read in self._values(steps[0], answer)):
            at -= 1
            steps.insert(0, answer.because[at])
            reads = [*self._reads(steps[0], answer.name), *reads]
        return tuple(steps), reads

    def _values(self, step: Because, answer: FieldAnswer) -> list[Read]:
        """What the value of a step is made of."""
        if step.file is None or step.line is None or step.function is None:
            return []
        module = self._module(step.file, step.function)
        rule = rule_at(module, answer.name, step.line)
        if rule is None:
            return []
        reads = [*rule.reads, *(read for case in rule.cases for read in case.reads)]
        return behind_locals(module, step.function, reads)

    def _reads(self, step: Because, name: str) -> list[Read]:
        """What the conditions and the value of a step look at."""
        if step.file is None or step.line is None or step.function is None:
            return []
        module = self._module(step.file, step.function)
        rule = rule_at(module, name, step.line)
        if rule is None:
            from sgcheck.syntax.rules import guards_at

            found = [read for guard in guards_at(module, step.line) for read in guard.reads]
            return behind_locals(module, step.function, found)
        guards: list[Guard] = [*rule.guards, *(g for case in rule.cases for g in case.guards)]
        found = [read for guard in guards for read in guard.reads]
        found += [*rule.reads, *(r for case in rule.cases for r in case.reads)]
        return behind_locals(module, step.function, found)

    def _module(self, file: str, function: str) -> ModuleRules:
        from sgcheck.syntax.rules import read_rules

        key = (file, function)
        if key not in self._modules:
            self._modules[key] = read_rules(self._tree.read(file), file, functions={function})
        return self._modules[key]


def behind_locals(module: ModuleRules, function: str, reads: Sequence[Read]) -> list[Read]:
    """What is read, and what the local variables among it were made from, in their function."""
    made: dict[str, list[Read]] = {}
    for rule in module.rules:
        if rule.kind == "local" and rule.function == function and rule.target:
            inner = [read for case in rule.cases for read in case.reads]
            guards = [read for guard in rule.guards for read in guard.reads]
            made.setdefault(rule.target, []).extend((*rule.reads, *inner, *guards))
    found: dict[Read, None] = {}
    todo = deque(reads)
    while todo:
        read = todo.popleft()
        if read not in found:
            found[read] = None
            todo.extend(made.get(read.name, []) if read.kind == "name" else [])
    return list(found)


def rule_at(module: ModuleRules, field: str, line: int) -> Rule | None:
    """The rule that gives `field` its value at a line.

    A call or a display over several lines is known by its first one; then it is the entry below.
    """
    rules = [rule for rule in module.rules if rule.target == field and rule.kind in _WRITES]
    for rule in rules:
        if rule.span.line <= line <= rule.span.end_line:
            return rule
    below = [rule for rule in rules if rule.span.line > line]
    return min(below, key=lambda rule: rule.span.line, default=None)
