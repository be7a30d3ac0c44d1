"""Where everything is known the interpreter is Python: the same value, or the same error from the same line."""

from __future__ import annotations

import copy
import re
import sys
import types
import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from interp_lab import MODULE, PATH, Failed, machine_of, running, tree_of
from interp_programs import programs, values

from sgcheck.interp.explore import Explorer
from sgcheck.interp.opaque import OpaqueOperations
from sgcheck.resolve.run import failure_of
from sgcheck.values.signals import EngineSignal, LimitReached

MOST_STEPS = 200_000


def shown(value: Any, depth: int = 5) -> Any:
    """A value as both ways of running must agree on it."""
    if depth == 0:
        return "…"
    if isinstance(value, dict):
        items = [(shown(k, depth - 1), shown(v, depth - 1)) for k, v in value.items()]
        return (type(value).__name__, items)
    if isinstance(value, list | tuple):
        return (type(value).__name__, [shown(v, depth - 1) for v in value])
    if isinstance(value, set | frozenset):
        return (type(value).__name__, sorted(map(repr, (shown(v, depth - 1) for v in value))))
    if isinstance(value, str | int | float | bytes | bool | range | type(None)):
        return (type(value).__name__, repr(value))
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__)
    if isinstance(value, type):
        return ("type", value.__name__)
    own = getattr(value, "__dict__", None)
    inner = {k: shown(v, depth - 1) for k, v in own.items()} if isinstance(own, dict) else None
    kind = "function" if callable(value) else type(value).__name__
    return (kind, inner if kind != "function" else None)


def line_of(error: BaseException, file: str) -> int | None:
    """The innermost line of the module on an exception's way."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


class Budget(BaseException):
    """Too many lines for a test."""


def in_python(source: str, arguments: tuple[Any, ...]) -> Any:
    """What plain CPython makes of it."""
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    left = [20_000]

    def watch(frame: Any, event: str, arg: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise Budget
        return watch

    try:
        exec(compile(source, PATH, "exec"), module.__dict__)
        run = module.__dict__["run"]
        module.__dict__["print"] = lambda *a, **k: None
        sys.settrace(watch)
        try:
            value = run(*copy.deepcopy(arguments))
        finally:
            sys.settrace(None)
        return shown(value), shown(module.__dict__["LOG"]), shown(module.__dict__["COUNT"])
    except Exception as error:
        return Failed(type(error).__name__, line_of(error, PATH), ""), shown(module.__dict__["LOG"])
    finally:
        del sys.modules[MODULE]


def in_the_interpreter(source: str, arguments: tuple[Any, ...], *, branching: bool) -> Any:
    """What the interpreter makes of it."""
    machine = machine_of(tree_of(source.encode()), branching=branching)
    interpreter = machine.interpreter
    operations = Explorer(lambda error: None) if branching else OpaqueOperations()
    with running(interpreter, operations, steps=MOST_STEPS):
        module = interpreter.module(MODULE)
        with interpreter.session():
            try:
                if isinstance(operations, Explorer):
                    ends = operations.run(lambda: explored(operations, module, arguments))
                    assert len(ends) == 1, (ends, operations.losses)
                    return ends[0][1]
                return report(module.run(*copy.deepcopy(arguments)), module)
            except Exception as error:
                return (
                    Failed(type(error).__name__, line_of(error, PATH), ""),
                    shown(module.LOG),
                )


def explored(operations: Explorer, module: Any, arguments: tuple[Any, ...]) -> Any:
    """One path of the exploration: there is no other where everything is known."""
    try:
        return report(operations.region(module.run, copy.deepcopy(arguments), {}), module)
    except Exception as error:
        return Failed(failure_of(error).type, line_of(error, PATH), ""), shown(module.LOG)


def report(value: Any, module: Any) -> Any:
    return shown(value), shown(module.LOG), shown(module.COUNT)


@pytest.mark.parametrize("branching", [False, True], ids=["once", "branching"])
@settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.data_too_large,
    ],
)
@given(source=programs(), arguments=st.tuples(values, values, values))
def test_a_generated_function(branching: bool, source: str, arguments: tuple[Any, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, PATH, "exec")
        except SyntaxError:
            assume(False)
        try:
            expected = in_python(source, arguments)
        except Budget:
            assume(False)
        try:
            found = in_the_interpreter(source, arguments, branching=branching)
        except LimitReached:
            assume(False)
        except EngineSignal as signal:
            raise AssertionError(f"{signal!r} in\n{source.partition('def run')[2]}") from signal
    if plain(found) != plain(expected) and two_errors_at_once(found, expected):
        assume(False)
    assert plain(found) == plain(expected), source.partition("def run")[2]


def plain(outcome: Any) -> str:
    """An outcome as text, without what is by chance: the addresses in texts of objects.

    Code of the tree that asks for the class of an unbound name's error sees its base.
    """
    text = repr(outcome).replace("UnboundLocalError", "NameError")
    return re.sub(r" at 0x[0-9a-f]+", " at 0x", text)


def two_errors_at_once(found: Any, expected: Any) -> bool:
    """`missing.method(unbound)`: Python finds the missing method first, the interpreter the unbound name."""
    unbound = ("UnboundLocalError", "NameError")
    text = str(found), str(expected)
    return any(word in text[0] for word in unbound) and "AttributeError" in text[1]
