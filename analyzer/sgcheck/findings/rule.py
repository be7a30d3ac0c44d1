"""The shape of a rule: metadata, examples, and a function from a subject to findings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Confidence, Finding, Severity
from sgcheck.findings.subject import Subject

Check = Callable[[Subject, FindingBuilder], Iterator[Finding]]

ID = re.compile(r"[a-z]+(-[a-z]+)*\Z")
SECTIONS = ("What it finds", "Why it matters", "What to do")


@dataclass(frozen=True, slots=True)
class Meta:
    """What is known of a rule before it runs.

    `severity` and `confidence` are those of most of its findings; a single one can be lower.
    `needs_resolution` rules are not run where the release could not be read. What a rule finds that is
    not `of_release` holds whatever release the launch is for. One without `default` runs only when it is
    selected.
    """

    id: str
    summary: str
    severity: Severity
    confidence: Confidence
    since: str = "0.1.0"
    needs_resolution: bool = True
    of_release: bool = True
    default: bool = True
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A file that shows a rule. `text` marks each expected primary span as `«…»`; a good one has none.

    `sglang`, `gpu` and `model` are the options with which it is scanned; `expect` is a part of the
    message of each finding, in order.
    """

    file: str
    text: str
    sglang: str = "0.5.23"
    gpu: str | None = "h200"
    model: str | None = None
    expect: tuple[str, ...] = ()

    @property
    def plain(self) -> str:
        """The text without marks."""
        return self.text.replace("«", "").replace("»", "")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, read from its module."""

    meta: Meta
    doc: str
    bad: tuple[Example, ...]
    good: tuple[Example, ...]
    check: Check
    module: str

    @classmethod
    def of(cls, module: ModuleType) -> Rule:
        """The rule of a module that has META, BAD, GOOD and check."""
        doc = inspect.cleandoc(module.__doc__ or "")
        return cls(module.META, doc, module.BAD, module.GOOD, module.check, module.__name__)

    def sections(self) -> dict[str, str]:
        """The docstring's sections by title; the summary line is left out."""
        parts = re.split(r"^## (.+)$", self.doc, flags=re.MULTILINE)
        return {parts[i]: parts[i + 1].strip() for i in range(1, len(parts) - 1, 2)}
