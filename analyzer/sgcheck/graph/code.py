"""The tree's rules by function, and which definition a name of the source means.

Modules are read when they are asked for; `prefetch` reads many at once, in processes where that
pays. Names are followed through imports and re-exports, methods through the bases of their class.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from sgcheck.source.tree import PACKAGE, Tree
from sgcheck.syntax.rules import ClassInfo, FunctionInfo, ModuleRules, Rule, rules_of

Place: TypeAlias = tuple[str, str]
"""A definition: path in the tree and qualified name there."""

_MAX_HOPS = 12


@dataclass(frozen=True, slots=True)
class Definition:
    """What a name means: a function, a class or a variable of a module."""

    kind: Literal["function", "class", "variable", "module"]
    path: str
    name: str

    @property
    def place(self) -> Place:
        return self.path, self.name


@dataclass(slots=True)
class Module:
    """One module's rules, indexed. `rules` is in the order in which Python evaluates."""

    path: str
    imports: dict[str, str]
    functions: dict[str, FunctionInfo]
    classes: dict[str, ClassInfo]
    rules: dict[str, list[Rule]] = field(default_factory=dict)
    variables: dict[str, list[Rule]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    statements: list[tuple[int, int]] = field(default_factory=list)

    def statement_of(self, rule: Rule) -> int:
        """The line on which the innermost statement around a rule starts."""
        at = bisect_right(self.statements, (rule.line, 1 << 60))
        for line, end_line in reversed(self.statements[:at]):
            if end_line >= rule.span.end_line:
                return line
        return rule.line


class Code:
    """The modules of one tree."""

    def __init__(self, tree: Tree, *, jobs: int | None = None, cache: Path | bool = True) -> None:
        self.tree = tree
        self._jobs = jobs
        self._cache = cache
        self._modules: dict[str, Module] = {}
        self._paths: dict[str, str | None] = {}
        self.variables: dict[Place, frozenset[Place]] = {}
        self.effects: dict[str, tuple[str, ...]] = {}
        self._meanings: dict[tuple[str, str, str], Definition | None] = {}

    @property
    def loaded(self) -> dict[str, Module]:
        """What has been read so far."""
        return self._modules

    def prefetch(self, paths: Iterable[str]) -> None:
        """Read several modules at once."""
        todo = [path for path in dict.fromkeys(paths) if path not in self._modules]
        if todo:
            read = rules_of(self.tree, todo, jobs=self._jobs, cache=self._cache)
            for path, rules in read.items():
                self._modules[path] = _indexed(rules)

    def module(self, path: str) -> Module:
        """One module; a file that cannot be read is an empty one with a problem."""
        if path not in self._modules:
            self.prefetch([path])
        return self._modules[path]

    def path_of(self, dotted: str) -> str | None:
        """The file of a module of the tree."""
        if dotted not in self._paths:
            self._paths[dotted] = self._find(dotted)
        return self._paths[dotted]

    def _find(self, dotted: str) -> str | None:
        if dotted.partition(".")[0] != PACKAGE:
            return None
        base = dotted.replace(".", "/")
        for path in (f"{base}.py", f"{base}/__init__.py"):
            if self.tree.exists(path):
                return path
        return None

    def file_behind(self, path: str, function: str, dotted: str) -> str | None:
        """The file that has to be read before `lookup` of the same name can answer."""
        found = self._start(path, function, dotted)
        return found[0] if found is not None else None

    def lookup(self, path: str, function: str, dotted: str) -> Definition | None:
        """What `dotted` means inside `function` of `path`; None outside the tree or unknown."""
        key = (path, function, dotted)
        if key not in self._meanings:
            start = self._start(path, function, dotted)
            self._meanings[key] = None if start is None else self._follow(*start, _MAX_HOPS)
        return self._meanings[key]

    def _start(self, path: str, function: str, dotted: str) -> tuple[str, str] | None:
        module = self.module(path)
        head, _, rest = dotted.partition(".")
        scope = function
        while scope:
            nested = f"{scope}.<locals>.{head}"
            if nested in module.functions or nested in module.classes:
                return path, f"{nested}.{rest}" if rest else nested
            scope = scope.rpartition(".<locals>.")[0]
        if head in ("self", "cls") and rest:
            info = module.functions.get(function.partition(".<locals>.")[0])
            return (path, f"{info.class_name}.{rest}") if info and info.class_name else None
        if dotted.startswith("super()."):
            return None
        if head in module.functions or head in module.classes or head in module.variables:
            return path, dotted
        origin = module.imports.get(head)
        return None if origin is None else self._split(f"{origin}.{rest}" if rest else origin)

    def _split(self, dotted: str) -> tuple[str, str] | None:
        """A dotted origin as file and name there, by the longest module name that exists."""
        parts = dotted.split(".")
        for count in range(len(parts), 0, -1):
            path = self.path_of(".".join(parts[:count]))
            if path is not None:
                return path, ".".join(parts[count:])
        return None

    def _follow(self, path: str, name: str, hops: int) -> Definition | None:
        if not name:
            return Definition("module", path, "")
        module = self.module(path)
        if name in module.functions:
            return Definition("function", path, name)
        if name in module.classes:
            return Definition("class", path, name)
        owner, _, attribute = name.rpartition(".")
        if owner in module.classes:
            return self._inherited(path, owner, attribute, hops)
        head, _, rest = name.partition(".")
        if head in module.imports and hops:
            origin = module.imports[head]
            start = self._split(f"{origin}.{rest}" if rest else origin)
            return None if start is None else self._follow(*start, hops - 1)
        if head in module.variables and not rest:
            return Definition("variable", path, head)
        return None

    def _inherited(self, path: str, owner: str, attribute: str, hops: int) -> Definition | None:
        """A method that a base class has."""
        if not hops:
            return None
        for base in self.module(path).classes[owner].bases:
            start = self._start(path, "", base)
            found = None if start is None else self._follow(*start, hops - 1)
            if found is None or found.kind != "class" or found.place == (path, owner):
                continue
            method = self._follow(found.path, f"{found.name}.{attribute}", hops - 1)
            if method is not None:
                return method
        return None

    def method(self, owner: Place, name: str) -> Definition | None:
        """A method of a class or of its bases."""
        found = self._follow(owner[0], f"{owner[1]}.{name}", _MAX_HOPS)
        return found if found is not None and found.kind == "function" else None

    def rules_in(self, place: Place) -> list[Rule]:
        """The rules of one function, nested functions apart, in evaluation order."""
        return self.module(place[0]).rules.get(place[1], [])


def _indexed(read: ModuleRules) -> Module:
    module = Module(
        read.path,
        dict(read.imports),
        {function.qualname: function for function in read.functions},
        {info.qualname: info for info in read.classes},
        problems=tuple(f"{read.path}: {problem}" for problem in read.problems),
        statements=sorted((s.span.line, s.span.end_line) for s in read.statements),
    )
    for rule in read.rules:
        module.rules.setdefault(rule.function, []).append(rule)
        if rule.kind == "local" and not rule.function and not rule.class_name and rule.target:
            module.variables.setdefault(rule.target, []).append(rule)
    for rules in module.rules.values():
        rules.sort(key=_evaluated)
    return module


def _evaluated(rule: Rule) -> tuple[int, int, int, int]:
    """Arguments are evaluated before the call, and the value before it is written."""
    span = rule.span
    return span.end_line, span.end_column, -span.line, -span.column
