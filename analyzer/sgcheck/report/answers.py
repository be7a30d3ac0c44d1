"""Answers in text: the table of backends, and fields one below the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sgcheck.report.document import same_value
from sgcheck.report.layout import Page, Span, Styles, width_of
from sgcheck.report.wording import (
    count,
    effective_steps,
    flag_in,
    place,
    reason_text,
    step_lines,
    value_text,
    when_text,
)
from sgcheck.resolve.resolution import Because, Case, FieldAnswer

MAX_CASES = 6
MAX_BESIDE = 2
"""Lines that a condition may take beside its value; a longer one goes below it."""
VALUE_WIDTH = 19

VALUE: Styles = ("bold",)
DIM: Styles = ("dim",)
OPEN: Styles = ("magenta",)
FORCED: Styles = ("yellow",)


class AnswerWriter:
    """Writes answers on a page. `argv` tells how the user spelled a flag."""

    def __init__(self, page: Page, argv: Sequence[str], verbose: bool) -> None:
        self.page = page
        self.argv = argv
        self.verbose = verbose

    def table(self, roles: Mapping[str, Mapping[str, FieldAnswer]]) -> None:
        """Backends of main and draft: name, value, why; the columns are the same in all roles."""
        names = [name for answers in roles.values() for name in answers]
        value_at = 2 + width_of(self.page.terminal, names) + 2
        columns = (2, value_at, value_at + VALUE_WIDTH + 1)
        seen: dict[str, tuple[str, str, FieldAnswer]] = {}
        for role, answers in roles.items():
            if not answers:
                continue
            self.page.heading(role)
            for name, answer in answers.items():
                first_role, first, shown = seen.setdefault(answer.name, (role, name, answer))
                same_as = None
                if shown == answer and (first_role, first) != (role, name) and _is_long(answer):
                    same_as = first if first_role == role else f"{first_role} {first}"
                self._row(name, answer, columns, same_as)

    def listing(self, title: str, answers: Mapping[str, FieldAnswer]) -> None:
        """Fields one below the other, each with its value and what made it so."""
        self.page.heading(title)
        if not answers:
            self.page.line(Span("none", DIM), indent=2)
        for name, answer in answers.items():
            if answer.status == "conditional":
                self.page.line(name, indent=2)
                self._cases(answer.cases, 4)
                continue
            value = Span("unknown", OPEN)
            if answer.status == "decided":
                value = Span(value_text(answer.value, None), VALUE)
            self.page.line(f"{name} = ", value, indent=2)
            self._why(answer, 4)

    def forced(self, answers: Sequence[FieldAnswer]) -> None:
        """Flags whose value SGLang does not keep, on all paths or on some."""
        if not answers:
            return
        self.page.heading("your flags that SGLang overwrites")
        for answer in answers:
            flag = flag_in(self.argv, answer.name) or answer.name
            given = value_text(answer.user_value)
            if answer.status == "decided":
                value = Span(value_text(answer.value), ("bold", *FORCED))
                self.page.line(f"{flag} {given} → ", value, indent=2)
                self._why(answer, 4)
            else:
                self.page.line(f"{flag} {given}", indent=2)
                changed = [c for c in answer.cases if not same_value(c.value, answer.user_value)]
                self._cases(changed, 4, "→ ")

    def passed_on(self, answers: Sequence[FieldAnswer]) -> None:
        """Flags whose value SGLang uses in another field or another form."""
        if not answers:
            return
        self.page.heading("your flags that SGLang converts or moves")
        for answer in answers:
            flag = flag_in(self.argv, answer.name) or answer.name
            names = [name for name in answer.passed_on if name != answer.name]
            where = f" (to {', '.join(names)})" if names else ""
            given = value_text(answer.user_value)
            if answer.status == "decided":
                value = Span(value_text(answer.value), VALUE)
                self.page.line(f"{flag} {given} → ", value, where, indent=2)
            else:
                self.page.line(f"{flag} {given}{where}", indent=2)
                self._cases(answer.cases, 4, "→ ")

    def rest(self, total: int, noun: str, indent: int, limit: int = MAX_CASES) -> None:
        """Says how much a limit hid."""
        if not self.verbose and total > limit:
            text = f"… {count(total - limit, 'more ' + noun)} (--verbose shows all)"
            self.page.line(Span(text, DIM), indent=indent)

    def _row(
        self, name: str, answer: FieldAnswer, columns: tuple[int, int, int], same_as: str | None
    ) -> None:
        _, value_at, _ = columns
        if same_as is not None:
            self.page.row([Span(name), Span(f"same as {same_as}", DIM)], columns[:2])
        elif answer.status == "conditional":
            shown = answer.cases if self.verbose else answer.cases[:MAX_CASES]
            for number, case in enumerate(shown):
                value = Span(value_text(case.value), VALUE)
                when = when_text(case.condition, self.verbose)
                label = Span("" if number else name)
                if len(when) <= MAX_BESIDE * (self.page.terminal.width - columns[2]):
                    self.page.row([label, value, Span(when)], columns)
                else:
                    self.page.row([label, value], columns[:2])
                    self.page.paragraph(when, indent=value_at + 2, hanging=2)
            self.rest(len(answer.cases), "value", value_at)
        elif answer.status == "unknown":
            self._row_with_reason(name, Span("unknown", OPEN), answer, columns)
        else:
            value = Span(value_text(answer.value), VALUE)
            self._row_with_reason(name, value, answer, columns)

    def _row_with_reason(
        self, name: str, value: Span, answer: FieldAnswer, columns: tuple[int, int, int]
    ) -> None:
        """The reason stands beside the value if it fits there in one line, else below it."""
        _, value_at, reason_at = columns
        lines = self._reason(answer)
        reason = " ".join(lines)
        if max(reason_at, value_at + len(value.text) + 1) + len(reason) <= self.page.terminal.width:
            self.page.row([Span(name), value, Span(reason)], columns)
        else:
            self.page.row([Span(name), value], columns[:2])
            self._paragraphs(lines, value_at)
        self._places(answer, value_at)

    def _cases(self, cases: Sequence[Case], indent: int, lead: str = "") -> None:
        for case in cases if self.verbose else cases[:MAX_CASES]:
            value = Span(lead + value_text(case.value), FORCED if lead else VALUE)
            when = Span(when_text(case.condition, self.verbose))
            self.page.row([value, when], [indent, indent + VALUE_WIDTH + 1 + len(lead)])
        self.rest(len(cases), "value", indent)

    def _why(self, answer: FieldAnswer, indent: int) -> None:
        self._paragraphs(self._reason(answer), indent)
        self._places(answer, indent)

    def _paragraphs(self, lines: Sequence[str], indent: int) -> None:
        """One paragraph if it fits in one line, else one per guard."""
        whole = " ".join(lines)
        if indent + len(whole) <= self.page.terminal.width:
            lines = [whole] if whole else []
        for line in lines:
            self.page.paragraph(line, indent=indent, hanging=2)

    def _reason(self, answer: FieldAnswer) -> list[str]:
        if answer.status == "unknown":
            return [reason_text(answer.reason)]
        steps = _reasons(answer)
        flag = flag_in(self.argv, answer.name)
        return step_lines(steps[-1], flag, self.verbose) if steps else []

    def _places(self, answer: FieldAnswer, indent: int) -> None:
        """The lines that wrote the value or left it unknown; defaults and flags need none."""
        if answer.status == "unknown":
            if answer.reason is not None and answer.reason.file is not None:
                self.page.place(place(answer.reason.file, answer.reason.line), indent)
            return
        for step in _reasons(answer):
            if step.kind in ("write", "declared", "env") and step.file is not None:
                self.page.place(place(step.file, step.line), indent, step.url)


def is_forced(answer: FieldAnswer) -> bool:
    """True when the user set the field and some path ends with another value that it is not used for."""
    return is_changed_by_tree(answer) and not answer.passed_on


def is_changed_by_tree(answer: FieldAnswer) -> bool:
    """True when the user set the field and some path ends with another value."""
    if not answer.user_set or answer.status == "unknown" or answer.user_value == "?":
        return False
    if answer.status == "decided":
        return not same_value(answer.value, answer.user_value)
    return any(not same_value(case.value, answer.user_value) for case in answer.cases)


def _reasons(answer: FieldAnswer) -> list[Because]:
    """The steps to show: where some paths only write again what was there, what was there."""
    steps = effective_steps(answer)
    if answer.status == "decided" and len(steps) > 1:
        first = [step for step in steps if step.kind in ("flag", "default")]
        return first or steps
    return steps


def _is_long(answer: FieldAnswer) -> bool:
    """True for an answer that takes several lines."""
    if answer.status != "decided":
        return True
    return any(step.kind in ("write", "declared", "env") for step in _reasons(answer))
