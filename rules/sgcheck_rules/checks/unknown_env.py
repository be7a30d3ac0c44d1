"""An `SGLANG_*` variable that nothing in the release reads.

## What it finds

Environment variables of a launch whose name begins with `SGLANG_` or `SGL_` and stands nowhere in the sources
of the release. A name close to a known one, or known in another measured release, is a warning; any other is
a note, since a script around the server may use it.

## Why it matters

SGLang ignores variables that it does not know. A renamed or misspelt switch is silently off.

## What to do

Use the nearest name, the flag that replaced the variable, or remove it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck_rules.checks.support import release
from sgcheck_rules.history import history

META = Meta("unknown-env", "The release does not know an SGLANG_ variable", "warning", "likely")

BAD = (
    Example(
        "compose.yaml",
        """\
services:
  llm:
    image: lmsysorg/sglang:v0.5.9
    command: python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B
    environment:
      SGLANG_ENABEL_SPEC_V2: «"1"»
""",
        sglang="0.5.9",
        expect=("SGLANG_ENABLE_SPEC_V2",),
    ),
)

GOOD = (
    Example(
        "serve.sh",
        "SGLANG_ENABLE_SPEC_V2=1 python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B\n",
        sglang="0.5.9",
    ),
)

PREFIXES = ("SGLANG_", "SGL_")


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per unknown variable."""
    variables = [v for n, v in subject.launch.env.items() if n.startswith(PREFIXES)]
    known = subject.known_names() if variables else None
    if known is None:
        return
    for variable in variables:
        name = variable.name
        if known.knows(name):
            continue
        near = known.nearest(name)
        elsewhere = history().known_in("environment", name)
        message = f"nothing in {release(subject)} reads {name}"
        if elsewhere is not None:
            message += f"; among the measured releases it is known {elsewhere}"
        elif near is not None:
            message += f"; the nearest name is {near}"
        yield find.finding(
            message,
            at=variable.value.span,
            key=(name,),
            severity="warning" if near is not None or elsewhere is not None else "note",
            tip=f"did you mean {near}?" if near is not None and elsewhere is None else None,
        )
