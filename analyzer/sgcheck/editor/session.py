"""What an editor is told of one text, whatever protocol it speaks: findings, and facts about a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgcheck.errors import NothingToAnalyse, SgcheckError, SourceError
from sgcheck.findings.checking import Checked, Checker
from sgcheck.findings.command import Command, Use, read_command
from sgcheck.findings.confirming import confirmed
from sgcheck.findings.model import Finding
from sgcheck.report.wording import effective_steps, place, reason_text, value_text
from sgcheck.resolve.resolution import Because, FieldAnswer
from sgcheck.scan import ScanResult, beside, nothing_beside, read_launches
from sgcheck.scan.model import Span

Silence = Callable[[ScanResult, Sequence[Checked]], Sequence[Finding]]
"""The findings that comments, configuration and baseline leave."""

MAX_CASES = 6


@dataclass(frozen=True, slots=True)
class Seen:
    """One text after its check. `problem` is a fault of the configuration or of a source, in a sentence."""

    text: str
    checked: tuple[Checked, ...] = ()
    findings: tuple[Finding, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """Markdown about the words at `span`."""

    span: Span
    markdown: str


@dataclass(slots=True)
class Session:
    """Checks texts; releases and answers stay between them."""

    checker: Checker
    silence: Silence

    def look(self, file: str, text: str) -> Seen:
        """Read and check a text under the name of its file. Never raises for any text."""
        path = Path(file)
        near = beside(path) if path.is_absolute() else nothing_beside
        reading = read_launches(text, file, beside=near, explicit=False)
        found = ScanResult(reading.launches, reading.skipped, {file: reading.suppressions}, 1)
        try:
            answers = self.checker.check(reading.launches) if reading.launches else []
            # Other releases are not asked while somebody types: an assumed one proves nothing then.
            of_release = {rule.meta.id for rule in self.checker.rules if rule.meta.of_release}
            checked = tuple(confirmed(answers, None, of_release.__contains__))
            return Seen(text, checked, tuple(self.silence(found, checked)))
        except SgcheckError as error:
            return Seen(text, problem=str(error))

    def fact(self, seen: Seen, offset: int) -> Fact | None:
        """What is known of the flag at an offset of the text: its effective value and the deciding line."""
        parts: dict[str, None] = {}
        span: Span | None = None
        for checked in seen.checked:
            for use in self._command(checked).uses:
                around = next((s for s in _places(use) if s.start <= offset < s.end), None)
                if around is not None:
                    span = span or around
                    parts[_markdown(checked, use)] = None
        return Fact(span, "\n\n---\n\n".join(parts)) if span is not None else None

    def _command(self, checked: Checked) -> Command:
        settled = checked.settled
        table = None
        if checked.problem is None and settled.targets:
            try:
                release = self.checker.releases.get(
                    settled.version, settled.python, from_file=settled.from_file
                )
                table = release.table(settled.targets[0])
            except (SourceError, NothingToAnalyse):
                table = None
        return read_command(checked.launch.merged_argv(), table)


def _places(use: Use) -> tuple[Span, ...]:
    return (use.word.span, *(value.span for value in use.values))


def _markdown(checked: Checked, use: Use) -> str:
    """The flag as it is written, what it becomes, and why."""
    where = f"SGLang {checked.version}" if checked.version else "SGLang of an unknown version"
    resolution = checked.resolution
    if resolution is not None:
        where += f" on {resolution.target.arch}"
    written = f"`{use.written.replace('`', ' ')}`"
    if resolution is None:
        return f"{written}\n\nnot resolved: {checked.problem or 'the release could not be read'}"
    if use.flag is None:
        return f"{written}\n\n{where} has no such flag"
    answer = resolution.fields.get(use.flag.dest)
    lines = [f"{written} → {_value(answer)}", f"`{use.flag.dest}` in {where}"]
    if answer is not None:
        lines += [_step(step) for step in effective_steps(answer) if step.file is not None]
    outcome = resolution.outcome
    if outcome.status in ("startup_error", "cli_error") and outcome.error is not None:
        error = outcome.error
        at = _place(error.file, error.line, error.url)
        lines.append(
            f"the launch fails: {error.type}: {' '.join(error.message.split())} {at}".rstrip()
        )
    return "\n\n".join(lines)


def _value(answer: FieldAnswer | None) -> str:
    if answer is None:
        return "unknown (the launch does not come that far)"
    if answer.status == "decided":
        return f"**{value_text(answer.value)}**"
    if answer.status == "unknown":
        return f"unknown: {reason_text(answer.reason)}"
    cases = [f"**{value_text(case.value)}** if `{case.condition}`" for case in answer.cases]
    more = len(cases) - MAX_CASES
    return "; ".join(cases[:MAX_CASES]) + (f"; {more} more" if more > 0 else "")


def _step(step: Because) -> str:
    because = f"because `{step.conditions[-1]}` " if step.conditions else ""
    return f"{because}{_place(step.file, step.line, step.url)}".strip()


def _place(file: str | None, line: int | None, url: str | None) -> str:
    if file is None:
        return ""
    shown = place(file, line)
    return f"at [{shown}]({url})" if url else f"at {shown}"
