"""Small invented trees with an entry like SGLang's, and what one launch of them resolves to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import dedent, indent
from typing import Any

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import Resolution
from sgcheck.source import Tree, memory_tree
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import target_from_case

METADATA = """\
Metadata-Version: 2.1
Name: sglang
Version: 0.0.0
Requires-Dist: torch==2.9.1
Requires-Dist: transformers==4.57.1
Requires-Dist: sgl-kernel==0.3.21
Requires-Dist: nvidia-ml-py
"""

CASE: dict[str, Any] = {
    "arch": "sm120",
    "gpu": {"name": "NVIDIA RTX PRO 6000", "memory_mib": 97887, "count": 8},
    "cuda": "13.0",
}

_ENTRY = """\
import argparse
import dataclasses
import logging
import torch

{head}

logger = logging.getLogger(__name__)


@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    answer: object = None
    other: object = None

    def resolve_once(self):
{body}


def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--model-path", default="")
    parser.add_argument("--answer", default=None)
    return ServerArgs(**vars(parser.parse_args(argv)))
"""


def tree_of(body: str, head: str = "", files: Mapping[str, str] | None = None) -> Tree:
    """A tree whose resolution runs `body` (the record is `self`, its field `answer` free)."""
    entry = _ENTRY.format(head=dedent(head), body=indent(dedent(body), " " * 8))
    content = {"sglang/__init__.py": "", "sglang/srt/__init__.py": ""}
    content["sglang/srt/server_args.py"] = entry
    content.update({f"sglang/{path}": dedent(text) for path, text in (files or {}).items()})
    return memory_tree({p: t.encode() for p, t in content.items()}, metadata=METADATA)


def resolve(
    body: str,
    head: str = "",
    files: Mapping[str, str] | None = None,
    *,
    env: Mapping[str, str | None] | None = None,
    eager: bool = False,
    packages: Mapping[str, str | bool] | None = None,
    argv: Sequence[str] = (),
    given: Mapping[str, bytes] | None = None,
    explore: bool = False,
    case: Mapping[str, Any] = CASE,
) -> Resolution:
    """One launch of such a tree; `given` are files that its arguments name."""
    tree = tree_of(body, head, files)
    predictor = Predictor(tree, eager=eager, packages=packages)
    launch = Launch(
        tuple(argv), env or {}, target_from_case(dict(case)), UNKNOWN_MODEL, {}, given or {}
    )
    return predictor.check(launch, explore=explore)


def answer(body: str, head: str = "", files: Mapping[str, str] | None = None, **how: Any) -> Any:
    """The decided value of the field `answer` after resolution."""
    result = resolve(body, head, files, **how)
    assert result.outcome.status == "ok", result.outcome
    field = result.fields["answer"]
    assert field.status == "decided", field.reason
    return field.value
