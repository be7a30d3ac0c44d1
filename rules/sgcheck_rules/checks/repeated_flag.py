"""A flag that is given more than once.

## What it finds

Two uses of one flag, also under two of its spellings (`--tp` and `--tensor-parallel-size`). Flags that
collect several values are left out, and so is a key of a `--config` file that the command line overrides:
that is what the file is for.

## Why it matters

Only the last one counts, without any warning. A change to the first has no effect.

## What to do

Remove the uses that do not count.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.command import Use
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject

META = Meta(
    "repeated-flag",
    "A flag is given more than once",
    "warning",
    "proved",
    needs_resolution=False,
    of_release=False,
)

BAD = (
    Example(
        "serve.sh",
        """\
sglang serve --model-path Qwen/Qwen3-8B «--chunked-prefill-size 4096» --port 30000 \\
  --chunked-prefill-size 2048
""",
        expect=("has no effect",),
    ),
    Example(
        "serve.sh",
        "sglang serve --model-path Qwen/Qwen3-8B «--tp 2» --tensor-parallel-size 4\n",
        expect=("--tensor-parallel-size 4",),
    ),
)

GOOD = (
    Example(
        "serve.sh",
        "sglang serve --model-path Qwen/Qwen3-8B --tp 2 --chunked-prefill-size 2048\n",
    ),
)


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per use that another one replaces."""
    groups: dict[str, list[Use]] = {}
    for use in subject.command.uses:
        if use.flag is not None and not use.flag.repeatable:
            groups.setdefault(use.flag.dest if use.flag.most else use.flag.name, []).append(use)
    config = subject.launch.config
    entries = config.entries if config is not None else ()
    configured = {id(word) for entry in entries for word in entry.words}
    for uses in groups.values():
        last = uses[-1]
        for use in uses[:-1]:
            if id(use.word) in configured and id(last.word) not in configured:
                continue
            if use.flag != last.flag and _is_other_meaning(use, last):
                continue
            same = [v.text for v in use.values] == [v.text for v in last.values]
            effect = "is given again" if same and use.known else "has no effect"
            yield find.finding(
                f"{use.written} {effect}: {last.written} comes later",
                at=use.span,
                key=(use.name, use.written, last.written),
                severity="note" if same and use.known else "warning",
                related=[(last.span, "this one counts")],
            )


def _is_other_meaning(first: Use, second: Use) -> bool:
    """Whether two flags of one field are more than two spellings (`--enable-x` and `--x-mode`)."""
    assert first.flag is not None
    assert second.flag is not None
    return (first.flag.least, first.flag.most) != (second.flag.least, second.flag.most)
