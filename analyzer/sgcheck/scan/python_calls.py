"""Calls of functions that the same file defines: which are worth following, and what they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sgcheck.scan.python_values import UNKNOWN, Evaluator, PyValue, dotted

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_FEW_STATEMENTS = 3
_STARTERS = frozenset({"Popen", "run", "call", "check_call", "check_output", "system", "execvp"})


@dataclass(frozen=True, eq=False, slots=True)
class Function:
    """A function of the file as the value of its name."""

    node: Definition


def call_key(call: ast.Call) -> str:
    """The key under which a path keeps what a call returned, while its statement runs."""
    return f"?call {id(call)}"


def calls_of(node: ast.AST) -> Iterator[ast.Call]:
    """The calls of a statement, the inner ones first; those of functions defined in it are left out."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from calls_of(child)
    if isinstance(node, ast.Call):
        yield node


def worth_following(tree: ast.Module) -> tuple[frozenset[str], frozenset[str]]:
    """Names of the functions that can have a part in a launch, by their words or by what they call.

    And the names of all functions that some function or the module calls.
    """
    words: set[str] = set()
    callers: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if len(node.body) <= _FEW_STATEMENTS:
            words.add(node.name)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                if inner.value.startswith("-") or "sglang" in inner.value:
                    words.add(node.name)
            elif isinstance(inner, ast.Call):
                name = (dotted(inner.func) or "").rpartition(".")[2]
                callers.setdefault(name, set()).add(node.name)
                if name in _STARTERS:
                    words.add(node.name)
    todo = list(words)
    while todo:
        for caller in callers.get(todo.pop(), ()):
            if caller not in words:
                words.add(caller)
                todo.append(caller)
    called = {
        (dotted(each.func) or "").rpartition(".")[2]
        for each in ast.walk(tree)
        if isinstance(each, ast.Call)
    }
    return frozenset(words), frozenset(called)


def bound(
    function: Function, call: ast.Call, evaluator: Evaluator, state: dict[str, PyValue]
) -> dict[str, PyValue]:
    """The values of a function's parameters for a call."""
    arguments = function.node.args
    named = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    if named[:1] in (["self"], ["cls"]) and isinstance(call.func, ast.Attribute):
        named = named[1:]
    found: dict[str, PyValue] = {}
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    given = [] if starred else list(call.args)
    for name, node in zip(named, given, strict=False):
        found[name] = evaluator.value(node, state)
    if arguments.vararg is not None:
        rest = call.args if starred else given[len(named) :]
        found[arguments.vararg.arg] = evaluator.items(list(rest), state)
    open_keywords = starred
    extra: dict[str, tuple[PyValue, PyValue]] = {}
    for keyword in call.keywords:
        value = evaluator.value(keyword.value, state)
        if keyword.arg is None:
            open_keywords = True
        elif keyword.arg in named or keyword.arg in [a.arg for a in arguments.kwonlyargs]:
            found[keyword.arg] = value
        else:
            extra[keyword.arg] = (evaluator.named(keyword.arg, keyword.value), value)
    if arguments.kwarg is not None:
        found[arguments.kwarg.arg] = UNKNOWN if open_keywords else extra
    for name, default in defaults_of(function.node):
        if name not in found:
            known = default is not None and not open_keywords
            found[name] = evaluator.value(default, state) if known else UNKNOWN
    return found


def defaults_of(node: Definition) -> list[tuple[str, ast.expr | None]]:
    """Every named parameter with its default."""
    arguments = node.args
    named = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    missing: list[ast.expr | None] = [None] * (len(named) - len(arguments.defaults))
    pairs = list(zip(named, [*missing, *arguments.defaults], strict=True))
    only = [a.arg for a in arguments.kwonlyargs]
    return pairs + list(zip(only, arguments.kw_defaults, strict=True))


def lists_given(function: Function, call: ast.Call) -> list[tuple[str, str]]:
    """Parameters that the function only grows, with the caller's name of what it was given."""
    named = [a.arg for a in (*function.node.args.posonlyargs, *function.node.args.args)]
    if named[:1] in (["self"], ["cls"]) and isinstance(call.func, ast.Attribute):
        named = named[1:]
    pairs = [*zip(named, call.args, strict=False)]
    pairs += [(k.arg, k.value) for k in call.keywords if k.arg is not None]
    replaced = {
        name
        for each in ast.walk(function.node)
        if isinstance(each, ast.Assign | ast.AnnAssign)
        for target in (each.targets if isinstance(each, ast.Assign) else [each.target])
        if (name := dotted(target)) is not None
    }
    return [
        (name, theirs)
        for name, node in pairs
        if name not in replaced and (theirs := dotted(node)) is not None
    ]
