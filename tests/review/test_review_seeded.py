"""Many small edits of two releases: each is seen, and attributed to the edited line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from test_review_release import FLAGS, GROUPS, launch, side

from sgcheck.resolve.resolution import Resolution
from sgcheck.review.comparing import Plan, review
from sgcheck.review.model import ReviewLaunch
from sgcheck.review.pairing import Outlines
from sgcheck.review.sides import Side
from sgcheck.review.watch import watch
from sgcheck.source import SERVER_ARGS, Tree, overlay

pytestmark = pytest.mark.release

_CONSTANT = re.compile(r"""(= |: )("[\w.-]*"|True|False|\d+)(,?)$""")
_PER_KIND = 7
_WANTED = 20


def other(constant: str) -> str:
    if constant in ("True", "False"):
        return str(constant != "True")
    return f'"{constant[1:-1]}x"' if constant.startswith('"') else str(int(constant) + 1)


def edits(side_: Side, each: ReviewLaunch) -> Iterator[tuple[str, str, int, str]]:
    """(kind, file, line from 1, new text of the line) for lines that a launch runs."""
    run = watch(side_.release.predictor, each)
    assert run is not None
    outlines = Outlines(side_.tree)
    seen: set[Any] = set()
    for file, number in run.lines:
        if file != SERVER_ARGS and not file.startswith(GROUPS):
            continue
        key = outlines.find(file, number)
        if key is None or key in seen:
            continue
        seen.add(key)
        function = outlines.function(key)
        line = function.lines[key[2]]
        text = outlines.of(file).source[line.start - 1]
        last = outlines.of(file).source[line.end - 1]
        indent = text[: len(text) - len(text.lstrip())]
        if line.text.startswith("if ") and line.start == line.end and text.rstrip().endswith(":"):
            head = re.match(r"(el)?if (.*):$", text.strip())
            follows = function.lines[key[2] + 1].text if key[2] + 1 < len(function.lines) else ""
            kind = "a raise" if follows.startswith("raise") else "a condition"
            if head is not None:
                yield kind, file, line.start, f"{indent}{head[1] or ''}if not ({head[2]}):"
        elif found := _CONSTANT.search(last):
            changed = last[: found.start(2)] + other(found[2]) + found[3]
            is_field = ": " in line.text.partition("=")[0] and line.depth == 0
            yield ("a default" if is_field else "a value"), file, line.end, changed
        elif line.text.startswith("return ") and line.start == line.end and line.depth > 0:
            yield "a guard", file, line.start, f"{indent}pass"
        elif re.fullmatch(r"self\._handle_\w+\(\)", line.text):
            yield "an order", file, line.start, f"{indent}pass"


def raw(resolution: Resolution) -> Any:
    """What a launch comes to, values only."""
    outcome = resolution.outcome
    error = outcome.error and (outcome.error.type, outcome.error.message)
    return (
        outcome.status,
        error,
        {n: (a.status, repr(a.value)) for n, a in resolution.fields.items()},
    )


def edited(tree: Tree, file: str, line: int, text: str) -> Tree:
    lines = tree.read(file).decode().split("\n")
    lines[line - 1] = text
    return overlay(tree, {file: "\n".join(lines).encode()})


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_small_edits_are_seen_and_attributed(version: str) -> None:
    base = side(version)
    each = launch("sm100", *FLAGS)
    before = raw(base.resolve(each))
    by_kind: dict[str, list[tuple[str, int, str]]] = {}
    for kind, file, line, text in edits(base, each):
        by_kind.setdefault(kind, []).append((file, line, text))
    visible = 0
    kinds: set[str] = set()
    wrong: list[Any] = []
    for kind, places in sorted(by_kind.items()):
        step = max(len(places) // _PER_KIND, 1)
        for file, line, text in places[::step][: _PER_KIND + 1]:
            changed = Side(edited(base.tree, file, line, text))
            resolved = changed.resolve(each)
            if resolved.outcome.status == "unknown" or raw(resolved) == before:
                continue
            visible += 1
            kinds.add(kind)
            found = review(base, changed, [each], ("old", "new"), Plan(jobs=1))
            told = [e for e in found.entries if e.change.category != "log"]
            at = {
                s.place
                for e in told
                for edit in e.edits
                for s in (edit.old, edit.new)
                if s is not None
            }
            if not told or not any(f == file and abs((n or 0) - line) == 0 for f, n in at):
                wrong.append((kind, file, line, text.strip(), sorted(at, key=str)))
    assert wrong == []
    assert visible >= _WANTED
    assert len(kinds) >= 4
