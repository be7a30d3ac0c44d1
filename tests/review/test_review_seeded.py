"""Many small edits of two releases: each is seen, and attributed to the edited line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from test_review_release import FLAGS, GROUPS, launch, side

from sgcheck.resolve.resolution import Resolution
from sgcheck.review.comparing import Plan, review
from sgcheck.review.model import Review, ReviewLaunch, field_name
from sgcheck.review.outline import Line
from sgcheck.review.pairing import Outlines
from sgcheck.review.sides import Side
from sgcheck.review.watch import watch
from sgcheck.source import SERVER_ARGS, overlay

pytestmark = pytest.mark.release

CHOSEN = (
    *("--attention-backend", "trtllm_mla", "--kv-cache-dtype", "fp8_e4m3"),
    *("--moe-runner-backend", "flashinfer_trtllm", "--schedule-policy", "lpm"),
)
PLENTY = 4
"""Visible edits of one kind that are enough."""
TRIED = 12
TRIED_SWAPS = 28
TOGETHER = 4
WANTED = 20
KINDS = {"a choice", "a condition", "a default", "a guard", "a raise", "a value", "an order"}

_CONSTANT = re.compile(r"""(= |: )("[\w.-]*"|True|False|\d+)(,?)$""")
_STEP = re.compile(r"\w+(\.\w+)*\((\w+)?\)|\w+(\.\w+)?,")


@dataclass(frozen=True)
class SmallEdit:
    """New texts of lines of one file; `lines` count from 1."""

    kind: str
    file: str
    lines: tuple[tuple[int, str], ...]

    @property
    def places(self) -> set[tuple[str, int]]:
        """The edited lines; where neighbours change places, what lies between them moves, too."""
        numbers = [line for line, _ in self.lines]
        near = range(min(numbers), max(numbers) + 1) if max(numbers) - min(numbers) < 4 else numbers
        return {(self.file, line) for line in near}


def other(constant: str) -> str:
    if constant in ("True", "False"):
        return str(constant != "True")
    return f'"{constant[1:-1]}x"' if constant.startswith('"') else str(int(constant) + 1)


def edits(side_: Side, each: ReviewLaunch) -> dict[str, list[SmallEdit]]:
    """Edits of lines that a launch runs, by kind."""
    run = watch(side_.release.predictor, each)
    assert run is not None
    outlines = Outlines(side_.tree)
    keys = {
        key
        for file, number in run.lines
        if file == SERVER_ARGS or file.startswith(GROUPS)
        if (key := outlines.find(file, number)) is not None
    }
    found: dict[str, list[SmallEdit]] = defaultdict(list)
    for key in sorted(keys):
        lines = outlines.function(key).lines
        source = outlines.of(key[0]).source
        for kind, changes in of_line(lines, key[2], source):
            found[kind].append(SmallEdit(kind, key[0], changes))
    for place in sorted({key[:2] for key in keys}):
        function = outlines.of(place[0]).functions[place[1]]
        ran = [line for i, line in enumerate(function.lines) if (*place, i) in keys]
        found["an order"] += swaps(place[0], ran, outlines.of(place[0]).source)
    return found


def of_line(
    lines: list[Line], index: int, source: list[str]
) -> Iterator[tuple[str, tuple[tuple[int, str], ...]]]:
    line = lines[index]
    text, last = source[line.start - 1], source[line.end - 1]
    indent = text[: len(text) - len(text.lstrip())]
    one = line.start == line.end
    head = re.match(r"(el)?if (.*):$", text.strip())
    if line.text.startswith("if ") and one and head is not None:
        follows = lines[index + 1].text if index + 1 < len(lines) else ""
        kind = "a raise" if follows.startswith("raise") else "a condition"
        yield kind, ((line.start, f"{indent}{head[1] or ''}if not ({head[2]}):"),)
    elif found := _CONSTANT.search(last):
        changed = last[: found.start(2)] + other(found[2]) + found[3]
        is_field = ": " in line.text.partition("=")[0] and line.depth == 0
        yield ("a default" if is_field else "a value"), ((line.end, changed),)
    elif line.text.startswith("return ") and one and line.depth > 0:
        yield "a guard", ((line.start, f"{indent}pass"),)
    for number in range(line.start, line.end + 1):
        for word in CHOSEN[1::2]:
            if f'"{word}"' in source[number - 1] and "CHOICES" in line.text.upper():
                new = source[number - 1].replace(f'"{word}"', f'"{word}x"')
                yield "a choice", ((number, new),)


def swaps(file: str, ran: list[Line], source: list[str]) -> Iterator[SmallEdit]:
    """Steps of a resolution, one a line, of which two neighbours or two far ones change places."""
    steps = [line for line in ran if line.start == line.end and line.depth < 3]
    steps = [line for line in steps if _STEP.fullmatch(source[line.start - 1].strip())]
    pairs = [*pairwise(steps), *zip(steps, steps[len(steps) // 2 :], strict=False)]
    for one, two in pairs:
        texts = source[one.start - 1], source[two.start - 1]
        indents = {text[: len(text) - len(text.lstrip())] for text in texts}
        if one is not two and one.depth == two.depth and len(indents) == 1:
            yield SmallEdit("an order", file, ((one.start, texts[1]), (two.start, texts[0])))


def edited(base: Side, some: list[SmallEdit]) -> Side:
    lines: dict[str, list[str]] = {}
    for each in some:
        content = lines.setdefault(each.file, base.tree.read(each.file).decode().split("\n"))
        for number, text in each.lines:
            content[number - 1] = text
    files = {file: "\n".join(content).encode() for file, content in lines.items()}
    changed = Side(overlay(base.tree, files))
    changed.borrow_from(base)
    return changed


def ending(resolution: Resolution) -> Any:
    error = resolution.outcome.error
    return resolution.outcome.status, error and (error.type, error.message)


def answers(resolution: Resolution) -> dict[str, Any]:
    return {name: (a.status, repr(a.value)) for name, a in resolution.fields.items()}


def attributed(found: Review, subject: str) -> set[tuple[str | None, int | None]]:
    """The edited lines to which the difference of a field (or of the start) is attributed."""
    return {
        site.place
        for entry in found.entries
        if subject in (entry.change.subject, field_name(entry.change))
        for edit in entry.edits
        for site in (edit.old, edit.new)
        if site is not None
    }


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_small_edits_are_seen_and_attributed(version: str) -> None:
    base = side(version)
    each = launch("sm100", *FLAGS, *CHOSEN)
    before = base.resolve(each)
    assert before.outcome.status == "ok"
    wrong: list[Any] = []
    seen: list[SmallEdit] = []

    def missed(edit: SmallEdit, found: Review, subjects: set[str]) -> dict[str, Any]:
        places = {subject: attributed(found, subject) for subject in subjects}
        return {s: sorted(p, key=str) for s, p in places.items() if edit.places.isdisjoint(p)}

    def reviewed(some: list[SmallEdit]) -> Review:
        return review(base, edited(base, some), [each], ("old", "new"), Plan(jobs=1))

    def judge(edit: SmallEdit, subjects: set[str]) -> None:
        """By itself: there must be no doubt."""
        if missing := missed(edit, reviewed([edit]), subjects):
            wrong.append((edit, missing))

    kept: list[tuple[SmallEdit, dict[str, Any]]] = []
    for kind, candidates in sorted(edits(base, each).items()):
        visible = 0
        tried = TRIED_SWAPS if kind == "an order" else TRIED
        for edit in candidates[:: max(len(candidates) // tried, 1)]:
            if visible == PLENTY:
                break
            after = edited(base, [edit]).resolve(each)
            if after.outcome.status == "unknown":
                continue
            old, new = answers(before), answers(after)
            changed = {name: new[name] for name in new if new[name] != old.get(name)}
            if ending(after) != ending(before):
                judge(edit, {"start"})
            elif changed and all(status == "decided" for status, _ in changed.values()):
                kept.append((edit, changed))
            else:
                continue
            seen.append(edit)
            visible += 1
    groups = -(-len(kept) // TOGETHER)
    found_together = 0
    for group in (kept[at::groups] for at in range(groups)):
        # Several edits at once, of different kinds: most find their own difference even so.
        found = reviewed([edit for edit, _ in group])
        for edit, changed in group:
            others = {name for e, c in group if e is not edit for name in c}
            alone = changed.keys() - others
            if alone and not missed(edit, found, set(alone)):
                found_together += 1
            else:
                judge(edit, set(changed))
    assert not wrong, "\n".join(map(str, wrong))
    assert len(seen) >= WANTED
    assert {edit.kind for edit in seen} == KINDS
    assert found_together > len(kept) / 2
