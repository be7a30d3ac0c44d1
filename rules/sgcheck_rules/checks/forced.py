"""A flag whose value SGLang replaces by another one.

## What it finds

A value that the file gives and that resolution overwrites: a chunk size that the model does not allow, a cache
that a mode turns off, a parallel size that another flag sets. Words for "let SGLang choose" (`auto`) and mere
spellings of the same value are left out, and so is a value that SGLang uses in another place or form: one that
moves to another field, one that is divided among ranks.

## Why it matters

The server starts, but not with what the file says. Whoever reads or measures the deployment goes by a value
that is not in force.

## What to do

Change the flag that forces it: the finding names the deciding line. Where the launch was predicted with the
value in force instead, and nothing else changes, the finding says to write that value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.command import Use, dests
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck.report.document import same_value
from sgcheck.report.wording import effective_steps
from sgcheck.resolve.resolution import Because, FieldAnswer, JsonValue, Resolution
from sgcheck_rules.checks.support import SAME_VALUE, number_in, one_line, release, same_end, shown

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
        "moved.sh",
        """\
python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp-size 8 \\
  --dp-size 8 --enable-dp-attention
""",
        sglang="0.5.23",
        gpu="h200",
    ),
    Example(
        "divided.sh",
        """\
python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp-size 8 \\
  --dp-size 8 --enable-dp-attention --chunked-prefill-size 8192
""",
        sglang="0.5.9",
        gpu="h200",
    ),
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
        if not steps or answer.passed_on or _is_spelling(name, given, answer.value, steps):
            continue
        conditions = [text for step in steps for text in step.conditions]
        if subject.leans_on_unread(*conditions):
            continue
        there = _with_value_in_force(subject, use, answer)
        if there is not None and _is_used(subject.resolution, there, name, given):
            continue
        why = f" because {one_line(conditions[-1], 120)}" if conditions else ""
        yield find.finding(
            f"{use.written} becomes {shown(answer.value)} in {release(subject)}{why}",
            at=use.span,
            key=(use.name, str(use.value), shown(answer.value)),
            confidence="proved" if subject.complete else "likely",
            because=[find.step(step) for step in steps],
            tip=_tip(subject.resolution, there, name, use, answer),
        )


def _with_value_in_force(subject: Subject, use: Use, answer: FieldAnswer) -> Resolution | None:
    """The launch with the value that is in force written instead; None where that cannot be said."""
    value = answer.value
    if subject.launch.config is not None or not subject.complete:
        return None
    if isinstance(value, bool):
        if value is not False or use.values:
            return None
        return subject.what_if(subject.command.without(answer.name).prediction_argv())
    if not isinstance(value, str | int | float):
        return None
    command = subject.command
    words: list[str] = []
    for each in command.uses:
        if each is use:
            words += [each.spelling, str(value)]
        else:
            words += replace(command, uses=(each,), stray=()).prediction_argv()
    return subject.what_if([*words, *(word.text or "" for word in command.stray)])


def _is_used(here: Resolution, there: Resolution, name: str, given: JsonValue) -> bool:
    """Whether the value counts in another form or place: writing the one in force gives another one.

    Either the field is computed from what is written, or another field has what was written for it.
    """
    if there.outcome.status != "ok" or name not in there.fields:
        return False
    if not same_value(there.fields[name].value, here.fields[name].value):
        return True
    return any(
        other != name
        and not answer.user_set
        and same_value(answer.value, given)
        and other in there.fields
        and not same_value(there.fields[other].value, given)
        for other, answer in here.fields.items()
    )


def _tip(
    here: Resolution, there: Resolution | None, name: str, use: Use, answer: FieldAnswer
) -> str:
    """What to do: to write the value in force, only where that was predicted to change nothing."""
    see = f"see `sgcheck why {name}`"
    if (
        there is None
        or not same_end(here.outcome, there.outcome)
        or dict(there.env_after) != dict(here.env_after)
    ):
        return see
    for other, known in here.fields.items():
        found = there.fields.get(other)
        if found is None or (found.status, found.cases) != (known.status, known.cases):
            return see
        if not same_value(found.value, known.value):
            return see
    if isinstance(answer.value, bool):
        return f"remove {use.name}, or {see}"
    return f"write {use.name} {shown(answer.value)}, or {see}"


def _given(use: Use) -> JsonValue:
    """The value as the command line has it: a number where it reads as one, True for a bare flag."""
    if not use.values:
        return True
    text = use.value
    number = number_in(text)
    return text if number is None else number


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
