"""Prefill and decode of one deployment that do not agree.

## What it finds

Values that both roles of a disaggregated deployment must share, because one writes the cache that the other
reads: the type of the KV cache, the page size, the transfer backend, speculation. The values in force are
compared, also where a role leaves them to SGLang.

## Why it matters

Each role starts. The first request that moves from one to the other fails, or gives wrong text.

## What to do

Give both roles the same value.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck.report.document import same_value
from sgcheck.report.wording import effective_steps
from sgcheck_rules.checks.support import mode_of, shown

META = Meta("role-disagreement", "Prefill and decode do not agree", "warning", "likely")

_COMPOSE = """\
services:
  prefill:
    image: lmsysorg/sglang:v0.5.9
    command: >
      python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B
      --disaggregation-mode prefill --kv-cache-dtype fp8_e4m3
  decode:
    image: lmsysorg/sglang:v0.5.9
    command: >
      python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B
      --disaggregation-mode decode {flags}
"""

BAD = (
    Example(
        "compose.yaml",
        _COMPOSE.format(flags="«--kv-cache-dtype bfloat16»"),
        sglang="0.5.9",
        expect=("kv_cache_dtype",),
    ),
)

GOOD = (
    Example("compose.yaml", _COMPOSE.format(flags="--kv-cache-dtype fp8_e4m3"), sglang="0.5.9"),
)

SHARED = ("kv_cache_dtype", "page_size", "disaggregation_transfer_backend", "speculative_algorithm")


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per value, at the role that comes later in the file."""
    mode = mode_of(subject)
    if mode is None or subject.resolution is None:
        return
    other = next((s for s in reversed(subject.siblings) if mode_of(s) not in (None, mode)), None)
    if other is None or other.resolution is None:
        return
    for name in SHARED:
        ours, theirs = subject.field(name), other.field(name)
        if ours is None or theirs is None:
            yield from _written(subject, other, name, find)
            continue
        if ours.status != "decided" or theirs.status != "decided":
            continue
        if same_value(ours.value, theirs.value) or not (subject.complete and other.complete):
            continue
        yield find.finding(
            f"{name} is {shown(ours.value)} in {mode} and {shown(theirs.value)} in {mode_of(other)}",
            at=subject.span_of(name),
            key=(name, shown(ours.value), shown(theirs.value)),
            severity="note" if name == "speculative_algorithm" else "warning",
            related=[(other.span_of(name), f"{mode_of(other)}: {shown(theirs.value)}")],
            because=[find.step(step) for step in effective_steps(ours) if step.file is not None],
        )


def _written(
    subject: Subject, other: Subject, name: str, find: FindingBuilder
) -> Iterator[Finding]:
    """Flags that differ as they are written, where nothing is known of the values in force."""
    ours, theirs = subject.use_of(name), other.use_of(name)
    if ours is None or theirs is None or ours.value is None or theirs.value is None:
        return
    if not (ours.known and theirs.known) or ours.value == theirs.value:
        return
    mode, their_mode = mode_of(subject), mode_of(other)
    yield find.finding(
        f"{ours.written} in {mode}, and {theirs.written} in {their_mode}",
        at=ours.span,
        key=(name, ours.value, theirs.value),
        severity="note" if name == "speculative_algorithm" else "warning",
        related=[(theirs.span, f"{their_mode}: {theirs.written}")],
    )
