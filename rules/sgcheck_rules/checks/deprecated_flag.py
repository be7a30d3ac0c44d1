"""A flag, a value or an environment variable that the release calls deprecated.

## What it finds

Flags whose parser entry says that they are deprecated, and environment variables and values about which the
release logs a deprecation while it starts.

## Why it matters

It still works and will stop working with an upgrade. Some deprecated flags already do nothing but warn.

## What to do

Use the successor that the release names.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.command import Use
from sgcheck.findings.flags import Flag, same_effect
from sgcheck.findings.model import Finding, Fix
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck_rules.checks.support import one_line, release, uses_named

META = Meta("deprecated-flag", "A flag or variable is deprecated", "warning", "proved")

BAD = (
    Example(
        "serve.sh",
        "sglang serve --model-path Qwen/Qwen3-8B «--disable-cuda-graph»\n",
        expect=("--cuda-graph-backend",),
    ),
)

GOOD = (
    Example(
        "serve.sh",
        "sglang serve --model-path Qwen/Qwen3-8B --cuda-graph-backend-decode disabled\n",
    ),
)


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per use of a deprecated flag, per variable and per value."""
    seen: set[str] = set()
    for use in subject.command.uses:
        flag = use.flag
        if flag is None or not flag.deprecated or flag.name in seen:
            continue
        seen.add(flag.name)
        instead = f": use {flag.successor}" if flag.successor else ""
        yield find.finding(
            f"{use.spelling} is deprecated in {release(subject)}{instead}",
            at=use.span,
            key=("flag", flag.name),
            tip=None if flag.successor else "the release names no successor",
            fix=_fix(subject, use, flag),
        )
    yield from _old_prefix(subject, find, seen)
    yield from _logged(subject, find, seen)


def _fix(subject: Subject, use: Use, flag: Flag) -> Fix | None:
    """The successor, where it does the same."""
    new = same_effect(flag, subject.table) if subject.table is not None else None
    return Fix("flag", use.word.span, use.spelling, new) if new is not None else None


def _old_prefix(subject: Subject, find: FindingBuilder, seen: set[str]) -> Iterator[Finding]:
    """`SGL_X`, which the release reads as `SGLANG_X`."""
    old = [variable for name, variable in subject.launch.env.items() if name.startswith("SGL_")]
    known = subject.known_names() if old else None
    for variable in old:
        new = known.new_name(variable.name) if known is not None else None
        if known is None or new is None or not known.knows(variable.name):
            continue
        seen.add(variable.name)
        yield find.finding(
            f"{variable.name} is deprecated in {release(subject)}: use {new}",
            at=variable.value.span,
            key=("variable", variable.name),
            fix=Fix("variable", variable.value.span, variable.name, new),
        )


def _logged(subject: Subject, find: FindingBuilder, seen: set[str]) -> Iterator[Finding]:
    """What the release says while it starts."""
    if subject.resolution is None:
        return
    for record in subject.resolution.log:
        if "deprecat" not in record.message.lower():
            continue
        message = one_line(record.message)
        evidence = find.line(record.file, record.line)
        variables = [n for n in subject.launch.env if n in record.message.split("=")[0].split()]
        variables = variables or [n for n in subject.launch.env if f"{n} " in f"{record.message} "]
        for name in variables:
            if name not in seen:
                seen.add(name)
                yield find.finding(
                    f"{release(subject)} will say: {message}",
                    at=subject.launch.env[name].value.span,
                    key=("variable", name),
                    because=[evidence],
                )
        if variables:
            continue
        for use in uses_named(subject, [record.message])[:1]:
            if use.name not in seen:
                seen.add(use.name)
                yield find.finding(
                    f"{release(subject)} will say: {message}",
                    at=use.span,
                    key=("value", use.name, str(use.value)),
                    because=[evidence],
                )
