"""What varies in a matrix: axes, their values, and how a user writes them.

`NAME=V1,V2` names an axis and its values; a comma inside a value is written `\\,`. `all` stands for
every value that is known, `unset` for a flag or variable that is not given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

from sgcheck.errors import UsageError

Kind: TypeAlias = Literal["sglang", "machine", "model", "env", "flag"]

ALL, UNSET, ON, OFF = "all", "unset", "on", "off"
MAX_CELLS = 1_000_000
MACHINE = ("arch", "gpu", "gpu-count", "gpu-memory", "cuda")
"""Axes of the target; each is an option of the same name."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*\Z")
_COMMA = re.compile(r"(?<!\\),")


@dataclass(frozen=True, slots=True)
class Axis:
    """One thing that varies.

    `name` is what JSON calls it: `arch`, `model`, `sglang`, a flag as SGLang spells it, or a
    variable; `title` is short. `values` are as the user would write them, without repeats.
    """

    kind: Kind
    name: str
    title: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """An axis as it was asked for, before `all` is looked up."""

    kind: Kind
    name: str
    title: str
    words: tuple[str, ...]


Point: TypeAlias = tuple[str, ...]
"""One value of each axis."""


def parse_axis(text: str, short_forms: Mapping[str, str]) -> Wanted:
    """`NAME` or `NAME=V1,V2`; without values: all of them. Raises UsageError.

    `short_forms` maps short names to SGLang's flags (`moe` to `--moe-runner-backend`).
    """
    name, equals, values = text.partition("=")
    words = split_values(values, f"--vary {name}") if equals else (ALL,)
    return wanted(name.strip(), words, short_forms)


def wanted(name: str, words: tuple[str, ...], short_forms: Mapping[str, str]) -> Wanted:
    """The axis of a name in any of its spellings. Raises UsageError for an empty one."""
    bare = name.removeprefix("--")
    if not bare:
        raise UsageError("--vary: name what varies, such as --vary arch or --vary moe=triton,auto")
    if bare in MACHINE:
        return Wanted("machine", bare, bare, words)
    if bare in ("model", "sglang"):
        return Wanted(bare, bare, bare, words)  # type: ignore[arg-type]
    variable = bare.removeprefix("env:")
    if variable != bare or _VARIABLE.match(bare):
        return Wanted("env", variable, variable, words)
    flag = short_forms.get(bare, "--" + bare.replace("_", "-"))
    title = {long: short for short, long in short_forms.items()}.get(flag, flag.removeprefix("--"))
    return Wanted("flag", flag, title, words)


def split_values(text: str, where: str) -> tuple[str, ...]:
    """The values between commas. Raises UsageError for an empty place."""
    words = [word.strip().replace("\\,", ",") for word in _COMMA.split(text)]
    if not all(words):
        raise UsageError(f"{where} has an empty place in `{text}`: write it like a,b")
    return tuple(words)


def is_list(text: str) -> bool:
    """Whether the value of an option names several values, so that it is an axis."""
    return text.strip().lower() == ALL or bool(_COMMA.search(text))


def merged(found: Iterable[Wanted]) -> list[Wanted]:
    """One axis per name, the values of repeated ones joined."""
    axes: dict[tuple[str, str], Wanted] = {}
    for each in found:
        key = (each.kind, each.name)
        words = (*axes[key].words, *each.words) if key in axes else each.words
        axes[key] = Wanted(each.kind, each.name, each.title, words)
    return list(axes.values())


def settled(axis: Wanted, known: Callable[[Wanted], Sequence[str]]) -> Axis:
    """The axis with `all` replaced by what `known` gives, in place, without repeats."""
    values: list[str] = []
    for word in axis.words:
        values += known(axis) if word.lower() == ALL else [word]
    return Axis(axis.kind, axis.name, axis.title, tuple(dict.fromkeys(values)))


def check_size(axes: Sequence[Axis]) -> int:
    """The number of cells. Raises UsageError above `MAX_CELLS`, with the size."""
    size = math.prod(len(axis.values) for axis in axes)
    if size > MAX_CELLS:
        factors = " × ".join(f"{len(axis.values):,} {axis.title}" for axis in axes)
        raise UsageError(
            f"this matrix has {size:,} cells ({factors}) and at most {MAX_CELLS:,} are answered: "
            "name fewer values"
        )
    return size


def points(axes: Sequence[Axis]) -> Iterator[Point]:
    """Every combination, the last axis fastest."""
    return product(*(axis.values for axis in axes))
