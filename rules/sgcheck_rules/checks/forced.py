"""A flag whose value SGLang replaces by another one.

## What it finds

A value that the file gives and that resolution overwrites: a chunk size that the model does not allow, a cache
that a mode turns off, a parallel size that another flag sets. Words for "let SGLang choose" (`auto`) and mere
spellings of the same value are left out.

## Why it matters

The server starts, but not with what the file says. Whoever reads or measures the deployment goes by a value
that is not in force.

## What to do

Write the value that is in force, or change the flag that forces it: the finding names the deciding line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.command import Use, dests
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck.report.document import same_value
from sgcheck.report.wording import effective_steps
from sgcheck.resolve.resolution import Because, JsonValue
from sgcheck_rules.checks.support import SAME_VALUE, one_line, release, shown

META = Meta("forced", "SGLang overwrites a value that the file gives", "warning", "proved")

BAD = (
    Example(
        "serve.sh",
        """\
python3 -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B-FP8 --tp 2 \\
  --moe-a2a-backend deepep «--ep 1»
""",
        sglang="0.5.9",
        expect=("becomes 2",),
    ),
)

GOOD = (
    Example(
        "serve.sh",
        """\
python3 -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B-FP8 --tp 2 --ep 2 \\
  --moe-a2a-backend deepep
""",
        sglang="0.5.9",
    ),
)

LEFT_TO_SGLANG = (None, "auto", "none", "default", "")
_WORD = re.compile(r"[A-Za-z_]\w*")
_PLAIN = frozenset({"self", "server_args", "args", "cfg", "is", "in", "not", "and", "or", "None"})


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per field that the command line sets and SGLang overwrites on every path."""
    if subject.resolution is None or subject.resolution.outcome.status != "ok":
        return
    given_by_user = dests(subject.command.uses)
    for name, answer in subject.resolution.fields.items():
        use = subject.use_of(name) if name in given_by_user else None
        if use is None or not use.known or answer.status != "decided":
            continue
        given = answer.user_value if answer.user_set else _given(use)
        if given in LEFT_TO_SGLANG or _same(given, answer.value):
            continue
        steps = [step for step in effective_steps(answer) if step.kind in ("write", "declared")]
        if not steps or _is_spelling(name, given, answer.value, steps):
            continue
        conditions = [text for step in steps for text in step.conditions]
        if subject.leans_on_unread(*conditions):
            continue
        why = f" because {one_line(conditions[-1], 120)}" if conditions else ""
        yield find.finding(
            f"{use.written} becomes {shown(answer.value)} in {release(subject)}{why}",
            at=use.span,
            key=(use.name, str(use.value), shown(answer.value)),
            confidence="proved" if subject.complete else "likely",
            because=[find.step(step) for step in steps],
            tip=f"write {use.name} {shown(answer.value)}, or see `sgcheck why {name}`"
            if isinstance(answer.value, str | int | float) and not isinstance(answer.value, bool)
            else f"see `sgcheck why {name}`",
        )


def _given(use: Use) -> JsonValue:
    """The value as the command line has it: a number where it reads as one, True for a bare flag."""
    if not use.values:
        return True
    text = use.value
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def _same(given: JsonValue, value: JsonValue) -> bool:
    return same_value(value, given) or str(value) == str(given)


def _is_spelling(name: str, given: JsonValue, value: JsonValue, steps: list[Because]) -> bool:
    """Whether SGLang only writes the same thing in another form (`NEXTN` as `EAGLE`, text as JSON)."""
    if any(given in group and value in group for group in SAME_VALUE.get(name, ())):
        return True
    if isinstance(given, str) and not isinstance(value, str):
        return value is not None
    if isinstance(value, list | dict):
        return True
    texts = [text for step in steps for text in step.conditions]
    if not texts or not isinstance(given, str):
        return False
    quoted = {f"'{given}'", f'"{given}"'}
    innermost = texts[-1]
    words = set(_WORD.findall(re.sub(r"'[^']*'|\"[^\"]*\"", "", innermost)))
    return words - _PLAIN <= {name} and any(text in innermost for text in quoted)
