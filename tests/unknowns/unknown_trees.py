"""Small trees whose resolution depends on inputs, and the comparison of open with concrete launches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from textwrap import dedent, indent
from typing import Any

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.membership import CaseTable, Truth, case_table, holds, truth_of
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import Resolution
from sgcheck.source import memory_tree
from sgcheck.values.condition import FALSE, Condition, Space
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.open_target import open_target

METADATA = """\
Metadata-Version: 2.1
Name: sglang
Version: 0.0.0
Requires-Dist: torch==2.9.1
Requires-Dist: transformers==4.57.1
Requires-Dist: flashinfer_python==0.6.3
"""

_ENTRY = """\
import argparse
import dataclasses
import os
import torch

{head}


@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    backend: str = "auto"
    kernel: str = None
    level: int = 1
    fast: bool = False
    answer: object = None

    def resolve_once(self):
{body}


def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--model-path", default="")
    parser.add_argument("--backend", choices=["auto", "triton", "cutlass", "broken"], default="auto")
    parser.add_argument("--kernel", choices=["one", "two"], default=None)
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--fast", action="store_true")
    return ServerArgs(**vars(parser.parse_args(argv)))
"""


def predictor(
    body: str, head: str = "", files: Mapping[str, str] | None = None, metadata: str = METADATA
) -> Predictor:
    """The predictor of a tree whose resolution runs `body` (the record is `self`)."""
    entry = _ENTRY.format(head=dedent(head), body=indent(dedent(body), " " * 8))
    content = {"sglang/__init__.py": "", "sglang/srt/__init__.py": ""}
    content["sglang/srt/server_args.py"] = entry
    content.update({f"sglang/{path}": dedent(text) for path, text in (files or {}).items()})
    return Predictor(memory_tree({p: t.encode() for p, t in content.items()}, metadata=metadata))


def launch(
    *argv: str,
    arch: str = "sm120",
    count: Any = None,
    cuda: str | None = None,
    **rest: Any,
) -> Launch:
    """A launch of such a tree."""
    target = open_target(arch, None, count, None, cuda)
    return Launch(("--model-path", "m", *argv), rest.pop("env", {}), target, UNKNOWN_MODEL, **rest)


def is_partition(space: Space, parts: Iterable[Condition], whole: Condition) -> bool:
    """Whether the parts exclude each other and together are the whole."""
    seen = FALSE
    for part in parts:
        if space.both(seen, part) is not FALSE:
            return False
        seen = space.either(seen, part)
    return seen is whole


def check_partitions(table: CaseTable) -> None:
    """Outcomes cover all launches, the cases of each field all that start; none overlaps."""
    assert is_partition(table.space, [c for c, _ in table.outcomes], table.given)
    for name, found in table.fields.items():
        if found.reason is None:
            assert is_partition(table.space, [c for c, _ in found.cases], table.started), name


def agree(tree: Predictor, open_launch: Launch, concrete: Iterable[Launch]) -> CaseTable:
    """The open answer, after every concrete launch was found in exactly the case that is its own."""
    table = case_table(tree, open_launch)
    check_partitions(table)
    for one in concrete:
        lies_in(table, tree.check(one), truth_of(one))
    return table


def lies_in(table: CaseTable, result: Resolution, truth: Truth) -> None:
    """A concrete result is what the one case says whose condition its launch satisfies."""
    mine = [case for condition, case in table.outcomes if holds(condition, truth) is not False]
    assert len(mine) == 1, (truth.values, mine)
    assert mine[0].status == result.outcome.status, (truth.values, result.outcome)
    if result.outcome.error is not None:
        assert mine[0].error is not None
        assert mine[0].error.line == result.outcome.error.line
        assert mine[0].error.type == result.outcome.error.type
    for name, answer in result.fields.items():
        found = table.fields[name]
        if found.reason is not None:
            continue
        values = [value for c, value in found.cases if holds(c, truth) is not False]
        assert values == [answer.value], (name, truth.values, values, answer.value)


def everything(**choices: Iterable[Any]) -> list[dict[str, Any]]:
    """Every combination of the choices."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
