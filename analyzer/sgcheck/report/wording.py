"""How single facts read in text: values, places, reasons and conditions."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from sgcheck.report import harmless
from sgcheck.report.document import same_value
from sgcheck.report.layout import NO_BREAK
from sgcheck.resolve.resolution import Because, FieldAnswer, JsonValue, Reason

SHOWN_CHOICES = 2
SHOWN_CONDITIONS = 2
MAX_GUARD = 120
MAX_VALUE = 60
MAX_CONDITION = 280
OUTCOME_WORDS = {
    "ok": "starts",
    "startup_error": "fails",
    "cli_error": "refused",
    "conditional": "depends",
    "unknown": "unknown",
}
"""Characters of a condition; what is beyond is cut between two of its parts."""

clean = harmless.clean

_BARE_WORD = re.compile(r"[\w./:+@-]+\Z")
_CHOICES = re.compile(r"\b((?:one|none) of )((?:[^\s,;()]+, ){2,}[^\s,;()]+)")
_STEP = re.compile(r" (?:and|or) ")


def value_text(value: JsonValue, limit: int | None = MAX_VALUE) -> str:
    """A value as Python writes it, plain words without quotes, at most `limit` characters."""
    text = value if isinstance(value, str) and _is_plain(value) else repr(value)
    text = clean(text).replace("\n", " ")
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    return text


def argv_text(argv: Sequence[str]) -> str:
    """A command line as a shell takes it; a flag stays on one line with its value."""
    text = ""
    for word in argv:
        quoted = shlex.quote(clean(word).replace("\n", " ")).replace(" ", NO_BREAK)
        is_value = not word.startswith("-") and text.rpartition(" ")[2].startswith("--")
        has_value = NO_BREAK in text.rpartition(" ")[2]
        text += ("" if not text else NO_BREAK if is_value and not has_value else " ") + quoted
    return text


def flag_in(argv: Sequence[str], field: str) -> str | None:
    """The flag of `field` as `argv` spells it, None where it is spelled another way."""
    flag = "--" + field.replace("_", "-")
    return flag if any(word.partition("=")[0] == flag for word in argv) else None


def place(file: str | None, line: int | None) -> str:
    """`file:line`, or what is known of it."""
    if file is None:
        return ""
    return clean(file) if line is None else f"{clean(file)}:{line}"


def reason_text(reason: Reason | None) -> str:
    """Why something is unknown, in one line."""
    if reason is None:
        return "no reason recorded"
    text = reason.code if not reason.detail else f"{reason.code}: {reason.detail}"
    return clean(text).replace("\n", " ")


def condition_text(condition: str, verbose: bool = False) -> str:
    """A condition; unless `verbose`, long lists of choices and what is long itself are cut."""
    text = clean(condition).replace("\n", " ")
    if verbose:
        return text
    text = _CHOICES.sub(_shorten, text)
    if len(text) <= MAX_CONDITION:
        return text
    kept = _cut(text)
    return kept + ")" * (kept.count("(") - kept.count(")"))


def _cut(text: str) -> str:
    """The first parts of a condition, and how it goes on; rather whole parts than a torn one."""
    ends = [m for m in _STEP.finditer(text) if m.start() <= MAX_CONDITION]
    outer = [m for m in ends if text.count("(", 0, m.start()) == text.count(")", 0, m.start())]
    for found in (outer, ends):
        if found and found[-1].start() >= MAX_CONDITION // 4:
            return f"{text[: found[-1].end()]}…"
    return text[:MAX_CONDITION] + "…"


def effective_steps(answer: FieldAnswer) -> list[Because]:
    """The steps whose value is final. Without a marked one: the last whose value is the answer's."""
    marked = [step for step in answer.because if step.effective]
    if marked or answer.status != "decided":
        return marked
    for step in reversed(answer.because):
        if same_value(step.value, answer.value):
            return [step]
    return []


def when_text(condition: str, verbose: bool = False) -> str:
    """`if …`, or the word itself for `otherwise`."""
    text = condition_text(condition, verbose)
    return text if text in ("otherwise", "always") else f"if {text}"


def guard_text(guard: str, verbose: bool = False) -> str:
    """A guard as the source writes it, cut at `MAX_GUARD` characters unless `verbose`."""
    text = condition_text(guard, verbose=True)
    return text if verbose or len(text) <= MAX_GUARD else text[: MAX_GUARD - 1] + "…"


def step_lines(step: Because, flag: str | None, verbose: bool = False) -> list[str]:
    """Why a step gave its value, without its place, a line per guard (the outer ones not shown).

    `flag` is the spelling that the user chose, if that is known.
    """
    match step.kind:
        case "default":
            return ["default"]
        case "flag":
            return [f"set by {flag or 'your flag'}"]
        case "env":
            return ["set by the environment"]
        case "declared" | "write":
            pass
    if step.conditions:
        shown = step.conditions if verbose else step.conditions[-SHOWN_CONDITIONS:]
        lines = ["and " + guard_text(guard, verbose) for guard in shown]
        lines[0] = "because " + lines[0].removeprefix("and ")
        if hidden := len(step.conditions) - len(shown):
            lines.append(f"(+{count(hidden, 'outer condition')})")
        return lines
    if step.when:
        return [when_text(step.when, verbose)]
    # No guard is recorded. That is not the same as being written on every launch, so don't say so.
    function = clean(step.function).rsplit(".", 1)[-1] if step.function else ""
    return [f"set in {function}" if function else "set by SGLang"]


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 field`, `2 fields`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def _is_plain(value: str) -> bool:
    return bool(_BARE_WORD.match(value)) and value not in {"None", "True", "False"}


def _shorten(match: re.Match[str]) -> str:
    names = match[2].split(", ")
    if len(names) <= SHOWN_CHOICES + 1:
        return match[0]
    shown = ", ".join(names[:SHOWN_CHOICES])
    return f"{match[1]}{shown}, … (+{len(names) - SHOWN_CHOICES})"
