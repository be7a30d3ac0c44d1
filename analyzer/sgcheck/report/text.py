"""The text report of `check`: does it start, which backends, what was overwritten, what is open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sgcheck.report.answers import (
    DIM,
    FORCED,
    MAX_CASES,
    OPEN,
    AnswerWriter,
    is_changed_by_tree,
    is_forced,
)
from sgcheck.report.document import Selection, is_changed
from sgcheck.report.layout import NO_BREAK, Page, Span
from sgcheck.report.running import running_block
from sgcheck.report.terminal import Terminal
from sgcheck.report.wording import (
    argv_text,
    clean,
    condition_text,
    count,
    guard_text,
    place,
    reason_text,
    value_text,
)
from sgcheck.resolve.resolution import (
    FieldAnswer,
    LaunchError,
    LogLine,
    Outcome,
    Resolution,
    Target,
)

if TYPE_CHECKING:
    from sgcheck.report.formats import Report

MAX_BLOCKS = 3
MAX_GUARDS = 3
MAX_LOG_LINES = 5
MAX_REASONS = 6
MAX_NAMES = 3
WARNING_LEVELS = frozenset({"WARNING", "ERROR", "CRITICAL"})


def render(report: Report) -> str:
    """A block per target, or one table when there are many."""
    if len(report.results) > MAX_BLOCKS:
        from sgcheck.report.table import render_table

        fields = sorted(report.selection.names or ())
        return render_table(report.results, report.terminal, fields)
    return "\n".join(
        render_check(result, report.terminal, report.selection, report.verbose)
        for result in report.results
    )


def render_check(
    resolution: Resolution,
    terminal: Terminal,
    selection: Selection | None = None,
    verbose: bool = False,
) -> str:
    """The report of one launch on one target.

    Fields chosen by name or by `changed` are listed in full; `verbose` lifts all limits.
    """
    selection = selection or Selection()
    page = Page(terminal)
    writer = AnswerWriter(page, resolution.argv, verbose)
    _verdict(page, resolution)
    _outcome_details(writer, resolution.outcome)
    writer.table(resolution.effective)
    if resolution.running is not None:
        running_block(page, resolution.running, verbose)
    if selection.names is not None or selection.changed:
        title = "fields that are not at their default" if selection.changed else "fields"
        writer.listing(title, selection.fields_of(resolution))
    writer.forced([answer for answer in resolution.fields.values() if is_forced(answer)])
    writer.passed_on(
        [a for a in resolution.fields.values() if a.passed_on and is_changed_by_tree(a)]
    )
    _log(writer, resolution.log)
    _environment(page, resolution)
    _counts(writer, list(resolution.fields.values()))
    return page.text()


def verdict_spans(outcome: Outcome, release: str, arch: str) -> tuple[Span, str]:
    """The sign of an outcome and the sentence that says it."""
    match outcome.status:
        case "ok":
            return Span("✓", ("bold", "green")), f"{release} starts on {arch}"
        case "startup_error":
            return Span("✗", ("bold", "red")), f"{release} fails to start on {arch}"
        case "cli_error":
            return Span("✗", ("bold", "red")), f"{release} refuses these flags on {arch}"
        case "conditional":
            sign = Span("!", ("bold", "yellow"))
            return sign, f"{release} starts on {arch}, but not in every case"
        case "unknown":
            sign = Span("?", ("bold", "magenta"))
            if outcome.stage is not None:
                how_far = f"beyond its arguments it was followed to: {outcome.stage}"
                return sign, f"{release} takes these arguments on {arch}; {how_far}"
            return sign, f"It cannot be said whether {release} starts on {arch}"


def target_text(target: Target) -> str:
    """`8 × NVIDIA H200 (140.4 GiB each), CUDA 13.0`."""
    gpu = target.gpu
    parts = []
    if gpu.name:
        each = " each" if gpu.count != 1 else ""
        memory = f" ({gpu.memory_mib / 1024:.1f} GiB{each})" if gpu.memory_mib else ""
        number = "any number of" if "count" in target.unknown else f"{gpu.count} ×"
        parts.append(f"{number} {clean(gpu.name)}{memory}")
    if target.unknown and not gpu.name:
        parts.append("each with its usual GPU" if "arch" in target.unknown else "any GPU")
    if "cuda" in target.unknown:
        parts.append("any CUDA version")
    elif target.cuda:
        parts.append(f"CUDA {clean(target.cuda)}")
    return ", ".join(parts) or "machine not modelled"


def arch_text(target: Target) -> str:
    """`sm120`, or that it may be any."""
    return "any architecture" if "arch" in target.unknown else clean(target.arch)


def model_text(resolution: Resolution) -> str:
    """The model in a few words, and what is known of it."""
    model = resolution.model
    if model.source == "unknown":
        return "model unknown (give --model to decide more)"
    name = clean(model.name or "without a name")
    architecture = clean(model.architecture or "architecture unknown")
    return f"model {name}: {architecture} (from a {model.source})"


def error_text(error: LaunchError) -> str:
    """`ValueError: message`."""
    message = clean(error.message).strip()
    return clean(error.type) + (f": {message}" if message else " without a message")


def error_lines(writer: AnswerWriter, error: LaunchError, indent: int) -> None:
    """Type and message, then where it is raised and under which conditions."""
    page, below = writer.page, indent + 2
    page.paragraph(error_text(error), ("red",), indent, hanging=2)
    if error.file is not None:
        page.place(place(error.file, error.line), below, error.url)
        if error.function:
            page.place(clean(error.function), below, lead="in ")
    tip_line(page, error, below)
    shown = error.conditions if writer.verbose else error.conditions[-MAX_GUARDS:]
    for number, condition in enumerate(shown):
        lead = Span("and" if number else "because", DIM)
        text = Span(guard_text(condition, writer.verbose))
        page.row([lead, text], [below, below + len("because ")])
    if hidden := len(error.conditions) - len(shown):
        hint = f"(+{count(hidden, 'outer condition')})"
        page.row([Span(hint, DIM)], [below])


def tip_line(page: Page, error: LaunchError, indent: int) -> None:
    """What to write instead, where that is known."""
    if error.tip is not None:
        page.paragraph(f"tip: {clean(error.tip)}", ("yellow",), indent, hanging=len("tip: "))


def _verdict(page: Page, resolution: Resolution) -> None:
    release, arch = f"SGLang {clean(resolution.sglang.version)}", arch_text(resolution.target)
    sign, sentence = verdict_spans(resolution.outcome, release, arch)
    page.line(sign, " ", Span(sentence, ("bold",)))
    page.paragraph(target_text(resolution.target), DIM, indent=2)
    page.paragraph(model_text(resolution), DIM, indent=2, hanging=2)
    if resolution.argv:
        page.paragraph(argv_text(resolution.argv), DIM, indent=2, hanging=2)
    if resolution.assumed:
        paths = ", ".join(f"{clean(a.path)} ({a.kind})" for a in resolution.assumed)
        page.paragraph(f"assumed to be there on the machine: {paths}", DIM, indent=2, hanging=2)


def _outcome_details(writer: AnswerWriter, outcome: Outcome) -> None:
    page = writer.page
    if outcome.error is not None:
        page.blank()
        if outcome.status == "cli_error":
            page.paragraph(clean(outcome.error.message), ("red",), indent=2, hanging=2)
            tip_line(page, outcome.error, 4)
        else:
            error_lines(writer, outcome.error, 2)
    if outcome.reason is not None:
        page.blank()
        page.paragraph(reason_text(outcome.reason), OPEN, indent=2, hanging=2)
        if outcome.reason.file is not None:
            page.place(place(outcome.reason.file, outcome.reason.line), 4)
    failing = [case for case in outcome.cases if case.status != "ok"]
    for case in failing if writer.verbose else failing[:MAX_CASES]:
        page.blank()
        verb = {"startup_error": "fails", "cli_error": "is refused"}.get(case.status, "is unknown")
        condition = condition_text(case.condition, writer.verbose)
        page.paragraph(f"{verb} if {condition}", ("yellow",), indent=2, hanging=2)
        if case.error is not None:
            error_lines(writer, case.error, 4)
    writer.rest(len(failing), "case", 2)


def error_summary(page: Page, resolution: Resolution, verbose: bool = False) -> None:
    """Only what is wrong with a launch: its error, its failing cases or why nothing is known."""
    _outcome_details(AnswerWriter(page, resolution.argv, verbose), resolution.outcome)


def _environment(page: Page, resolution: Resolution) -> None:
    if not resolution.env_after:
        return
    page.heading("environment that SGLang changes")
    changes = [
        f"{clean(name)} removed" if value is None else f"{clean(name)}={value_text(value)}"
        for name, value in resolution.env_after.items()
    ]
    page.paragraph("  ".join(text.replace(" ", NO_BREAK) for text in changes), indent=2)


def _log(writer: AnswerWriter, lines: Iterable[LogLine]) -> None:
    page, verbose = writer.page, writer.verbose
    shown = [line for line in lines if verbose or line.level in WARNING_LEVELS]
    if not shown:
        return
    page.heading("SGLang will log" if verbose else "SGLang will warn")
    for line in shown if verbose else shown[:MAX_LOG_LINES]:
        level = f"{clean(line.level).lower()}: " if verbose or line.level != "WARNING" else ""
        page.paragraph(level + clean(line.message), indent=2, hanging=2)
        if line.when:
            when = f"if {condition_text(line.when, verbose)}"
            page.paragraph(when, FORCED, indent=4, hanging=2)
        page.place(place(line.file, line.line), 4)
    writer.rest(len(shown), "line", 2, MAX_LOG_LINES)


def _counts(writer: AnswerWriter, answers: list[FieldAnswer]) -> None:
    """How many fields are decided, and why the others are not."""
    if not answers:
        return
    number = dict.fromkeys(("decided", "conditional", "unknown"), 0)
    for answer in answers:
        number[answer.status] += 1
    writer.page.blank()
    writer.page.paragraph(
        f"{count(len(answers), 'field')}: {number['decided']:,} decided, "
        f"{number['conditional']:,} conditional, {number['unknown']:,} unknown; "
        f"{sum(map(is_changed, answers)):,} not at their default"
    )
    groups: dict[str, list[FieldAnswer]] = {}
    for answer in answers:
        if answer.status == "unknown":
            groups.setdefault(reason_text(answer.reason), []).append(answer)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    for reason, group in ranked if writer.verbose else ranked[:MAX_REASONS]:
        names = [answer.name for answer in group]
        shown = names if writer.verbose else names[:MAX_NAMES]
        more = f", … (+{len(names) - len(shown)})" if len(names) > len(shown) else ""
        text = f"{len(names)} unknown: {reason} ({', '.join(shown)}{more})"
        writer.page.paragraph(text, OPEN, indent=2, hanging=2)
        places = {place(a.reason.file, a.reason.line) for a in group if a.reason and a.reason.file}
        if len(places) == 1:
            writer.page.place(places.pop(), 4)
    writer.rest(len(ranked), "reason", 2, MAX_REASONS)
