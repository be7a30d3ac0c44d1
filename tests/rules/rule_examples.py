"""Running a rule's examples: the marked spans, and the findings that a scan of the file gives."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sgcheck.findings.checking import Checker
from sgcheck.findings.model import Finding
from sgcheck.findings.resolving import Releases
from sgcheck.findings.rule import Example, Rule
from sgcheck.findings.settle import From, Wish
from sgcheck.findings.suppression import Silence, suppress
from sgcheck.resolve.predict import Depth
from sgcheck.scan import read_launches
from sgcheck_rules.registry import rules

Mark = tuple[int, int, int, int]


@cache
def releases(depth: Depth = "arguments") -> Releases:
    """One set of releases for all launches of a depth."""
    return Releases(depth=depth)


def marks(example: Example) -> list[Mark]:
    """Line, column, end line and end column of each marked span, in order."""
    found: list[Mark] = []
    line, column = 1, 1
    start = (0, 0)
    for char in example.text:
        if char == "«":
            start = (line, column)
        elif char == "»":
            found.append((*start, line, column))
        elif char == "\n":
            line, column = line + 1, 1
        else:
            column += 1
    return found


def findings_of(example: Example, chosen: Sequence[Rule] | None = None) -> list[Finding]:
    """All findings in an example's file, with everything but the chosen rules left out."""
    reading = read_launches(example.plain, example.file)
    assert reading.launches, f"no launch in {example.file}: {reading.skipped}"
    wish = Wish(sglang=example.sglang, gpu=example.gpu, model=example.model)
    layers: Sequence[tuple[From, Wish]] = (("option", wish),)
    checker = Checker(chosen or rules(), releases("kernels"), lambda _: layers)
    checked = checker.check(reading.launches)
    ids = {rule.meta.id for rule in rules()}
    ran = {rule.meta.id for rule in chosen or rules()}
    silence = Silence({example.file: reading.suppressions}, lambda _: (), None, ids, ran)
    found = [finding for each in checked for finding in each.findings]
    return list(suppress(found, reading.launches, silence).findings)


def findings_of_launch(entry: Mapping[str, Any], depth: Depth = "arguments") -> tuple[Finding, ...]:
    """The findings of one recorded launch: its `env` and `argv`, with its `sglang` and `gpu`."""
    words = [f"{name}={shlex.quote(value)}" for name, value in entry["env"].items()]
    words += ["python3 -m sglang.launch_server", *map(shlex.quote, entry["argv"])]
    (launch,) = read_launches(" ".join(words) + "\n", "launch.sh").launches
    wish = Wish(sglang=entry["sglang"], gpu=entry["gpu"])
    (checked,) = Checker(rules(), releases(depth), lambda _: (("option", wish),)).check([launch])
    return checked.findings


def place_of(finding: Finding) -> Mark:
    """A finding's primary span in the form of `marks`."""
    place = finding.place
    return (place.line, place.column, place.end_line, place.end_column)
