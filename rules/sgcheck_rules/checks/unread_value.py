"""Parts of a launch that are known only at run time.

## What it finds

Flags whose value comes from a variable that the file does not set, and words that may hold any flags.

## Why it matters

Nothing is guessed: such flags are left out of the prediction, and what depends on them is not reported. This
note says what was left out.

## What to do

Nothing, or a default in the file (`${TP:-8}`), which then is what is checked.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.command import shown
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck_rules.checks.support import one_line

META = Meta(
    "unread-value",
    "A value is known only at run time",
    "note",
    "proved",
    needs_resolution=False,
    of_release=False,
)

BAD = (
    Example(
        "serve.sh",
        "sglang serve --model-path Qwen/Qwen3-8B «--tp $GPUS»\n",
        expect=("--tp",),
    ),
)

GOOD = (Example("serve.sh", "sglang serve --model-path Qwen/Qwen3-8B --tp ${GPUS:-2}\n"),)


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per launch, at its first open part."""
    parts = [(use.span, use.written) for use in subject.command.unread]
    parts += [(word.span, shown(word)) for word in subject.command.open]
    if not parts:
        return
    parts.sort(key=lambda part: part[0])
    texts = [one_line(text, 60) for _, text in parts]
    more = len(texts) - 4
    listed = ", ".join(texts[:4]) + (f" and {more} more" if more > 0 else "")
    yield find.finding(
        f"known only at run time and left out of the check: {listed}",
        at=parts[0][0],
        key=tuple(sorted(texts)),
        related=[(span, "left out") for span, _ in parts[1:5]],
    )
