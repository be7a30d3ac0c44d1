"""One finding, and the places and reasons that it is made of.

Lines and columns count from 1, in characters; ends are exclusive. Everything is immutable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sgcheck.scan.model import Span

Severity: TypeAlias = Literal["error", "warning", "note"]
Confidence: TypeAlias = Literal["proved", "likely"]
Origin: TypeAlias = Literal["sglang", "curated"]

SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A stretch of one of the user's files."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    @classmethod
    def of(cls, file: str, span: Span) -> Place:
        """The place of a span in `file`."""
        return cls(file, span.line, span.column, span.end_line, span.end_column)


@dataclass(frozen=True, slots=True)
class Related:
    """Another place of the user's files that has to do with a finding, and what it is."""

    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a finding holds: a line of SGLang, or (`origin` is `curated`) somebody's public report.

    File names are relative to the folder that holds `sglang/`; `text` is that line of the source
    that was read, for excerpts.
    """

    origin: Origin
    file: str | None = None
    line: int | None = None
    url: str | None = None
    function: str | None = None
    conditions: tuple[str, ...] = ()
    text: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Fix:
    """Another spelling of a flag or a variable with the same effect: `old` at `span` becomes `new`.

    `span` holds the word as the file has it, with its quotes, a value joined by `=`, or, for a
    variable, its value only. `renamed` says that the release does not have the old name, so that the
    launch before and after cannot be compared.
    """

    kind: Literal["flag", "variable"]
    span: Span
    old: str
    new: str
    renamed: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule says of one place.

    `proved` means that SGLang's own lines or the file itself decide it; `likely` that it rests on
    curated reports, on a convention, or on values that the file leaves open. `because` runs from
    the first step to the deciding one. `launch` is the index of the launch in the report, None for
    findings about the file as such. The fingerprint does not depend on line numbers. The
    text at the place of a `sensitive` finding (a secret) is not to be shown. `fix` is what
    `scan --fix` may do about it, once it is proved harmless in its file.
    """

    rule: str
    severity: Severity
    confidence: Confidence
    message: str
    place: Place
    fingerprint: str
    related: tuple[Related, ...] = ()
    because: tuple[Evidence, ...] = ()
    tip: str | None = None
    launch: int | None = None
    sensitive: bool = False
    fix: Fix | None = None

    @property
    def deciding(self) -> Evidence | None:
        """The last step of `because`."""
        return self.because[-1] if self.because else None


def at_least(severity: Severity, threshold: Severity) -> bool:
    """Whether a severity reaches another one."""
    return SEVERITIES.index(severity) >= SEVERITIES.index(threshold)
