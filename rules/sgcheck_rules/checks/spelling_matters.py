"""Two spellings of one value that do not give the same launch.

## What it finds

`--speculative-algorithm NEXTN` and `EAGLE` name one algorithm: SGLang turns the first into the second while it
resolves. Some releases compare with `EAGLE` before that, so that the two spellings give different values
elsewhere. The rule resolves the launch with both and compares all fields.

## Why it matters

A recipe that is copied with the other spelling behaves differently, and nothing says so.

## What to do

Use the spelling whose values you want, and set the differing fields by their own flags.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.command import Use
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck.report.document import same_value
from sgcheck.report.wording import effective_steps
from sgcheck.resolve.resolution import Resolution
from sgcheck_rules.checks.support import SAME_VALUE, release, shown

META = Meta(
    "spelling-matters", "The other spelling of a value gives another launch", "warning", "proved"
)

BAD = (
    Example(
        "serve.sh",
        """\
python3 -m sglang.launch_server --model-path nvidia/DeepSeek-R1-0528-NVFP4 --tp 8 \\
  --quantization modelopt_fp4 «--speculative-algorithm NEXTN»
""",
        sglang="0.5.9",
        gpu="b200",
        expect=("speculative_moe_runner_backend",),
    ),
)

GOOD = (
    Example(
        "serve.sh",
        """\
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --attention-backend triton
""",
        sglang="0.5.9",
        gpu="b200",
    ),
)

SHOWN_FIELDS = 3


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per value whose other spelling resolves differently."""
    resolution = subject.resolution
    if resolution is None or not subject.complete or resolution.outcome.status != "ok":
        return
    for dest, groups in SAME_VALUE.items():
        use = subject.use_of(dest)
        other = _other(use, groups)
        if use is None or other is None:
            continue
        there = subject.what_if(_replaced(subject, use, other))
        if there is None or there.outcome.status != "ok":
            continue
        names = [n for n in _differing(resolution, there) if n != dest]
        if not names:
            continue
        listed = ", ".join(
            f"{name} {shown(resolution.fields[name].value)} instead of {shown(there.fields[name].value)}"
            for name in names[:SHOWN_FIELDS]
        )
        more = len(names) - SHOWN_FIELDS
        steps = effective_steps(there.fields[names[0]])
        yield find.finding(
            f"in {release(subject)} {use.value} does not give what {other} gives: {listed}"
            + (f" and {more} more" if more > 0 else ""),
            at=use.span,
            key=(use.name, str(use.value), *names),
            because=[find.step(step) for step in steps if step.file is not None],
            tip=f"write {other}, or set the fields by their own flags",
        )


def _other(use: Use | None, groups: Sequence[Sequence[str]]) -> str | None:
    if use is None or use.flag is None or use.value is None:
        return None
    for group in groups:
        if use.value in group:
            others = [value for value in group if value != use.value]
            choices = use.flag.choices
            return others[0] if choices is None or others[0] in choices else None
    return None


def _replaced(subject: Subject, use: Use, value: str) -> list[str]:
    """The argument list with another value for a use."""
    out: list[str] = []
    for each in subject.command.uses:
        if each is use:
            out += [each.spelling, value]
        else:
            out.append(each.word.text or each.spelling)
            out += [v.text or "" for v in each.values if not each.inline]
    return out


def _differing(here: Resolution, there: Resolution) -> list[str]:
    """Fields that are decided in both and differ."""
    return [
        name
        for name, answer in here.fields.items()
        if answer.status == "decided"
        and name in there.fields
        and there.fields[name].status == "decided"
        and not same_value(answer.value, there.fields[name].value)
    ]
