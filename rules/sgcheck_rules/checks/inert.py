"""A flag that nothing reads.

## What it finds

Flags that SGLang's parser takes and stores, while no line of the release reads what is stored: left over from a
feature that is gone, or there for old command lines. A field counts as read wherever any line of the release
loads an attribute of its name or holds the name as a text, so the rule errs towards silence.

A flag that is read, but not in this launch (a setting of speculation in a launch without it), is not found:
most fields are read by the scheduler and the model runner, which are not run here, and that none of their lines
is reached cannot be proved from the resolution. Nothing is guessed. A deprecated flag has its own rule.

## Why it matters

The launch starts, and the setting that somebody relied on does nothing.

## What to do

Remove the flag, and look for what took the feature's place.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck_rules.checks.support import release

META = Meta("inert", "A flag that nothing reads", "warning", "likely", needs_resolution=False)

BAD = (
    Example(
        "serve.sh",
        """\
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B «--num-continuous-decode-steps 4»
""",
        sglang="0.5.9",
        expect=("no line",),
    ),
)

GOOD = (
    Example(
        "serve.sh",
        """\
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --stream-interval 4
""",
        sglang="0.5.9",
    ),
)


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per field, where its flag is given."""
    flags = [(use.flag, use) for use in subject.command.uses if use.flag is not None]
    given = {flag.dest: use for flag, use in flags if not flag.deprecated}
    if not given:
        return
    unread = subject.unread_fields()
    for dest, use in given.items():
        if dest in unread:
            yield find.finding(
                f"no line of {release(subject)} reads {dest}: {use.name} does nothing",
                at=use.span,
                key=(use.name,),
                tip=f"remove {use.name}",
            )
