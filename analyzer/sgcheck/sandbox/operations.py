"""What a worker can be asked to do, by name. Each is a function of a predictor and plain data.

The annotations of a function say how its arguments and its result are read on the other side.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, get_type_hints

OPERATIONS = frozenset(
    {
        "sgcheck.sandbox.checking:check",
        "sgcheck.resolve.flags:read_parser",
        "sgcheck.resolve.footprint:run_footprint",
        "sgcheck.resolve.why:watch_guards",
        "sgcheck.graph.on_target:held",
        "sgcheck.findings.resolving:read_table",
        "sgcheck.review.watch:watch_lines",
    }
)


class Operation(NamedTuple):
    """A function with the types of its arguments (after the predictor) and of its result."""

    run: Callable[..., Any]
    arguments: Any
    result: Any


def name_of(function: Callable[..., Any]) -> str:
    """The name of an operation. Raises ValueError for a function that is none."""
    name = f"{function.__module__}:{function.__qualname__}"
    if name not in OPERATIONS:
        raise ValueError(f"{name} is not among the operations of a worker")
    return name


@cache
def operation(name: str) -> Operation:
    """The operation of a name. Raises ValueError for any other name."""
    if name not in OPERATIONS:
        raise ValueError(f"{name} is not among the operations of a worker")
    module, _, function = name.partition(":")
    run = getattr(importlib.import_module(module), function)
    # The predictor itself is named for readers only.
    wanted = {k: v for k, v in run.__annotations__.items() if k != "predictor"}
    hints = get_type_hints(_Annotated(wanted, vars(importlib.import_module(module))))
    result = hints.pop("return")
    arguments: Any = tuple
    return Operation(run, arguments[tuple(hints.values())], result)


class _Annotated:
    """Annotations without the function, for `get_type_hints`."""

    def __init__(self, annotations: dict[str, Any], space: dict[str, Any]) -> None:
        self.__annotations__ = annotations
        self.__globals__ = space
