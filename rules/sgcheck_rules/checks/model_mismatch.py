"""Roles of one deployment that name different models or releases.

## What it finds

Prefill and decode, or leader and worker, of one deployment whose model paths or whose SGLang releases differ.

## Why it matters

Nodes of one server hold parts of the same weights, and prefill and decode share one cache: with different
models or releases they fail or give nonsense.

## What to do

Name one model and one image in all roles.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject

META = Meta(
    "model-mismatch",
    "Roles name different models or releases",
    "warning",
    "likely",
    needs_resolution=False,
    of_release=False,
)

_COMPOSE = """\
services:
  prefill:
    image: lmsysorg/sglang:v0.5.9
    command: >
      python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --disaggregation-mode prefill
  decode:
    image: lmsysorg/sglang:v0.5.9
    command: >
      python3 -m sglang.launch_server {model} --disaggregation-mode decode
"""

BAD = (
    Example(
        "compose.yaml",
        _COMPOSE.format(model="«--model-path Qwen/Qwen3-0.6B»"),
        sglang="0.5.9",
        expect=("Qwen/Qwen3-0.6B",),
    ),
)

GOOD = (
    Example("compose.yaml", _COMPOSE.format(model="--model-path Qwen/Qwen3-8B"), sglang="0.5.9"),
)

TOGETHER = (frozenset({"prefill", "decode"}), frozenset({"leader", "worker"}))
MODEL = ("--model-path", "--model")


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """At most one finding about the model and one about the release."""
    other = next((s for s in subject.siblings if _belong(subject, s)), None)
    if other is None:
        return
    ours, theirs = subject.command.last(*MODEL), other.command.last(*MODEL)
    roles = f"{subject.launch.role} and {other.launch.role}"
    here_model = ours.value if ours is not None else None
    there_model = theirs.value if theirs is not None else None
    if ours is not None and theirs is not None and here_model and there_model:
        same = here_model.rstrip("/") == there_model.rstrip("/")
        if not same:
            yield find.finding(
                f"{roles} name different models: {here_model} and {there_model}",
                at=ours.span,
                key=("model", here_model, there_model),
                related=[(theirs.span, f"the model of {other.launch.role}")],
            )
    here, there = subject.launch.version, other.launch.version
    if here is not None and there is not None and here.version != there.version:
        yield find.finding(
            f"{roles} name different releases: SGLang {here.version} and {there.version}",
            at=here.span,
            key=("release", here.version, there.version),
            related=[(there.span, f"the release of {other.launch.role}")],
        )


def _belong(subject: Subject, other: Subject) -> bool:
    pair = {subject.launch.role, other.launch.role}
    return len(pair) == 2 and any(pair <= roles for roles in TOGETHER)
