"""The text report of `why`: each step of one field, in the order in which SGLang takes them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sgcheck.report.answers import DIM, OPEN, VALUE
from sgcheck.report.layout import Page, Span
from sgcheck.report.terminal import Terminal
from sgcheck.report.text import arch_text, error_summary, verdict_spans
from sgcheck.report.wording import clean, condition_text, place, reason_text, value_text, when_text
from sgcheck.resolve.resolution import Because, FieldAnswer
from sgcheck.resolve.why import Site, WhyReport

KINDS = {
    "default": "the default",
    "flag": "your flag",
    "env": "the environment",
    "write": "written",
    "declared": "declared",
}


def sites_document(report: WhyReport) -> list[dict[str, Any]]:
    """The write sites as JSON (documented in docs/json.md)."""
    return [asdict(site) for site in report.sites]


def render_why(report: WhyReport, terminal: Terminal, verbose: bool = False) -> str:
    """The chain of a field and the places that did not write it, or why there is no chain."""
    resolution, field = report.resolution, report.field
    page = Page(terminal)
    answer = resolution.fields.get(field)
    arch, version = arch_text(resolution.target), clean(resolution.sglang.version)
    if answer is None:
        sign, sentence = verdict_spans(resolution.outcome, f"SGLang {version}", arch)
        page.line(sign, " ", Span(f"{sentence}: {field} has no value", ("bold",)))
        error_summary(page, resolution, verbose)
        return page.text()
    page.line(Span(field, ("bold",)), Span(f" in SGLang {version} on {arch}", DIM))
    _value(page, answer, verbose)
    page.heading("steps")
    if not answer.because:
        page.line(Span("none recorded", DIM), indent=2)
    for number, step in enumerate(answer.because, 1):
        _step(page, number, step, verbose)
    quiet = [site for site in report.sites if not site.fired]
    if quiet:
        page.heading("did not fire")
    for site in quiet:
        _site(page, site, verbose)
    return page.text()


def _site(page: Page, site: Site, verbose: bool) -> None:
    """A place that could write the field and did not, with the guard that kept it quiet."""
    page.line("  ", Span(clean(site.value or "(no value)")[:60], DIM))
    page.place(place(site.file, site.line), 5, site.url)
    page.place(clean(site.function), 5, lead="in ")
    seen = site.stopped_at
    if not site.reached:
        page.paragraph("its function does not run on this launch", DIM, indent=5)
    elif seen is None:
        page.paragraph("its function runs and leaves before it", DIM, indent=5)
    else:
        lead, columns = Span("not", DIM), [5, 5 + len("because ")]
        page.row([lead, Span(condition_text(seen.text, verbose))], columns)
        for name, value in seen.values:
            page.paragraph(f"{name} is {value_text(value)} there", DIM, indent=13)
        for later in seen.later:
            text = f"order: {later.field} becomes {value_text(later.becomes)} only later, at"
            page.paragraph(text, ("yellow",), indent=13)
            page.place(place(later.file, later.line), 13, lead="")


def _value(page: Page, answer: FieldAnswer, verbose: bool) -> None:
    match answer.status:
        case "decided":
            page.line("= ", Span(value_text(answer.value, None), VALUE), indent=2)
        case "conditional":
            for case in answer.cases:
                value = Span(f"= {value_text(case.value)}", VALUE)
                page.row([value, Span(when_text(case.condition, verbose))], [2, 24])
        case "unknown":
            page.line("= ", Span("unknown", OPEN), indent=2)
            page.paragraph(reason_text(answer.reason), indent=4, hanging=2)
            if answer.reason is not None and answer.reason.file is not None:
                page.place(place(answer.reason.file, answer.reason.line), 4)


def _step(page: Page, number: int, step: Because, verbose: bool) -> None:
    mark = Span("→", ("green",)) if step.effective else Span(" ")
    words = KINDS[step.kind]
    value = Span(value_text(step.value), VALUE if step.effective else ())
    page.line(mark, f" {number}. ", value, Span(f"  {words}", DIM))
    if step.file is not None:
        page.place(place(step.file, step.line), 5, step.url)
    if step.function:
        page.place(clean(step.function), 5, lead="in ")
    for count, condition in enumerate(step.conditions):
        lead = Span("and" if count else "because", DIM)
        text = Span(condition_text(condition, True))
        page.row([lead, text], [5, 5 + len("because ")])
    if step.when:
        page.paragraph(when_text(step.when, verbose), ("yellow",), indent=5, hanging=2)
