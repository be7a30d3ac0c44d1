"""Fingerprints: the same finding keeps its own when lines move, files are reformatted or grow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from sgcheck.findings.model import Finding

_FORM = "sgcheck/1"
_LENGTH = 32


def fingerprint(rule: str, file: str, launch: Iterable[str], key: Iterable[str]) -> str:
    """32 hexadecimal digits of the rule, the file, what names the launch, and what is found.

    Blanks in the parts are squeezed, so that re-wrapped text keeps its fingerprint.
    """
    digest = hashlib.sha256()
    for group in ((_FORM, rule, file.replace("\\", "/")), launch, key):
        for part in group:
            digest.update(" ".join(part.split()).encode("utf-8", "surrogatepass") + b"\0")
        digest.update(b"\1")
    return digest.hexdigest()[:_LENGTH]


def number_repeats(findings: Iterable[Finding]) -> list[Finding]:
    """The findings in their order, a second one with the same fingerprint marked `-2` and so on."""
    seen: dict[str, int] = {}
    out: list[Finding] = []
    for finding in findings:
        count = seen[finding.fingerprint] = seen.get(finding.fingerprint, 0) + 1
        mark = f"{finding.fingerprint}-{count}"
        out.append(finding if count == 1 else replace(finding, fingerprint=mark))
    return out
