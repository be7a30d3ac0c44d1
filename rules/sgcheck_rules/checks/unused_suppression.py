"""A comment or an entry that suppresses nothing.

## What it finds

`# sgcheck: ignore[…]` comments whose line has no such finding, comments without a rule or without a reason,
rules that do not exist, and entries of a baseline file that no finding matches any more.

## Why it matters

A suppression that outlives its cause hides the next fault at the same place.

## What to do

Remove it, or give its rule and its reason: `# sgcheck: ignore[start-failure] our image has a patched kernel`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject

META = Meta(
    "unused-suppression",
    "A suppression has no effect",
    "warning",
    "proved",
    needs_resolution=False,
    of_release=False,
)

BAD = (
    Example(
        "serve.sh",
        "«# sgcheck: ignore[start-failure] was needed on the old machine»\n"
        "sglang serve --model-path Qwen/Qwen3-8B\n",
        expect=("suppresses nothing",),
    ),
)

GOOD = (
    Example(
        "serve.sh",
        "# sgcheck: ignore[repeated-flag] the last one counts\n"
        "sglang serve --model-path Qwen/Qwen3-8B --tp-size 1 --tp-size 2\n",
    ),
)


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """Nothing: it is known only after all other rules have run (`sgcheck.findings.suppression`)."""
    yield from ()
