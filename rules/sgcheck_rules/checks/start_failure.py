"""A launch that SGLang itself refuses while it starts.

## What it finds

SGLang reads its arguments, the machine and the model, and raises an error before any weight is loaded: two
flags that exclude each other, a backend without kernels for the architecture, a value that the model does
not allow. Where the model is known, the start is followed past its arguments, too: through the model's
constructor, its quantization, the memory pools, the attention backend and the draft. The error, its line and
the conditions that lead to it come from the source of the release that the file names.

## Why it matters

The server never comes up. On a cluster that shows as a crash loop, on several nodes as one dead rank and the
others waiting for it.

## What to do

Read the condition at the line that raises and change one of the flags in it. `sgcheck why FIELD` shows how a
field came to its value. Where part of the command line is known only at run time, the finding is a warning,
and there is none at all if the error hangs on such a part, or comes after the arguments: what is built may hang
on every flag. `--depth arguments` (or `depth = "arguments"` in the configuration) ends the check there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck.resolve.resolution import LaunchError, Stage
from sgcheck.resolve.started import is_beyond
from sgcheck_rules.checks.support import (
    is_whole_start,
    one_line,
    release,
    span_for,
    uses_named,
    uses_valued,
)

_PLATFORM = re.compile(r"\bis_(cuda|hip|npu|cpu|xpu|hpu|musa)\b|\bis_host_cpu|aiter|ascend|intel_")

STAGES: Mapping[Stage, str] = {
    "configure": "before its model is built",
    "build": "while its model is built",
    "load": "while its weights are loaded",
    "memory": "while its memory pools are made",
    "attention": "while its attention backend is made",
    "draft": "while its draft is made",
    "kernel": "in its first batch",
}
"""Stages beyond the arguments, in words."""

META = Meta("start-failure", "SGLang refuses to start with these flags", "error", "proved")

BAD = (
    Example(
        "serve.sh",
        """\
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B \\
  «--attention-backend trtllm_mha»
""",
        gpu="rtx-pro-6000",
        sglang="0.5.9",
        expect=("fails to start on sm120",),
    ),
    Example(
        "serve.sh",
        """\
«sglang serve --model-path nvidia/Qwen3.5-397B-A17B-NVFP4 --tp 8»
""",
        gpu="rtx-pro-6000",
        sglang="0.5.9",
        expect=("fails to start on sm120 while its model is built",),
    ),
)

GOOD = (
    Example(
        "serve.sh",
        """\
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --attention-backend trtllm_mha
""",
        gpu="b200",
        sglang="0.5.9",
    ),
)


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding for the error, or one per error that comes in some cases."""
    if subject.resolution is None:
        return
    outcome = subject.resolution.outcome
    if outcome.status == "startup_error" and outcome.error is not None:
        yield from _failure(subject, find, outcome.error, "")
    elif outcome.status == "conditional" and subject.resolution.model.source != "unknown":
        seen: set[tuple[str | None, int | None]] = set()
        for case in outcome.cases:
            place = (case.error.file, case.error.line) if case.error is not None else None
            if case.status == "startup_error" and case.error is not None and place not in seen:
                seen.add((case.error.file, case.error.line))
                yield from _failure(subject, find, case.error, case.condition)


def _failure(
    subject: Subject, find: FindingBuilder, error: LaunchError, condition: str
) -> Iterator[Finding]:
    texts = (*reversed(error.conditions), error.message, error.function or "")
    if subject.leans_on_unread(*texts, condition):
        return
    stage = _stage(subject)
    if stage and not is_whole_start(subject):
        return
    certain = (subject.complete or bool(stage)) and not condition
    # How much memory is free has to be measured.
    certain = certain and not _of_platform(subject, error) and stage != f" {STAGES['memory']}"
    where = release(subject)
    when = f" if {one_line(condition, 120)}" if condition else ""
    evidence = find.error(error)
    line = evidence.text or ""
    failed = line.strip() if error.type in ("AssertionError", "TypeError") else ""
    uses = uses_named(subject, [failed])
    if "%" in failed:
        uses.reverse()  # what does not divide is what was chosen last
    uses += [use for use in uses_named(subject, texts) if use not in uses]
    uses += [use for use in uses_valued(subject, texts) if use not in uses]
    # A bare `assert` has no message; its line says what was not so.
    reason = one_line(error.message) or one_line(evidence.text or "without a message")
    if not stage:
        reason += _values(subject, failed)
    yield find.finding(
        f"{where} fails to start on {subject.arch}{stage}{when}: {error.type}: {reason}",
        at=span_for(subject, uses),
        key=(error.type, error.file or "", error.function or "", *(use.name for use in uses[:1])),
        severity="error" if certain else "warning",
        confidence="proved" if certain else "likely",
        related=[(use.span, "takes part in the error") for use in uses[1:4]],
        because=[evidence],
        tip=_tip(error),
    )


def _values(subject: Subject, text: str) -> str:
    """The values of the fields in a line of SGLang that failed, and which of them nothing gives."""
    if subject.table is None:
        return ""
    said: dict[str, None] = {}
    for name in re.findall(r"[A-Za-z_]\w*", text):
        flags = subject.table.of_dest(name)
        if not flags:
            continue
        use = subject.use_of(name)
        if use is not None and use.value is not None:
            said[f"{name} {use.value}"] = None
        elif use is None and flags[0].default is None:
            said[f"{flags[0].name} is not given"] = None
        elif use is None and isinstance(flags[0].default, int | float | str):
            said[f"{name} {flags[0].default}"] = None
    return f" ({', '.join(said)})" if said else ""


def _stage(subject: Subject) -> str:
    """Where beyond its arguments the start fails, in words; empty for the arguments."""
    outcome = subject.resolution.outcome if subject.resolution is not None else None
    if outcome is None or outcome.stage is None or not is_beyond(outcome):
        return ""
    return f" {STAGES[outcome.stage]}"


def _of_platform(subject: Subject, error: LaunchError) -> bool:
    """Whether it may be otherwise on a machine that is not NVIDIA's, which nothing rules out."""
    if subject.settled.certain or not error.conditions:
        return False
    return _PLATFORM.search(error.conditions[-1]) is not None


def _tip(error: LaunchError) -> str | None:
    if not error.conditions:
        return None
    return f"it is raised because {one_line(error.conditions[-1], 160)}"
