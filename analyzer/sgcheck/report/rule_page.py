"""A rule's page: for the terminal, as Markdown and as JSON. All of it comes from the rule's module."""

from __future__ import annotations

from collections.abc import Sequence

from sgcheck.findings.rule import Example, Rule
from sgcheck.report.document import Document
from sgcheck.report.layout import Page, Span, width_of
from sgcheck.report.terminal import Terminal

LANGUAGES = {".sh": "bash", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}


def index_text(rules: Sequence[Rule], terminal: Terminal) -> str:
    """All rules, a line each."""
    page = Page(terminal)
    width = width_of(terminal, (rule.meta.id for rule in rules))
    columns = (0, width + 2, width + 2 + len("warning") + 2)
    for rule in rules:
        meta = rule.meta
        page.row([Span(meta.id, ("bold",)), Span(meta.severity), Span(meta.summary)], columns)
    return page.text()


def index_markdown(rules: Sequence[Rule]) -> str:
    """The table of all rules, each linked to its page."""
    lines = [
        "# Rules",
        "",
        "Generated from the rules themselves. `sgcheck explain RULE` shows the same pages.",
        "",
        "| rule | severity | confidence | |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| [{rule.meta.id}]({rule.meta.id}.md) | {rule.meta.severity} | {rule.meta.confidence}"
        f" | {rule.meta.summary} |"
        for rule in rules
    ]
    return "\n".join(lines) + "\n"


def text(rule: Rule, terminal: Terminal) -> str:
    """The page for the terminal."""
    page = Page(terminal)
    meta = rule.meta
    page.line(Span(meta.id, ("bold",)), f"  {meta.severity}, {meta.confidence}, since {meta.since}")
    page.blank()
    page.paragraph(summary_of(rule))
    for title, body in rule.sections().items():
        page.heading(title)
        for paragraph in body.split("\n\n"):
            page.paragraph(" ".join(paragraph.split()), indent=2)
    for title, examples in (("Found", rule.bad), ("Not found", rule.good)):
        page.heading(title)
        for example in examples:
            page.line(Span(f"{example.file}, {with_options(example)}", ("dim",)), indent=2)
            for line in example.plain.rstrip("\n").split("\n"):
                page.line(line, indent=4)
    return page.text()


def markdown(rule: Rule) -> str:
    """The page as Markdown."""
    meta = rule.meta
    lines = [f"# {meta.id}", "", summary_of(rule), ""]
    lines += ["| severity | confidence | since |", "|---|---|---|"]
    lines += [f"| {meta.severity} | {meta.confidence} | {meta.since} |", ""]
    for title, body in rule.sections().items():
        lines += [f"## {title}", "", body, ""]
    for title, examples in (("Found", rule.bad), ("Not found", rule.good)):
        lines += [f"## {title}", ""]
        for example in examples:
            suffix = "." + example.file.rpartition(".")[2]
            lines += [f"`{example.file}`, {with_options(example)}:", ""]
            lines += [f"```{LANGUAGES.get(suffix, 'text')}", example.plain.rstrip("\n"), "```", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def document(rule: Rule) -> Document:
    """The page as JSON."""
    meta = rule.meta
    return {
        "id": meta.id,
        "summary": meta.summary,
        "severity": meta.severity,
        "confidence": meta.confidence,
        "since": meta.since,
        "module": rule.module,
        "text": summary_of(rule),
        "sections": dict(rule.sections()),
        "bad": [example.plain for example in rule.bad],
        "good": [example.plain for example in rule.good],
    }


def summary_of(rule: Rule) -> str:
    """The docstring's first paragraph, on one line."""
    return " ".join(rule.doc.partition("\n## ")[0].split())


def with_options(example: Example) -> str:
    """The options with which an example is scanned, in words."""
    parts = [f"SGLang {example.sglang}"]
    if example.gpu is not None:
        parts.append(f"on {example.gpu}")
    if example.model is not None:
        parts.append(f"model {example.model}")
    return " ".join(parts)
