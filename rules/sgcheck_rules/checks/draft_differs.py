"""The speculative draft runs on another backend than the main model.

## What it finds

Launches with speculative decoding in which the draft's MoE runner or attention backend is decided, differs
from the main model's, and is not set by a flag of its own.

## Why it matters

Draft weights are often not quantized like the main ones, and their kernels fail or give other numbers on
their own. Whoever looks for a fault in the main model's backend looks in the wrong place.

## What to do

Nothing if it is meant. Otherwise set `--speculative-moe-runner-backend` or
`--speculative-draft-attention-backend`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck.report.document import same_value
from sgcheck.report.wording import effective_steps
from sgcheck_rules.checks.support import release, shown

META = Meta("draft-differs", "The draft has another backend than the main model", "note", "proved")

BAD = (
    Example(
        "serve.sh",
        """\
python3 -m sglang.launch_server --model-path nvidia/DeepSeek-R1-0528-NVFP4 --tp 8 \\
  --quantization modelopt_fp4 «--speculative-algorithm EAGLE»
""",
        sglang="0.5.9",
        gpu="b200",
        expect=("the draft's MoE runner is",),
    ),
)

GOOD = (
    Example(
        "serve.sh",
        """\
python3 -m sglang.launch_server --model-path nvidia/DeepSeek-R1-0528-NVFP4 --tp 8 \\
  --quantization modelopt_fp4 --speculative-algorithm EAGLE \\
  --speculative-moe-runner-backend triton
""",
        sglang="0.5.9",
        gpu="b200",
    ),
)

PAIRS = (
    ("MoE runner", "moe_runner", "moe_runner"),
    ("attention backend", "attention", "attention_decode"),
)


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per kind of backend."""
    resolution = subject.resolution
    if resolution is None or resolution.outcome.status != "ok":
        return
    draft, main = resolution.effective.get("draft", {}), resolution.effective.get("main", {})
    for words, of_draft, of_main in PAIRS:
        ours, theirs = draft.get(of_draft), main.get(of_main)
        if ours is None or theirs is None or ours.user_set or ours.name == theirs.name:
            continue
        if ours.status != "decided" or theirs.status != "decided":
            continue
        if ours.value is None or same_value(ours.value, theirs.value):
            continue
        yield find.finding(
            f"in {release(subject)} on {subject.arch} the draft's {words} is {shown(ours.value)},"
            f" the main model's {shown(theirs.value)}",
            at=subject.span_of("speculative_algorithm"),
            key=(of_draft, shown(ours.value), shown(theirs.value)),
            confidence="proved" if subject.complete else "likely",
            because=[find.step(step) for step in effective_steps(ours) if step.file is not None],
        )
