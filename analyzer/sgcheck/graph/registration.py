"""Functions that are reached through a registry: a decorator puts them in, a dispatcher runs them.

A decorator counts when it is a function of a module that works on the record. Modules that are
imported only for what their import does (`import a.b.c`, and packages that import their own
submodules) are looked through for such functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sgcheck.errors import SourceError
from sgcheck.graph.code import Code, Place
from sgcheck.syntax.rules import Rule

if TYPE_CHECKING:
    from sgcheck.graph.reach import Reach


def register(reach: Reach) -> bool:
    """Add functions that are registered; True when there were new ones."""
    from sgcheck.graph.reach import CallSite

    code = reach.code
    working = {place[0] for place, reached in reach.functions.items() if reached.given}
    code.prefetch(_imported_for_effect(code, working))
    usual = reach.usual_names()
    added = False
    for path in sorted(code.loaded):
        for function in code.loaded[path].functions.values():
            if ".<locals>." in function.qualname or (path, function.qualname) in reach.functions:
                continue
            for text in function.decorators:
                registrar = code.lookup(path, "", text.partition("(")[0])
                if registrar is None or registrar.kind != "function":
                    continue
                if registrar.path not in working:
                    continue
                place = (path, function.qualname)
                reach.add(place, set(function.parameters) & usual, by_name=True)
                added = True
                for dispatcher in _dispatchers(reach, registrar.place):
                    reach.extra.setdefault(dispatcher, []).append(
                        CallSite(dispatcher, place, None, "registered")
                    )
                break
    return added


def _dispatchers(reach: Reach, registrar: Place) -> Iterator[Place]:
    """The functions of the resolution that look into the registry of a registrar."""
    registries = reach.registries.get(registrar)
    if registries is None:
        registries = reach.registries[registrar] = frozenset(_deep(reach.code, registrar, 3))
    for place, reached in reach.functions.items():
        if reached.given and place != registrar and registries & variables_of(reach.code, place):
            yield place


def _deep(code: Code, place: Place, depth: int) -> Iterator[Place]:
    """The module variables that a function, its nested functions and what they call use."""
    path, name = place
    inner = [
        other for other in code.module(path).functions if other.startswith(f"{name}.<locals>.")
    ]
    for function in (name, *inner):
        yield from variables_of(code, (path, function))
        if depth:
            for rule in code.rules_in((path, function)):
                if rule.kind == "call" and rule.target:
                    called = code.lookup(path, function, rule.target.partition("(")[0])
                    if called is not None and called.kind == "function":
                        yield from _deep(code, called.place, depth - 1)


def variables_of(code: Code, place: Place) -> frozenset[Place]:
    """The module variables that a function names."""
    if place not in code.variables:
        code.variables[place] = frozenset(_variables_of(code, place))
    return code.variables[place]


def _variables_of(code: Code, place: Place) -> Iterator[Place]:
    for rule in code.rules_in(place):
        for name in _names(rule):
            while name:
                found = code.lookup(place[0], place[1], name)
                if found is not None and found.kind == "variable":
                    yield found.place
                    break
                name = name.rpartition(".")[0]


def _names(rule: Rule) -> Iterator[str]:
    if rule.kind == "call" and rule.target:
        yield rule.target
    for read in rule.reads:
        if read.kind in ("name", "call", "env"):
            yield read.name


def _imported_for_effect(code: Code, working: set[str]) -> list[str]:
    """Modules whose body runs for its effect, from those that work on the record."""
    found: list[str] = []
    todo = sorted(working)
    seen = set(todo)
    for path in todo:
        if path not in code.effects:
            code.effects[path] = tuple(_effects(code, path))
        for dotted in code.effects[path]:
            target = code.path_of(dotted)
            if target is not None and target not in seen:
                seen.add(target)
                found.append(target)
                todo.append(target)
    return found


def _effects(code: Code, path: str) -> Iterator[str]:
    """`import a.b.c`, and what a package imports of itself."""
    try:
        tree = ast.parse(code.tree.read(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError, SourceError, FileNotFoundError):
        return
    package = path.removesuffix("/__init__.py").replace("/", ".")
    is_package = path.endswith("/__init__.py")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname is None and "." in alias.name:
                    yield alias.name
        elif isinstance(node, ast.ImportFrom) and is_package:
            if node.level == 1:
                base = f"{package}.{node.module}" if node.module else package
            else:
                base = node.module or ""
            if base == package:
                for alias in node.names:
                    yield f"{package}.{alias.name}"
            elif base.startswith(package + "."):
                yield base
