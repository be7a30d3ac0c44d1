"""The report for people: each finding with an excerpt of the user's file and of SGLang's line."""

from __future__ import annotations

from sgcheck.confirm.secrets import secret_places
from sgcheck.findings.checking import Checked
from sgcheck.findings.model import Evidence, Finding, Place, at_least
from sgcheck.report.layout import Page, Span, Styles
from sgcheck.report.scan_report import ScanReport
from sgcheck.report.summary import assumed_line, summary_line, why_unresolved
from sgcheck.report.terminal import StyleName
from sgcheck.report.wording import clean, place

COLORS: dict[str, tuple[StyleName, ...]] = {
    "error": ("bold", "red"),
    "warning": ("bold", "yellow"),
    "note": ("bold", "cyan"),
}
DIM: Styles = ("dim",)
MAX_EXCERPT_LINES = 4
TAB = "    "
STAR = "*"


def render(report: ScanReport) -> str:
    """The findings that people are shown, what was skipped, and the counts."""
    page = Page(report.terminal)
    for finding in report.findings:
        if at_least(finding.severity, report.least):
            _finding(page, report, finding)
            page.blank()
    for checked in report.launches:
        problem = why_unresolved(checked)
        if problem:
            where = f"{clean(checked.launch.file)}:{checked.launch.line}"
            page.paragraph(f"{where}: not resolved: {problem}", DIM, hanging=2)
    for skipped in report.skipped:
        where = place(skipped.file, skipped.line)
        page.paragraph(f"{where}: skipped: {clean(skipped.reason)}", DIM, hanging=2)
    page.line(Span(summary_line(report), ("bold",)))
    if line := assumed_line(report):
        page.paragraph(line)
    return page.text()


def _finding(page: Page, report: ScanReport, finding: Finding) -> None:
    color = COLORS[finding.severity]
    likely = "" if finding.confidence == "proved" else " (likely)"
    head = f"{finding.severity}[{finding.rule}]{likely}"
    page.line(Span(head, color))
    page.paragraph(clean(finding.message), ("bold",), indent=2, hanging=2)
    _excerpt(page, report, finding.place, "", color)
    for related in finding.related:
        _excerpt(page, report, related.place, related.message, DIM)
    for step in finding.because:
        _evidence(page, step)
    if finding.tip:
        page.row([Span("tip", ("green",)), Span(clean(finding.tip))], [2, 6])
    if finding.launch is not None:
        page.paragraph(_basis(report.launches[finding.launch]), DIM, indent=2, hanging=2)


def _basis(checked: Checked) -> str:
    """What the launch was checked with, and what says so."""
    settled = checked.settled
    targets = settled.targets if settled.certain else settled.targets[:1]
    arches = ", ".join(dict.fromkeys(target.arch for target in targets))
    return (
        f"checked with SGLang {checked.version or 'unknown'} ({settled.version_from}) on {arches}"
        f" ({settled.target_from}), model {clean(settled.model.name or 'unknown')}"
        f" ({settled.model_from})"
    )


def _excerpt(
    page: Page,
    report: ScanReport,
    where: Place,
    label: str,
    color: Styles,
) -> None:
    """The lines of the user's file with carets under the place."""
    page.line(
        Span("  --> ", DIM), f"{clean(where.file)}:{where.line}:{where.column}", Span(_after(label))
    )
    lines = report.lines(where.file)
    last = min(where.end_line, where.line + MAX_EXCERPT_LINES - 1)
    gutter = len(str(last))
    for number in range(where.line, last + 1):
        if not 1 <= number <= len(lines):
            return
        raw = lines[number - 1]
        start = where.column - 1 if number == where.line else len(raw) - len(raw.lstrip())
        end = where.end_column - 1 if number == where.end_line else len(raw.rstrip("\\").rstrip())
        raw = _without_secrets(report, where.file, number, raw)
        text, begin, width = _cut(raw, start, max(end, start + 1), page.terminal.width - gutter - 5)
        page.line(Span(f"  {number:>{gutter}} | ", DIM), Span(text))
        page.line(Span("  " + " " * gutter + " | ", DIM), " " * begin, Span("^" * width, color))
    if where.end_line > last:
        page.line(Span("  " + " " * gutter + " | …", DIM))


def _without_secrets(report: ScanReport, file: str, number: int, raw: str) -> str:
    """A line with the places of sensitive findings, and what looks like a secret, starred out."""
    for finding in report.findings:
        place = finding.place
        if finding.sensitive and place.file == file and place.line <= number <= place.end_line:
            start = place.column - 1 if number == place.line else 0
            end = place.end_column - 1 if number == place.end_line else len(raw)
            raw = raw[:start] + STAR * (end - start) + raw[end:]
    for begin, stop in secret_places(raw):
        raw = raw[:begin] + STAR * (stop - begin) + raw[stop:]
    return raw


def _cut(raw: str, start: int, end: int, room: int) -> tuple[str, int, int]:
    """A line made fit for the terminal, and where the carets stand in it."""
    before, inside, after = (
        clean(part.expandtabs(4) if "\t" in part else part)
        for part in (raw[:start], raw[start:end], raw[end:])
    )
    room = max(room, 20)
    if len(before) + len(inside) > room:
        keep = max(room - len(inside) - 1, 8)
        before = "…" + before[len(before) - keep :] if len(before) > keep + 1 else before
    inside = inside[: max(room - len(before), 8)]
    text = before + inside + after
    if len(text) > room:
        text = text[: max(room - 1, len(before) + len(inside))] + "…"
    return text.rstrip(), len(before), max(len(inside), 1)


def _evidence(page: Page, step: Evidence) -> None:
    if step.origin == "curated":
        source = clean(step.url or step.note)
        page.line(Span("  reported: ", DIM), Span(source, (), step.url or None))
        return
    if step.file is None:
        return
    function = f" in {clean(step.function)}" if step.function else ""
    page.line(Span("  SGLang: ", DIM), Span(place(step.file, step.line), (), step.url), function)
    if step.text is not None and step.line is not None:
        gutter = f"  {step.line} | "
        text = clean(step.text.strip())
        room = max(page.terminal.width - len(gutter), 20)
        shown = text if len(text) <= room else text[: room - 1] + "…"
        page.line(Span(gutter, DIM), Span(shown))


def _after(label: str) -> str:
    return f"  {clean(label)}" if label else ""
