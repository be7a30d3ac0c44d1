"""Which measured releases have which flags, choices and environment variables (`data/history.json`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

_FILE = Path(__file__).parent / "data" / "history.json"

Kind: TypeAlias = Literal["flags", "choices", "environment"]


@dataclass(frozen=True, slots=True)
class History:
    """A choice is named `FIELD=VALUE`, where a release takes any value `FIELD=*`.

    `runs` maps a name to the first and last release of each unbroken stretch that has it.

    `successors` maps a flag to the spelling with which a release that has both replaces it.
    """

    releases: tuple[str, ...]
    runs: Mapping[str, Mapping[str, tuple[tuple[int, int], ...]]]
    successors: Mapping[str, str] = field(default_factory=dict)

    def other_names(self, flag: str) -> tuple[str, ...]:
        """The names of one option in other releases: newer ones, then older ones.

        A newer one may be written with its value (`--new=value`).
        """
        newer: list[str] = []
        name: str | None = self.successors.get(flag)
        while name is not None and name not in newer:
            newer.append(name)
            name = self.successors.get(name)
        older = sorted(old for old, new in self.successors.items() if new == flag)
        return (*newer, *older)

    def known_in(self, kind: Kind, name: str) -> str | None:
        """In which measured releases a name is known, in words; None if in none of them."""
        runs = self.runs[kind].get(name)
        if not runs and kind == "choices":
            runs = self.runs[kind].get(name.partition("=")[0] + "=*")
        if not runs:
            return None
        last = len(self.releases) - 1
        return " and ".join(self._run(first, end, last) for first, end in runs)

    def _run(self, first: int, end: int, last: int) -> str:
        names = self.releases
        if first == end:
            return f"in {names[first]}" + (" only" if 0 < first < last else "")
        if end == last:
            return f"from {names[first]} on"
        if first == 0:
            return f"up to {names[end]}"
        return f"from {names[first]} to {names[end]}"


@lru_cache(maxsize=1)
def history() -> History:
    """The history of all measured releases."""
    data = json.loads(_FILE.read_text(encoding="ascii"))
    runs = {
        kind: {name: tuple((a, b) for a, b in rows) for name, rows in data[kind].items()}
        for kind in ("flags", "choices", "environment")
    }
    return History(tuple(data["releases"]), runs, data["successors"])
