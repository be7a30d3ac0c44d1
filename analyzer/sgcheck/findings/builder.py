"""The only way in which rules make findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sgcheck.findings.fingerprint import fingerprint
from sgcheck.findings.model import Confidence, Evidence, Finding, Fix, Place, Related, Severity
from sgcheck.resolve.resolution import Because, LaunchError
from sgcheck.scan.model import Launch, Span

SourceLine = Callable[[str, int], str | None]
"""Gives the text of a line of SGLang, None where it cannot be had."""


class FindingBuilder:
    """Makes the findings of one rule about one launch; the rule's defaults fill what is left out.

    `source_line` reads a line of the tree that the launch was resolved with.
    """

    def __init__(
        self,
        rule: str,
        *,
        severity: Severity,
        confidence: Confidence,
        launch: Launch,
        index: int | None = None,
        source_line: SourceLine | None = None,
    ) -> None:
        self._rule = rule
        self._severity = severity
        self._confidence = confidence
        self._launch = launch
        self._index = index
        self._source_line = source_line

    def finding(
        self,
        message: str,
        *,
        at: Span,
        key: Sequence[str],
        severity: Severity | None = None,
        confidence: Confidence | None = None,
        related: Iterable[tuple[Span, str]] = (),
        because: Iterable[Evidence] = (),
        tip: str | None = None,
        sensitive: bool = False,
        fix: Fix | None = None,
    ) -> Finding:
        """A finding with its primary span `at`.

        `key` holds the words that tell this finding from others of the rule on the same launch (a
        flag and its value, say), for the fingerprint. `sensitive` keeps the place's text out of reports. Raises ValueError without a primary span, a
        message or a key: such a finding could be neither shown nor recognised again.
        """
        if not isinstance(at, Span) or at.line < 1 or at.column < 1:
            raise ValueError(f"{self._rule}: a finding needs a primary span")
        if not message.strip() or not key:
            raise ValueError(f"{self._rule}: a finding needs a message and a key")
        file, launch = self._launch.file, self._launch
        identity = (launch.group, launch.name, launch.role, launch.label)
        return Finding(
            rule=self._rule,
            severity=severity or self._severity,
            confidence=confidence or self._confidence,
            message=message,
            place=Place.of(file, at),
            fingerprint=fingerprint(self._rule, file, identity, key),
            related=tuple(Related(Place.of(file, span), text) for span, text in related),
            because=tuple(because),
            tip=tip,
            launch=self._index,
            sensitive=sensitive,
            fix=fix,
        )

    def step(self, step: Because) -> Evidence:
        """The evidence of one step that gave a field its value."""
        return self._sglang(step.file, step.line, step.url, step.function, step.conditions)

    def error(self, error: LaunchError) -> Evidence:
        """The evidence of an error of SGLang's own."""
        return self._sglang(error.file, error.line, error.url, error.function, error.conditions)

    def line(self, file: str, line: int, url: str | None = None, note: str = "") -> Evidence:
        """The evidence of a line of SGLang."""
        text = self._text(file, line)
        return Evidence("sglang", file, line, url, text=text, note=note)

    def report(self, url: str, note: str = "") -> Evidence:
        """The evidence of somebody's public report."""
        return Evidence("curated", url=url, note=note)

    def _sglang(
        self,
        file: str | None,
        line: int | None,
        url: str | None,
        function: str | None,
        conditions: tuple[str, ...],
    ) -> Evidence:
        return Evidence("sglang", file, line, url, function, conditions, self._text(file, line))

    def _text(self, file: str | None, line: int | None) -> str | None:
        if self._source_line is None or file is None or line is None:
            return None
        return self._source_line(file, line)


def file_finding(
    rule: str, severity: Severity, place: Place, message: str, key: Sequence[str]
) -> Finding:
    """A finding about a file as such, proved by the file itself."""
    mark = fingerprint(rule, place.file, (), key)
    return Finding(rule, severity, "proved", message, place, mark)
