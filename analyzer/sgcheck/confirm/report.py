"""A comparison as text, JSON (`sgcheck.confirm/1`) and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from sgcheck.confirm.comparison import Comparison, Disagreement
from sgcheck.confirm.observation import ObservedOutcome
from sgcheck.confirm.secrets import scrub, scrub_value
from sgcheck.report.document import Document, dump_pretty
from sgcheck.report.layout import Page, Span, Styles
from sgcheck.report.terminal import Terminal
from sgcheck.report.wording import clean, condition_text, count, value_text
from sgcheck.resolve.resolution import JsonValue, LaunchError, Outcome

SCHEMA = "sgcheck.confirm/1"
FORMATS = ("text", "json", "markdown")
MAX_SHOWN = 12
DIM: Styles = ("dim",)
MAX_CASE = 240
"""Characters of a condition that are shown."""


_SIGNS: dict[str, tuple[str, Styles]] = {
    "agrees": ("✓", ("bold", "green")),
    "disagrees": ("✗", ("bold", "red")),
    "inconclusive": ("?", ("bold", "yellow")),
}
_EVIDENCE = {
    "log": "a log",
    "url": "a running server",
    "simulate": "a simulation with SGLang itself",
    "live": "a live launch",
}


def exit_code(comparison: Comparison) -> int:
    """1 if something disagrees, else 0."""
    return 1 if comparison.verdict == "disagrees" else 0


def render(
    comparison: Comparison, output_format: str, terminal: Terminal, verbose: bool = False
) -> str:
    """The report in one of `FORMATS`."""
    if output_format == "json":
        return dump_pretty(document(comparison))
    if output_format == "markdown":
        return render_markdown(comparison, verbose)
    return render_text(comparison, terminal, verbose)


def document(comparison: Comparison) -> Document:
    """The JSON document. Secrets are hidden in it."""
    predicted: Document = {"status": comparison.predicted.status}
    if comparison.predicted.error is not None:
        predicted["error"] = _error(comparison.predicted.error)
    observed: Document = {
        "status": comparison.observed.status,
        "ending": scrub(comparison.observed.ending),
    }
    if comparison.observed.error is not None:
        observed["error"] = _error(comparison.observed.error)
        observed["after_resolution"] = comparison.observed.after_resolution
    target = comparison.target
    gpu: Document = {
        "name": target.gpu.name,
        "memory_mib": target.gpu.memory_mib,
        "count": target.gpu.count,
    }
    result: Document = {
        "schema": SCHEMA,
        "evidence": comparison.evidence,
        "sglang": comparison.sglang.version,
        "target": {"arch": target.arch, "gpu": gpu, "cuda": target.cuda},
        "outcome": {
            "predicted": predicted,
            "observed": observed,
            "fit": comparison.outcome_fit,
            "reason": scrub(comparison.outcome_reason),
            "case": comparison.case,
        },
        "compared": comparison.compared,
        "agree": comparison.agree,
        "disagree": [
            {"field": e.field, "predicted": e.predicted, "observed": e.observed, "place": e.place}
            for e in comparison.disagree
        ],
        "conditional": [
            {"field": e.field, "observed": e.observed, "case": e.case}
            for e in comparison.conditional
        ],
        "unknown": [
            {"field": e.field, "observed": e.observed, "reason": e.reason}
            for e in comparison.unknown
        ],
        "explained": [
            {"field": e.field, "predicted": e.predicted, "observed": e.observed, "reason": e.reason}
            for e in comparison.explained
        ],
        "not_seen": comparison.not_seen,
        "differences": list(comparison.differences),
        "log": None,
        "output": {
            "verdict": comparison.output.verdict,
            "reason": scrub(comparison.output.reason),
            "tokens_per_second": comparison.output.tokens_per_second,
        },
        "notes": [scrub(note) for note in comparison.notes],
        "verdict": comparison.verdict,
    }
    if comparison.log is not None:
        log = comparison.log
        missing: list[JsonValue] = [scrub(text) for text in log.missing]
        result["log"] = {
            "predicted": log.predicted,
            "seen": log.seen,
            "missing": missing,
            "backends": [scrub(text) for text in log.backends],
        }
    return result


def _error(error: LaunchError) -> Document:
    return {
        "type": error.type,
        "message": scrub(error.message),
        "file": error.file,
        "line": error.line,
        "function": error.function,
    }


def verdict_sentence(comparison: Comparison) -> str:
    """The result in one sentence."""
    compared, agree = comparison.compared, comparison.agree
    held = len(comparison.conditional)
    fields = (
        f"{agree} of {count(compared, 'field')} agree" if compared else "no field could be compared"
    )
    if held:
        fields += f", {held} more in one of their cases"
    match comparison.verdict:
        case "agrees":
            return f"The prediction holds: {fields}"
        case "disagrees":
            wrong = len(comparison.disagree)
            said = [count(wrong, "field disagrees", "fields disagree")] if wrong else []
            said += ["the outcome disagrees"] if comparison.outcome_fit == "disagrees" else []
            return f"The prediction is wrong: {' and '.join(said)} ({fields})"
        case "inconclusive":
            return f"Nothing contradicts the prediction, nothing proves it: {fields}"


def case_text(condition: str, verbose: bool) -> str:
    """The condition of a case, cut where it is long unless `verbose`."""
    text = condition_text(condition, verbose)
    return text if verbose or len(text) <= MAX_CASE else text[: MAX_CASE - 1].rstrip() + "…"


def outcome_sentence(comparison: Comparison, verbose: bool = False) -> str:
    """Predicted and observed outcome side by side."""
    text = (
        f"predicted: {_outcome_text(comparison.predicted)}; seen: {_seen_text(comparison.observed)}"
    )
    if comparison.case is not None:
        text += f" (the case: {case_text(comparison.case, verbose)})"
    if comparison.outcome_reason:
        text += f". {comparison.outcome_reason[0].upper()}{comparison.outcome_reason[1:]}"
    return scrub(clean(text))


def _outcome_text(outcome: Outcome) -> str:
    words = {
        "ok": "starts",
        "startup_error": "fails to start",
        "cli_error": "refused by the parser",
        "conditional": "depends",
        "unknown": "unknown",
    }[outcome.status]
    return words + (f" ({_error_text(outcome.error)})" if outcome.error is not None else "")


def _seen_text(outcome: ObservedOutcome) -> str:
    if outcome.error is None:
        return outcome.ending
    message = outcome.error.message.strip().split("\n")[0]
    return outcome.ending + (f": {message}" if message else "")


def _error_text(error: LaunchError) -> str:
    where = f" at {error.file}:{error.line}" if error.file else ""
    return f"{error.type}{where}"


def render_text(comparison: Comparison, terminal: Terminal, verbose: bool = False) -> str:
    """The report for people."""
    page = Page(terminal)
    sign, styles = _SIGNS[comparison.verdict]
    page.line(Span(sign, styles), " ", Span(verdict_sentence(comparison), ("bold",)))
    seen_in = f"SGLang {comparison.sglang.version} on {comparison.target.arch}"
    page.paragraph(
        clean(f"{seen_in}, seen in {_EVIDENCE[comparison.evidence]}: {scrub(comparison.source)}"),
        DIM,
        indent=2,
        hanging=2,
    )
    page.paragraph(outcome_sentence(comparison, verbose), DIM, indent=2, hanging=2)
    for text in (*comparison.differences, *comparison.notes):
        page.paragraph(clean(scrub(text)), ("yellow",), indent=2, hanging=2)
    _disagreements(page, comparison.disagree, verbose)
    rows = [
        (e.field, f"{_value(e.observed)}, the case: {case_text(e.case, verbose)}")
        for e in comparison.conditional
    ]
    _listing(page, "predicted with conditions", rows, verbose)
    rows = [(e.field, f"{_value(e.observed)} ({e.reason})") for e in comparison.unknown]
    _listing(page, "predicted as unknown", rows, verbose)
    rows = [
        (e.field, f"{_value(e.predicted)} → {_value(e.observed)}: {e.reason}")
        for e in comparison.explained
    ]
    _listing(page, "explained differences", rows, verbose)
    if verbose and comparison.log is not None and comparison.log.backends:
        page.heading("what the log says of backends")
        for text in comparison.log.backends:
            page.paragraph(clean(scrub(text)), DIM, indent=2, hanging=2)
    _rest(page, comparison)
    return page.text()


def _disagreements(page: Page, entries: Sequence[Disagreement], verbose: bool) -> None:
    if not entries:
        return
    page.heading("disagreements")
    for entry in entries if verbose else entries[:MAX_SHOWN]:
        predicted = _value(entry.predicted)
        page.line(Span(clean(entry.field), ("red",)), indent=2)
        page.paragraph(
            f"predicted {'one of ' if entry.cases else ''}{predicted}, seen {_value(entry.observed)}",
            indent=4,
        )
        if entry.place:
            page.place(clean(entry.place), 4)
    _more(page, len(entries), verbose)


def _listing(page: Page, title: str, rows: Sequence[tuple[str, str]], verbose: bool) -> None:
    if not rows:
        return
    page.heading(title)
    for name, text in rows if verbose else rows[:MAX_SHOWN]:
        page.row([Span(clean(name)), Span(clean(text))], [2, 40])
    _more(page, len(rows), verbose)


def _more(page: Page, number: int, verbose: bool) -> None:
    if not verbose and number > MAX_SHOWN:
        page.line(Span(f"… {number - MAX_SHOWN} more (--verbose shows them)", DIM), indent=2)


def _rest(page: Page, comparison: Comparison) -> None:
    lines = []
    if comparison.log is not None and comparison.log.predicted:
        lines.append(
            f"predicted warnings seen in the log: {comparison.log.seen} of {comparison.log.predicted}"
        )
    if comparison.output.verdict != "not tried":
        speed = comparison.output.tokens_per_second
        rate = f", {speed:.1f} tokens/s" if speed is not None else ""
        why = f" ({comparison.output.reason})" if comparison.output.reason else ""
        lines.append(f"generated text: {comparison.output.verdict}{why}{rate}")
    if comparison.not_seen:
        lines.append(f"{count(comparison.not_seen, 'field')} predicted but not seen")
    if lines:
        page.blank()
    for line in lines:
        page.paragraph(clean(scrub(line)), DIM, indent=2)


def _value(value: JsonValue) -> str:
    return value_text(scrub_value(value))


def render_markdown(comparison: Comparison, verbose: bool = False) -> str:
    """The report for an issue or a pull request."""
    sign = {"agrees": "✅", "disagrees": "❌", "inconclusive": "❔"}[comparison.verdict]
    lines = [f"### {sign} {verdict_sentence(comparison)}", ""]
    target = f"{comparison.target.arch} ({comparison.target.gpu.name})"
    lines.append(
        f"- SGLang {comparison.sglang.version}, predicted for {_md(target)}, seen in {_EVIDENCE[comparison.evidence]}"
    )
    lines.append(f"- {_md(outcome_sentence(comparison))}")
    lines += [f"- {_md(scrub(text))}" for text in (*comparison.differences, *comparison.notes)]
    if comparison.output.verdict != "not tried":
        speed = comparison.output.tokens_per_second
        rate = f", {speed:.1f} tokens/s" if speed is not None else ""
        lines.append(f"- generated text: {comparison.output.verdict}{rate}")
    rows = [("disagrees", e.field, e.predicted, e.observed, e.place) for e in comparison.disagree]
    rows += [("case held", e.field, None, e.observed, e.case) for e in comparison.conditional]
    rows += [("unknown", e.field, None, e.observed, e.reason) for e in comparison.unknown]
    rows += [
        ("explained", e.field, e.predicted, e.observed, e.reason) for e in comparison.explained
    ]
    if rows:
        lines += ["", "| | field | predicted | seen | |", "|---|---|---|---|---|"]
    for kind, name, predicted, observed, why in rows if verbose else rows[:40]:
        before = "" if kind in ("case held", "unknown") else f"`{_md(_value(predicted))}`"
        lines.append(
            f"| {kind} | `{_md(name)}` | {before} | `{_md(_value(observed))}` | {_md(clean(why))} |"
        )
    if not verbose and len(rows) > 40:
        lines += ["", f"{len(rows) - 40} more."]
    return "\n".join(lines) + "\n"


def _md(text: str) -> str:
    """Text in which nothing is Markdown."""
    text = text.replace("\n", " ").replace("`", "'").replace("|", "\\|")
    return text.replace("<", "&lt;").replace("[", "\\[").replace("@", "@\u200b")
