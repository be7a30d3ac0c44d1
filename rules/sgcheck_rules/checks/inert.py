"""A flag that nothing reads.

## What it finds

Flags that SGLang's parser takes and stores, while no line of the release reads what is stored: left over from a
feature that is gone, or there for old command lines. A field counts as read wherever any line of the release
loads an attribute of its name or holds the name as a text, so the rule errs towards silence.

Flags that are read, but not in this launch: settings of speculation, of LoRA or of a hierarchical cache where
those are off. Two things are asked. Without the flag the launch must resolve to the same in all other
fields and in the environment. And every line outside of resolution that reads the field must be shut off: by a
test around it that this launch's own values make false (`server_args.enable_lora`,
`self.spec_algorithm.is_none()`), or because nothing that can run mentions the function or class it stands in,
which is asked of the callers in turn. Functions count as called wherever their name stands, on whatever object.

What cannot be told so is taken as read, and nothing is said: a field with many readers, a test on something
else than fields, a value that the running server changes, a function that a decorator or a table hands on. A
flag that is read only to be shown or reported counts as read. A value that is the default, or that SGLang
overwrites, is not looked at. The scheduler and the model runner are not run here; that is why this is called
likely, not proved. A deprecated flag has its own rule.

## Why it matters

The launch starts, and the setting that somebody relied on does nothing.

## What to do

Remove the flag, or turn on what it belongs to; look for what took a missing feature's place.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.command import Use
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck.report.document import same_value
from sgcheck.resolve.resolution import FieldAnswer, Resolution
from sgcheck_rules.checks.support import one_line, release, same_end

RESOLUTION = ("sglang/srt/server_args.py", "sglang/srt/arg_groups/")

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
    Example(
        "serve.sh",
        """\
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B «--max-lora-rank 64»
""",
        sglang="0.5.9",
        expect=("enable_lora",),
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
    Example(
        "serve.sh",
        """\
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --enable-lora \\
  --max-lora-rank 64 --lora-target-modules q_proj
""",
        sglang="0.5.9",
    ),
)


MOST_TESTS = 2


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
        elif use.known and (found := _in_this_launch(subject, find, dest, use)) is not None:
            yield found


def _in_this_launch(subject: Subject, find: FindingBuilder, dest: str, use: Use) -> Finding | None:
    """The finding about a field that is read, but not here."""
    answer = subject.field(dest)
    here = subject.resolution
    if answer is None or here is None or here.outcome.status != "ok" or subject.launch.config:
        return None
    if (
        answer.status != "decided"
        or not answer.user_set
        or same_value(answer.value, answer.default)
    ):
        return None
    if not same_value(answer.value, answer.user_value):
        return None  # overwritten, which another rule says
    tests = subject.why_unread(dest)
    if tests is None or subject.leans_on_unread(dest, *(test.text for test in tests)):
        return None
    there = subject.what_if(subject.command.without(dest).prediction_argv())
    if there is None or not _same_but_for(here, there, dest):
        return None
    outside = [test for test in tests if not test.file.startswith(RESOLUTION)] or list(tests)
    texts = list(dict.fromkeys(one_line(test.text, 80) for test in outside))
    why = " or ".join(f"`{text}`" for text in texts[:MOST_TESTS])
    more = " or …" if len(texts) > MOST_TESTS else ""
    return find.finding(
        f"nothing reads {dest} in this launch of {release(subject)}"
        + (f": only where {why}{more} holds is it read" if why else ""),
        at=use.span,
        key=(use.name, "in this launch"),
        because=[find.line(test.file, test.line) for test in outside[:MOST_TESTS]],
        tip=f"remove {use.name}, or give what it needs",
    )


def _same_but_for(here: Resolution, there: Resolution, dest: str) -> bool:
    """Whether two launches resolve to the same in all but one field."""
    if not same_end(here.outcome, there.outcome) or dict(here.env_after) != dict(there.env_after):
        return False
    return all(
        name in there.fields and _same(answer, there.fields[name])
        for name, answer in here.fields.items()
        if name != dest
    )


def _same(one: FieldAnswer, other: FieldAnswer) -> bool:
    if one.status != other.status or one.cases != other.cases:
        return False
    return same_value(one.value, other.value)
