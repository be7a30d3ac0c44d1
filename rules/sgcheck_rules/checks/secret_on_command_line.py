"""A key or password that stands in the file.

## What it finds

Flags for keys, tokens and passwords whose value is written out on the command line. Values that come from a
secret or from the environment are left out, and so are the usual placeholders.

## Why it matters

The file is in version control, and the command line of a process can be read by every user of its machine.

## What to do

Take the value from a secret through the environment (`--api-key $(API_KEY)` in Kubernetes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject

META = Meta(
    "secret-on-command-line",
    "A secret stands on the command line",
    "warning",
    "likely",
    needs_resolution=False,
    of_release=False,
)

BAD = (
    Example(
        "serve.sh",
        "sglang serve --model-path Qwen/Qwen3-8B --api-key «s3cr3t-4711»\n",
        expect=("--api-key",),
    ),
)

GOOD = (Example("serve.sh", 'sglang serve --model-path Qwen/Qwen3-8B --api-key "$API_KEY"\n'),)

_SECRET = re.compile(r"(api_key|auth_token|access_token|hf_token|password|passwd|secret)\Z")
_PLACEHOLDER = re.compile(
    r"(|empty|none|null|dummy|test|token|x+|\*+|<.*>|\{\{.*\}\}|your[-_].*|sk-(x+|dummy|test))\Z",
    re.IGNORECASE,
)


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per secret. Neither message nor fingerprint hold it."""
    for use in subject.command.uses:
        dest = use.flag.dest if use.flag is not None else use.spelling.lstrip("-").replace("-", "_")
        value = use.value
        if value is None or not _SECRET.search(dest) or _PLACEHOLDER.match(value):
            continue
        yield find.finding(
            f"the value of {use.spelling} is a secret in plain text",
            at=use.value_span,
            key=(use.name,),
            tip="take it from a secret through the environment",
            sensitive=True,
        )
