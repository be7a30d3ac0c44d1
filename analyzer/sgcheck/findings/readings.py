"""The readings of one launch: every machine and every choice of the file that it may run with."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sgcheck.findings.settle import Settled
from sgcheck.scan.model import Launch, Word
from sgcheck.world.target import TargetSpec

MAX_CHOICES = 4
"""A launch with more combinations of choices is read with those words left open."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One machine and one set of words; `condition` tells it from the others, in the file's words."""

    launch: Launch
    target: TargetSpec
    condition: str


def readings(launch: Launch, settled: Settled) -> Iterator[Reading]:
    """The readings, the likeliest first; with an uncertain machine the others only confirm."""
    choices = list(_choices(launch))
    for target in settled.targets:
        where = f"on {target.arch}" if len(settled.targets) > 1 else ""
        for condition, chosen in choices:
            parts = [where, f"when {condition}" if condition else ""]
            yield Reading(chosen, target, " ".join(part for part in parts if part))


def _choices(launch: Launch) -> Iterator[tuple[str, Launch]]:
    """The launch with each combination of its words' choices put in.

    Words whose choices hang on the same conditions choose together.
    """
    launch = replace(launch, argv=tuple(_opened(word) for word in launch.argv))
    groups: dict[tuple[str, ...], None] = {}
    for word in launch.argv:
        if word.text is None and word.choices:
            groups[_conditions(word)] = None
    sizes = [range(len(group)) for group in groups]
    total = 1
    for size in sizes:
        total *= len(size)
    if not groups or total > MAX_CHOICES:
        yield "", launch
        return
    for picked in itertools.product(*sizes):
        chosen = dict(zip(groups, picked, strict=True))
        said = [group[index] for group, index in chosen.items() if group[index]]
        argv = tuple(_put(word, chosen) for word in launch.argv)
        yield " and ".join(said), replace(launch, argv=argv)


def _opened(word: Word) -> Word:
    """A word that may be several, flags among them, holds any words: its choices are no values."""
    if any(choice.text.startswith("-") and " " in choice.text for choice in word.choices):
        return replace(word, choices=(), prefix="", many="any")
    return word


def _put(word: Word, chosen: dict[tuple[str, ...], int]) -> Word:
    if word.text is not None or not word.choices:
        return word
    choice = word.choices[chosen[_conditions(word)]]
    return replace(word, text=choice.text, choices=(), prefix="")


def _conditions(word: Word) -> tuple[str, ...]:
    return tuple(choice.condition for choice in word.choices)
