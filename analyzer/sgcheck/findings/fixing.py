"""Fixes of one file, each proved harmless: the changed file is read and resolved again.

A fix stays only if the changed file holds the same launches with nothing but the new spelling in them, if
they resolve to the same values, if its finding is gone, and if no other finding has come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sgcheck.findings.checking import Checked
from sgcheck.findings.edits import Edit, apply, compatible, locate
from sgcheck.findings.model import Finding, Fix
from sgcheck.resolve.resolution import FieldAnswer, LaunchError, Resolution
from sgcheck.scan.model import Launch, Word

Read = Callable[[str], Sequence[Launch]]
Check = Callable[[Sequence[Launch]], Sequence[Checked]]
STRICT_RULES = ("cli-refused", "repeated-flag")
"""Rules that may report nothing new even where a launch is resolved for the first time."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A file before and after its fixes. `applied` are the findings that are gone."""

    before: str
    after: str
    applied: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _State:
    """What a file's text gives."""

    launches: Sequence[Launch]
    checked: Sequence[Checked]


def fix_text(text: str, wanted: Collection[Finding], read: Read, check: Check) -> Fixed:
    """The text with the fixes of `wanted` that can be proved.

    `read` gives the launches of a text of this file, `check` their findings with whole resolutions.
    """
    marks = {_mark(finding) for finding in wanted}
    launches = read(text)
    before = _State(launches, check(launches))
    edits: dict[Edit, list[Finding]] = {}
    for checked in before.checked:
        for finding in checked.findings:
            if finding.fix is not None and _mark(finding) in marks:
                edit = locate(text, finding.fix)
                if edit is not None:
                    edits.setdefault(edit, []).append(finding)
    chosen = compatible(edits)
    if not chosen:
        return Fixed(text, text)

    def holds(some: Sequence[Edit]) -> bool:
        return _proved(text, some, before, read, check)

    if not holds(chosen):
        chosen = _one_by_one(chosen, holds)
    applied = {_mark(finding): finding for edit in chosen for finding in edits[edit]}
    return Fixed(text, apply(text, chosen), tuple(applied.values()))


def _one_by_one(edits: Sequence[Edit], holds: Callable[[Sequence[Edit]], bool]) -> list[Edit]:
    """The edits that hold together, the earlier ones first."""
    kept: list[Edit] = []
    for edit in edits:
        if holds([*kept, edit]):
            kept.append(edit)
    return kept


def _mark(finding: Finding) -> tuple[object, ...]:
    return (finding.rule, finding.place, finding.message)


def _proved(text: str, edits: Sequence[Edit], before: _State, read: Read, check: Check) -> bool:
    changed = apply(text, edits)
    launches = read(changed)
    if len(launches) != len(before.launches):
        return False
    fixes = [_fixes_of(each, text, edits) for each in before.checked]
    for old, new, some in zip(before.launches, launches, fixes, strict=True):
        if _content(new) != _expected(old, some):
            return False
    after = check(launches)
    return all(
        _same_effect(old, new, some)
        for old, new, some in zip(before.checked, after, fixes, strict=True)
    )


def _fixes_of(checked: Checked, text: str, edits: Collection[Edit]) -> list[tuple[str, Fix]]:
    """The fixes of a launch that the edits carry out, with their rules."""
    return [
        (finding.rule, finding.fix)
        for finding in checked.findings
        if finding.fix is not None and locate(text, finding.fix) in edits
    ]


def _content(launch: Launch) -> tuple[object, ...]:
    """What a launch says, places aside."""
    words = [_word(word) for word in launch.merged_argv()]
    env = {name: _word(variable.value) for name, variable in launch.env.items()}
    foreign = [_word(word) for word in launch.foreign]
    around = (launch.role, launch.group, launch.name, launch.label, launch.assumptions)
    return words, env, foreign, around


def _word(word: Word) -> tuple[object, ...]:
    return word.text, word.prefix, word.choices, word.many


def _expected(launch: Launch, fixes: Iterable[tuple[str, Fix]]) -> tuple[object, ...]:
    """What the launch must say after the fixes."""
    _, _, foreign, around = _content(launch)
    words = [(word.span, _word(word)) for word in launch.merged_argv()]
    env = {name: _word(variable.value) for name, variable in launch.env.items()}
    for _, fix in fixes:
        if fix.kind == "variable":
            env = {fix.new if name == fix.old else name: value for name, value in env.items()}
            continue
        for index, (span, (text, prefix, *rest)) in enumerate(words):
            if span == fix.span:
                words[index] = (span, (_renamed(text, fix), _renamed(prefix, fix), *rest))
    return [word for _, word in words], env, foreign, around


def _renamed(text: object, fix: Fix) -> object:
    """The word with another name in front of its `=`, or alone."""
    if not isinstance(text, str):
        return text
    name, equals, value = text.partition("=")
    return fix.new + equals + value if name == fix.old else text


def _same_effect(before: Checked, after: Checked, fixes: Sequence[tuple[str, Fix]]) -> bool:
    was = Counter(finding.rule for finding in before.findings)
    now = Counter(finding.rule for finding in after.findings)
    gone = Counter(rule for rule, _ in fixes)
    left = {rule: was[rule] - gone[rule] for rule in was | now}
    first_time = any(fix.renamed for _, fix in fixes)
    for rule in was | now:
        if now[rule] > left[rule] and (not first_time or rule in (*STRICT_RULES, *gone)):
            return False
    if first_time:
        return True
    renames_variable = any(fix.kind == "variable" for _, fix in fixes)
    return _equal(before.resolution, after.resolution, env=not renames_variable)


def _equal(before: Resolution | None, after: Resolution | None, *, env: bool) -> bool:
    """Whether two resolutions say the same, reasons and lines aside."""
    if before is None or after is None:
        return before is after
    if env and before.env_after != after.env_after:
        return False
    one, other = before.outcome, after.outcome
    if one.status != other.status or one.cases != other.cases:
        return False
    if _place(one.error) != _place(other.error):
        return False
    return _values(before.fields) == _values(after.fields)


def _place(error: LaunchError | None) -> tuple[object, ...] | None:
    return None if error is None else (error.type, error.file, error.line)


def _values(fields: Mapping[str, FieldAnswer]) -> dict[str, tuple[object, ...]]:
    return {name: _value(answer) for name, answer in fields.items()}


def _value(answer: FieldAnswer) -> tuple[object, ...]:
    cases = tuple((case.condition, case.value) for case in answer.cases)
    reason = answer.reason.code if answer.reason is not None else None
    return answer.status, answer.value, cases, reason
