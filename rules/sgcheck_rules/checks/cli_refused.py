"""A command line that SGLang's own parser refuses.

## What it finds

Flags that the release does not have, values outside of its choices, flags without their value, and words
that belong to no flag. The parser is the one that the release builds itself, so choices that depend on the
machine or on registered backends are its own.

## Why it matters

The process ends with a usage message before anything else happens. Such flags are usually right in another
release: the message says in which measured releases the name is known.

## What to do

Use the nearest name, or the name that the release has for the same thing; or change the release.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.command import Use, shown
from sgcheck.findings.model import Finding, Fix
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck.scan.model import Span
from sgcheck_rules.checks.support import one_line, release
from sgcheck_rules.history import history

META = Meta("cli-refused", "SGLang's parser refuses the command line", "error", "proved")

BAD = (
    Example(
        "deploy.yaml",
        """\
services:
  llm:
    image: lmsysorg/sglang:v0.5.23
    command: >
      python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B
      «--tensor-paralel-size» 2
""",
        expect=("--tensor-parallel-size",),
    ),
    Example(
        "serve.sh",
        "sglang serve --model-path Qwen/Qwen3-8B --moe-runner-backend «flashinfer_cutlas»\n",
        expect=("flashinfer_cutlass",),
    ),
    Example(
        "serve.sh",
        "sglang serve --model-path Qwen/Qwen3-8B «--tp-size» --port 30000\n",
        expect=("needs a value",),
    ),
    Example(
        "serve.sh",
        "sglang serve --model-path Qwen/Qwen3-8B --max-running-requests «many» --tp-size 2\n",
        expect=("invalid int value",),
    ),
    Example(
        "serve.sh",
        "sglang serve --model-path Qwen/Qwen3-8B «--nsa-prefill-backend» trtllm\n",
        gpu="b200",
        expect=("--nsa-prefill-backend",),
    ),
)

GOOD = (
    Example(
        "serve.sh",
        "sglang serve --model-path Qwen/Qwen3-8B --tp-size 2 --moe-runner-backend triton\n",
    ),
)

SHOWN_CHOICES = 12
SLIP = 0.88
"""How like a flag's name a word must be to be a slip of it: one or two letters of a usual name."""
OTHER_ENGINES = frozenset(
    {
        "--compilation-config",
        "--disable-log-requests",
        "--distributed-executor-backend",
        "--enable-auto-tool-choice",
        "--enable-expert-parallel",
        "--enable-prefix-caching",
        "--enforce-eager",
        "--gpu-memory-utilization",
        "--kv-transfer-config",
        "--limit-mm-per-prompt",
        "--max-model-len",
        "--max-num-batched-tokens",
        "--max-num-seqs",
        "--no-enable-prefix-caching",
        "--speculative-config",
        "--swap-space",
    }
)
"""Flags of vLLM's server that no measured SGLang has."""


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per refused word; without any the parser's own message."""
    if subject.table is None:
        return
    found = False
    parsed = _parsed(subject)
    for use in subject.command.uses:
        # A use that was part of the prediction is refused only if the release's own parser says so.
        if parsed and use.known:
            continue
        for finding in _use(subject, find, use):
            found = True
            yield finding
    for word in () if parsed else subject.command.stray:
        found = True
        text = shown(word)
        yield find.finding(
            f"'{text}' belongs to no flag: {release(subject)} refuses it",
            at=word.span,
            key=("stray", text),
        )
    resolution = subject.resolution
    if found or resolution is None or resolution.outcome.status != "cli_error":
        return
    error = resolution.outcome.error
    message = one_line(error.message) if error is not None else "no message"
    if subject.complete:
        named = _named(subject, message)
        yield find.finding(
            f"{release(subject)} refuses the command line: {message}",
            at=subject.head if named is None else named,
            key=("parser", message),
        )


def _named(subject: Subject, message: str) -> Span | None:
    """The value, or the flag, of which the parser complains (`argument --tp-size/--tp: invalid int value: 'x'`)."""
    named, _, _ = message.removeprefix("argument ").partition(": ")
    quoted = message.rpartition(": ")[2]
    found = subject.command.of(*named.split("/")) if message.startswith("argument --") else ()
    blamed = [use for use in found if any(repr(v.text) == quoted for v in use.values)]
    if blamed:
        return next(v.span for v in blamed[-1].values if repr(v.text) == quoted)
    return found[-1].span if found else None


def _parsed(subject: Subject) -> bool:
    """Whether the release's own parser took the arguments."""
    if subject.resolution is None:
        return False
    outcome = subject.resolution.outcome
    if outcome.status == "unknown":
        return outcome.reason is not None and outcome.reason.code == "model-unknown"
    return outcome.status != "cli_error"


def _use(subject: Subject, find: FindingBuilder, use: Use) -> Iterator[Finding]:
    assert subject.table is not None
    name = use.spelling
    if use.match == "unknown":
        near = subject.table.nearest(name)
        known = history().known_in("flags", name)
        message = f"{release(subject)} has no flag {name}"
        if known is not None:
            message += f"; among the measured releases it is known {known}"
        elif near:
            message += f"; the nearest is {near[0]}"
        other = _other_name(subject, name)
        yield find.finding(
            message,
            at=use.word.span,
            key=("unknown", name),
            severity="warning"
            if _any_release(subject) and (known is not None or not _is_slip(name, near))
            else "error",
            tip=_calls_it(other) or _tip(near, known),
            fix=_fix(use, other),
        )
    elif use.match == "ambiguous":
        names = ", ".join(use.names[:4])
        other = _other_name(subject, name)
        yield find.finding(
            f"{name} can stand for {names}: {release(subject)} refuses it",
            at=use.word.span,
            key=("ambiguous", name),
            tip=_calls_it(other),
            fix=_fix(use, other),
        )
    elif use.flag is not None:
        yield from _values(subject, find, use)


def _is_slip(name: str, near: tuple[str, ...]) -> bool:
    """Whether an unknown flag is surely a mistake, and not one of a patched SGLang."""
    if name in OTHER_ENGINES:
        return True
    import difflib

    return any(difflib.SequenceMatcher(None, name, other).ratio() >= SLIP for other in near)


def _any_release(subject: Subject) -> bool:
    """Whether the launch may be for any release: then one that some release takes is no error."""
    return bool(subject.settled.assumed) and subject.settled.version is None


def _calls_it(other: str | None) -> str | None:
    return f"this release calls it {other}" if other is not None else None


def _fix(use: Use, other: str | None) -> Fix | None:
    if other is None:
        return None
    return Fix("flag", use.word.span, use.spelling, other, renamed=True)


def _other_name(subject: Subject, name: str) -> str | None:
    """How the release spells a flag that it had, or will have, under another name."""
    assert subject.table is not None
    for other in history().other_names(name):
        if other.partition("=")[0] in subject.table.by_name:
            return other
    return None


def _values(subject: Subject, find: FindingBuilder, use: Use) -> Iterator[Finding]:
    flag = use.flag
    assert flag is not None
    if len(use.values) < flag.least:
        yield find.finding(
            f"{use.spelling} needs a value",
            at=use.word.span,
            key=("value missing", flag.name),
        )
        return
    if use.inline and flag.most == 0:
        yield find.finding(
            f"{use.spelling} takes no value: {release(subject)} refuses {shown(use.word)}",
            at=use.word.span,
            key=("value given", flag.name),
        )
        return
    if flag.choices is None:
        return
    for value in use.values:
        if value.text is None or value.text in flag.choices:
            continue
        import difflib

        near = difflib.get_close_matches(value.text, flag.choices, n=1, cutoff=0.6)
        choices = ", ".join(flag.choices[:SHOWN_CHOICES])
        more = len(flag.choices) - SHOWN_CHOICES
        listed = choices + (f", … ({more} more)" if more > 0 else "")
        message = f"{release(subject)} has no choice '{shown(value)}' for {flag.name}"
        known = history().known_in("choices", f"{flag.dest}={value.text}")
        if known is not None:
            message += f"; among the measured releases it is known {known}"
        elif near:
            message += f"; the nearest is {near[0]}"
        yield find.finding(
            message,
            at=value.span,
            severity="warning" if known is not None and _any_release(subject) else "error",
            key=("choice", flag.name, value.text),
            tip=f"the choices are {listed}",
        )


def _tip(near: tuple[str, ...], known: str | None) -> str | None:
    if not near:
        return None
    if known is None:
        return f"did you mean {' or '.join(near)}?"
    return f"this release has {' and '.join(near)}, which may or may not mean the same"
