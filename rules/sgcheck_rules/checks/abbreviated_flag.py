"""A flag that is written as the beginning of its name.

## What it finds

Spellings such as `--mem-frac` that the parser accepts because only one of its flags begins so. The rule is
off unless it is selected (`--select abbreviated-flag --notes`).

## Why it matters

The next release may have a second flag with the same beginning: then the parser refuses the abbreviation, or
it means something else.

## What to do

Write the whole name.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding, Fix
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck_rules.checks.support import release

META = Meta(
    "abbreviated-flag",
    "A flag is written in short",
    "note",
    "proved",
    needs_resolution=False,
    default=False,
)

BAD = (
    Example(
        "serve.sh",
        "sglang serve --model-path Qwen/Qwen3-8B «--mem-frac» 0.77\n",
        expect=("--mem-fraction-static",),
    ),
)

GOOD = (
    Example("serve.sh", "sglang serve --model-path Qwen/Qwen3-8B --mem-fraction-static 0.77\n"),
)


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per abbreviated use."""
    for use in subject.command.uses:
        if use.match != "abbreviated":
            continue
        full = use.names[0]
        yield find.finding(
            f"{use.spelling} is short for {full}, which holds only as long as {release(subject)}"
            " has no other flag that begins so",
            at=use.word.span if not use.inline else use.span,
            key=(use.spelling,),
            tip=f"write {full}",
            fix=Fix("flag", use.word.span, use.spelling, full),
        )
