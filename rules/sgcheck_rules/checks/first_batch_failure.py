"""A launch that comes up and fails in a layer as soon as it computes.

## What it finds

SGLang builds the model, and the first batch that goes through one of its layers ends in an error: a method
without a way for the backend that was chosen, an object that is not there on this architecture. Each kind of
layer, of the main model and of the draft, is called once with SGLang's own code over tensors without values.

## Why it matters

The weights are loaded by then, which takes minutes, and the error names no flag. The capture of CUDA graphs or
the warm-up request is what shows it.

## What to do

Set the backend of that layer by its flag to another one. `sgcheck check` with the launch shows what each
layer is made of and which kernel it calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck.report.wording import count
from sgcheck.resolve.resolution import LaunchError, LayerRow
from sgcheck.resolve.started import label, raising
from sgcheck_rules.checks.support import (
    is_whole_start,
    one_line,
    release,
    span_for,
    uses_named,
    uses_of,
)

META = Meta("first-batch-failure", "A layer fails as soon as the model computes", "error", "likely")

BAD = (
    Example(
        "serve.sh",
        """\
«sglang serve --model-path nvidia/Qwen3.5-397B-A17B-NVFP4 --tp 8»
""",
        sglang="0.5.23",
        gpu="rtx-pro-6000",
        expect=("first batch of the main model fails in model.layers.*.mlp.experts",),
    ),
)

GOOD = (
    Example(
        "serve.sh",
        """\
sglang serve --model-path nvidia/Qwen3.5-397B-A17B-NVFP4 --tp 8 --quantization modelopt_fp4
""",
        sglang="0.5.23",
        gpu="rtx-pro-6000",
    ),
)

_FIELDS = {
    ("main", True): ("moe_runner_backend",),
    ("draft", True): ("speculative_moe_runner_backend", "speculative_algorithm"),
    ("draft", False): ("speculative_algorithm",),
}
"""Fields that a layer hangs on, by role and whether it is one of experts."""


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding for each error and role, whatever layers show it."""
    if subject.resolution is None or subject.resolution.outcome.status != "ok":
        return
    found: dict[tuple[str, str, str | None, int | None], tuple[LaunchError, list[LayerRow]]] = {}
    for role, row, error in raising(subject.resolution):
        key = (role, error.type, error.file, error.line)
        found.setdefault(key, (error, []))[1].append(row)
    if found and not is_whole_start(subject):
        return
    for (role, *_), (error, rows) in found.items():
        yield _finding(subject, find, role, error, rows)


def _finding(
    subject: Subject, find: FindingBuilder, role: str, error: LaunchError, rows: list[LayerRow]
) -> Finding:
    experts = any(label(row.kind) == "experts" for row in rows)
    uses = uses_named(subject, (error.message, error.function or ""))
    uses += uses_of(subject, _FIELDS.get((role, experts), ()))
    kinds = list(dict.fromkeys(row.kind for row in rows))
    layers = f"{', '.join(kinds[:3])}{' …' if len(kinds) > 3 else ''}"
    number = count(sum(row.count for row in rows), "layer")
    evidence = find.error(error)
    reason = one_line(error.message) or one_line(evidence.text or "without a message")
    certain = subject.settled.certain and subject.complete
    return find.finding(
        f"{release(subject)} comes up on {subject.arch} and the first batch of the {role} model fails in"
        f" {one_line(layers)} ({number}): {error.type}: {reason}",
        at=span_for(subject, uses),
        key=(role, error.type, error.file or "", error.function or ""),
        severity="error" if certain else "warning",
        related=[(use.span, "takes part in the error") for use in uses[1:4]],
        because=[evidence],
    )
