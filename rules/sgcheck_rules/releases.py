"""When SGLang's releases came out, and which of them other products' images hold (`data/releases.json`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "releases.json"


@dataclass(frozen=True, slots=True)
class Releases:
    """`dates` maps each release, oldest number first, to the day on which PyPI had it.

    `dynamo` maps a release of NVIDIA Dynamo to the SGLang in its runtime image.
    """

    dates: Mapping[str, date]
    dynamo: Mapping[str, str]

    def around(self, day: date) -> tuple[str, ...]:
        """The newest release of a day, the one before it and the first one after it, in this order."""
        ordered = sorted(
            self.dates, key=lambda name: (self.dates[name], list(self.dates).index(name))
        )
        before = [name for name in ordered if self.dates[name] <= day]
        after = [name for name in ordered if self.dates[name] > day]
        return (*before[:-3:-1], *after[:1])

    def in_dynamo(self, tag: str) -> str | None:
        """The SGLang in the image of a Dynamo release (`0.8.0`, `v0.8.0-cuda13`), None for others."""
        parts = tag.removeprefix("v").split("-")
        if any(part.startswith(("dev", "rc", "deepseek", "nightly")) for part in parts[1:]):
            return None  # a preview may hold another one
        return self.dynamo.get(parts[0])


@lru_cache(maxsize=1)
def releases() -> Releases:
    """What is recorded."""
    data = json.loads(_FILE.read_text(encoding="ascii"))
    dates = {name: date.fromisoformat(day) for name, day in data["dates"].items()}
    return Releases(dates, data["dynamo"])
