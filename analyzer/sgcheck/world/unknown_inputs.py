"""Inputs of a launch that the user does not know, as values under conditions.

Each is one variable in the user's words (`GPU count`, `environment NAME`, `--moe-runner-backend`),
whose values the code of the tree tells apart by its own comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sgcheck.interp.journal import MISSING
from sgcheck.resolve.resolution import Reason
from sgcheck.values.symbols import Choice, Symbol
from sgcheck.values.unknown import ASK, Unknown
from sgcheck.world.open_target import MAX_OPEN_COUNT
from sgcheck.world.stdlib.environment import MaybeUnset
from sgcheck.world.target import TargetSpec

INPUT = Reason("input-unknown")
"""The user can give what is asked for: conditions say what it is."""

KIND = "input"
ARCHITECTURE = "GPU architecture"
CUDA = "CUDA version"
COUNT = "GPU count"


def package_question(name: str) -> str:
    """The variable of a package's presence."""
    return f"package {name} is installed"


def environment_name(name: str) -> str:
    """The variable of an environment variable."""
    return f"environment {name}"


def one_of(name: str, values: Iterable[Any]) -> Any:
    """The input `name`, which has one of finitely many values."""
    space = getattr(ASK[-1], "space", None)
    if space is None:
        return Unknown(INPUT, name)
    known = tuple(values)
    variable = space.variable(name, known, None, KIND)
    return Choice(tuple((space.among(variable, [value]), value) for value in known), name)


class _NotThere:
    """The value of an input that the user may have left out."""

    __slots__ = ("_words",)

    def __init__(self, words: str) -> None:
        self._words = words

    def __repr__(self) -> str:
        return self._words


UNSET = _NotThere("unset")
LEFT_OUT = _NotThere("left out")


def environment(name: str) -> Any:
    """The environment variable `name`: any text, or not set (`MISSING` inside)."""
    label = environment_name(name)
    space = getattr(ASK[-1], "space", None)
    if space is None:
        return MaybeUnset(INPUT, label)
    variable = space.variable(label, None, None, KIND)
    unset = space.among(variable, [UNSET])
    return Choice(((unset, MISSING), (space.negate(unset), Symbol(variable, INPUT, (str,)))), label)


def flag_value(
    flag: str, default: Any, choices: Iterable[Any] | None, types: tuple[type, ...]
) -> Any:
    """The value of a flag: one of `choices`, or any of `types` (empty: of whatever type).

    The flag may be left out; then it has its default.
    """
    space = ASK[-1].space  # type: ignore[attr-defined]
    if choices is None:
        variable = space.variable(flag, None, None, KIND)
        variable.extra["types"] = types
        left_out = space.among(variable, [LEFT_OUT])
        given = Symbol(variable, INPUT, types)
        return Choice(((left_out, default), (space.negate(left_out), given)), flag)
    known = list(dict.fromkeys(choices))
    values = [(value, value) for value in known]
    if default not in known:
        values.append((LEFT_OUT, default))
    variable = space.variable(flag, [key for key, _ in values], None, KIND)
    variable.extra["default"] = default
    return ASK[-1].choice(  # type: ignore[attr-defined]
        [(space.among(variable, [key]), value) for key, value in values]
    )


def switch(flag: str, given: Any, default: Any) -> Any:
    """The value of a flag without a word behind it, which may be given or left out."""
    space = ASK[-1].space  # type: ignore[attr-defined]
    variable = space.variable(flag, (True, False), None, "flag")
    yes = space.among(variable, [True])
    return ASK[-1].choice(  # type: ignore[attr-defined]
        [(yes, given), (space.negate(yes), default)]
    )


def gpu_count(target: TargetSpec) -> Any:
    """The number of GPUs: a number, or every one that it may be."""
    if target.count is None and "count" in target.unknown:
        return one_of(COUNT, range(1, MAX_OPEN_COUNT + 1))
    return target.count
