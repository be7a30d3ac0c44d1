"""Answers about the rule graph as text, and as plain data for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sgcheck.graph.colour import Colour
from sgcheck.graph.never import Never
from sgcheck.graph.queries import (
    ArchitectureUse,
    Cycle,
    Forced,
    Influence,
    OrderTrap,
    Setter,
    Step,
)
from sgcheck.report.layout import Page, Span, Styles
from sgcheck.report.terminal import Terminal
from sgcheck.report.wording import clean, count, guard_text, place

_DIM: Styles = ("dim",)
_BOLD: Styles = ("bold",)
_WORDS = {
    "decided": "gave the final value",
    "fired": "fired",
    "failed": "stopped the start",
    "not-fired": "did not fire",
    "not-reached": "not reached",
    "not-seen": "may fire",
    "dead": "cannot fire on this machine",
}


def as_data(answers: Sequence[Any]) -> list[dict[str, Any]]:
    """The answers of one query as plain data."""
    return [asdict(answer) for answer in answers]


class AnswerPage:
    """Writes answers of `sgcheck.graph.queries` on a page."""

    def __init__(
        self, terminal: Terminal, verbose: bool, colours: Mapping[str, Colour] | None
    ) -> None:
        self.page = Page(terminal)
        self.verbose = verbose
        self.colours = colours

    def text(self) -> str:
        """What was written."""
        return self.page.text()

    def title(self, text: str, rest: str = "") -> None:
        """The first line of an answer."""
        self.page.line(Span(clean(text), _BOLD), Span(clean(rest), _DIM))

    def none(self, text: str) -> None:
        """An empty answer."""
        self.page.line(Span(text, _DIM), indent=2)

    def setters(self, answers: Sequence[Setter]) -> None:
        """What can set a field, in order."""
        for number, answer in enumerate(answers, 1):
            self._step(f"{number}. ", answer.step)
            if answer.step.rule != "default":
                self._depends(answer.depends)

    def influences(self, answers: Sequence[Influence]) -> None:
        """What something can change, the nearest first."""
        for answer in answers:
            far = count(answer.distance, "rule")
            last = answer.through[-1] if answer.through else None
            where = f"  {place(last.file, last.line)}" if last is not None else ""
            self.page.line(clean(answer.field), Span(f"  {far}{where}", _DIM), indent=2)

    def uses(self, answers: Sequence[ArchitectureUse]) -> None:
        """Rules that ask the hardware."""
        for answer in answers:
            self._step("", answer.step)
            self.page.paragraph("asks " + clean(", ".join(answer.probes)), indent=5, hanging=2)

    def traps(self, answers: Sequence[OrderTrap]) -> None:
        """Conditions that look too early."""
        for answer in answers:
            missed = " or ".join(answer.missed)
            text = (
                f"a condition waits for {answer.value}, but {missed} becomes {answer.value} "
                "only later"
            )
            self.page.line(Span(clean(answer.field), _BOLD), indent=2)
            self.page.paragraph(clean(text), indent=4, hanging=2)
            early, late = answer.early, answer.late
            self.page.place(place(early.file, answer.line), 4, None, lead="asked at ")
            condition = guard_text(answer.condition, self.verbose)
            self.page.paragraph(condition, _DIM, indent=6, hanging=2)
            what = early.field or early.rule
            self.page.place(place(early.file, early.line), 6, early.url, lead=f"for {what} at ")
            self.page.place(place(late.file, late.line), 4, late.url, lead="rewritten at ")

    def forced(self, answers: Sequence[Forced]) -> None:
        """Writes that replace a user's flag."""
        for answer in answers:
            self._step(f"{' '.join(answer.flags)}: ", answer.step)
            if answer.looks:
                self.page.paragraph("a condition looks at the value given", _DIM, indent=5)

    def cycles(self, answers: Sequence[Cycle]) -> None:
        """Fields that decide each other, with each step's place."""
        for answer in answers:
            names = " → ".join((*answer.fields, answer.fields[0]))
            self.page.line(clean(names), indent=2)
            for step in answer.steps:
                self.page.place(place(step.file, step.line), 4, step.url)

    def never(self, answers: Sequence[Never]) -> None:
        """Settings that only dead rules look at."""
        for answer in answers:
            flags = f"  {' '.join(answer.flags)}" if answer.flags else ""
            self.page.line(Span(clean(answer.name), _BOLD), Span(clean(flags), _DIM), indent=2)
            shown = answer.readers if self.verbose else answer.readers[:2]
            for reader in shown:
                self.page.place(place(reader.step.file, reader.step.line), 5, reader.step.url)
                text = f"dead because of {guard_text(reader.because, self.verbose)}"
                self.page.paragraph(clean(text), indent=5, hanging=2)
            if len(shown) < len(answer.readers):
                more = count(len(answer.readers) - len(shown), "more dead rule")
                self.page.line(Span(f"(+{more})", _DIM), indent=5)
            for where in answer.elsewhere[:1]:
                self.page.place(clean(where), 5, lead="also named at ")

    def _step(self, lead: str, step: Step) -> None:
        name = step.field or step.rule
        value = f" = {step.value}" if step.field is not None and step.value is not None else ""
        text = clean(f"{name}{value}").replace("\n", " ")
        if not self.verbose and len(text) > 100:
            text = text[:99] + "…"
        found = (self.colours or {}).get(step.node)
        state = f"  {_WORDS[found.name]}" if found is not None and found.name in _WORDS else ""
        kind = "" if step.rule in ("write", "declare") else f"  {step.rule}"
        self.page.line(clean(lead), Span(text, _BOLD), Span(kind + state, _DIM), indent=2)
        self.page.place(place(step.file, step.line), 5, step.url)
        shown = step.conditions if self.verbose else step.conditions[-3:]
        for number, condition in enumerate(shown):
            word = Span("and" if number else "if", _DIM)
            self.page.row([word, Span(guard_text(condition, self.verbose))], [5, 9])
        if len(shown) < len(step.conditions):
            hidden = count(len(step.conditions) - len(shown), "outer condition")
            self.page.line(Span(f"(+{hidden})", _DIM), indent=9)
        if found is not None and found.blocked_by:
            self.page.paragraph(
                f"held back by {guard_text(found.blocked_by, self.verbose)}",
                ("yellow",),
                indent=5,
                hanging=2,
            )

    def _depends(self, depends: Sequence[str]) -> None:
        names = [name.partition(":")[2] for name in depends]
        limit = len(names) if self.verbose else 8
        if names:
            more = f", … (+{len(names) - limit})" if len(names) > limit else ""
            text = "depends on " + ", ".join(names[:limit]) + more
            self.page.paragraph(clean(text), _DIM, indent=5, hanging=2)
