"""Reviews of releases: known upgrades, many small edits of two releases, and the time it takes."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.resolution import FieldAnswer, Resolution
from sgcheck.review.comparing import Plan, review
from sgcheck.review.launches import built_in
from sgcheck.review.model import Entry, Review, ReviewLaunch
from sgcheck.review.pairing import Outlines
from sgcheck.review.sides import Side
from sgcheck.review.watch import watch
from sgcheck.source import SERVER_ARGS, Tree, open_tree, overlay
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import resolve_target

pytestmark = pytest.mark.release

GROUPS = "sglang/srt/arg_groups/"
FLAGS = ("--tp-size", "8", "--speculative-algorithm", "EAGLE", "--quantization", "modelopt_fp4")


@cache
def side(version: str) -> Side:
    return Side(open_tree(version), version)


def launch(arch: str, *flags: str, model: str = "deepseek-r1-0528-nvfp4") -> ReviewLaunch:
    return ReviewLaunch(arch, Launch(flags, {}, resolve_target(arch, None, 8), load_model(model)))


def between(old: str, new: str, *launches: ReviewLaunch, watched: int = 0) -> Review:
    plan = Plan(jobs=1, watched=watched)
    return review(side(old), side(new), launches, (old, new), plan)


def entry_of(found: Review, subject: str) -> Entry:
    (entry,) = [e for e in found.entries if e.change.subject == subject]
    return entry


def value(side_: Any) -> Any:
    assert isinstance(side_, FieldAnswer)
    assert side_.status == "decided"
    return side_.value


def test_the_draft_of_an_nvfp4_checkpoint() -> None:
    """The branch that chose triton is for HIP only since; the draft follows the main model."""
    entry = entry_of(
        between("0.5.9", "0.5.23", launch("sm100", *FLAGS)), "speculative_moe_runner_backend"
    )
    assert entry.change.category == "backend"
    assert entry.change.roles == ("draft.moe_runner",)
    assert value(entry.change.old) == "triton"
    assert value(entry.change.new) == "flashinfer_trtllm"
    (old,), (new,) = entry.change.old_sites, entry.change.new_sites
    assert old.text == "self.speculative_moe_runner_backend = 'triton'"
    assert (old.file, old.url is not None, new.url is not None) == (SERVER_ARGS, True, True)
    assert entry.old_now is not None
    assert "'triton'" in (entry.old_now.site.text or "")
    assert any("hip" in condition for condition in entry.old_now.added)


@pytest.mark.parametrize("arch", ["sm100", "sm120"])
def test_fp4_gemm_auto(arch: str) -> None:
    entry = entry_of(
        between("0.5.9", "0.5.23", launch(arch, *FLAGS[:2])), "fp4_gemm_runner_backend"
    )
    assert entry.change.category == "backend"
    assert (value(entry.change.old), value(entry.change.new)) == ("flashinfer_cutlass", "auto")


# -- many small edits --------------------------------------------------------------------

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


def test_a_hundred_launches_take_little_time() -> None:
    """Bounded in processor time, which other work on the machine does not change."""
    some = built_in(["sm90", "sm100", "sm120"])[::3][:100]
    assert len(some) == 100
    between("0.5.22", "0.5.23", *some[:1])  # whatever has to be translated is, and is kept
    start = resource.getrusage(resource.RUSAGE_SELF)
    found = between("0.5.22", "0.5.23", *some, watched=24)
    end = resource.getrusage(resource.RUSAGE_SELF)
    assert len(found.launches) == 100
    assert end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime <= 50
