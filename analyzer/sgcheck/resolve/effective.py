"""The effective backends, main and draft: what SGLang's initialisers select, else the record.

This is the one place that knows fields by name: what the report calls `moe_runner` is read from
these fields, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from sgcheck.resolve.expand import Expanded
from sgcheck.resolve.initialise import (
    ALGORITHM,
    DRAFT,
    NO_MODEL,
    OWN_ATTENTION,
    Line,
    Role,
    Selected,
    reason_of,
)
from sgcheck.resolve.resolution import Because, Case, FieldAnswer, JsonValue, Reason
from sgcheck.values.condition import FALSE, TRUE, Condition
from sgcheck.values.symbols import Choice

if TYPE_CHECKING:
    from sgcheck.resolve.answers import Answers

_MAIN: dict[str, tuple[str, ...]] = {
    "moe_runner": ("moe_runner_backend",),
    "attention_prefill": ("prefill_attention_backend", "attention_backend"),
    "attention_decode": ("decode_attention_backend", "attention_backend"),
    "fp4_gemm": ("fp4_gemm_runner_backend", "fp4_gemm_backend"),
    "fp8_gemm": ("fp8_gemm_runner_backend", "fp8_gemm_backend"),
    "quantization": ("quantization",),
}
_DRAFT: dict[str, tuple[str, ...]] = {
    "moe_runner": ("speculative_moe_runner_backend", "moe_runner_backend"),
    "attention": (
        "speculative_draft_attention_backend",
        "decode_attention_backend",
        "attention_backend",
    ),
    "quantization": ("speculative_draft_model_quantization", "quantization"),
}


_FINAL = frozenset({"quantization"})
"""None in the first field that the release has is an answer; elsewhere None leaves it to the next field."""
_ATTENTION = frozenset({"attention", "attention_prefill", "attention_decode"})
ABSENT = "no-such-setting"
LATER = "decided-later"


def backends(
    answers: Answers, fields: Mapping[str, FieldAnswer]
) -> dict[str, dict[str, FieldAnswer]]:
    """`{"main": {…}, "draft": {…}}`; no draft where no model drafts."""
    out = {"main": _pick(answers, "main", fields, _MAIN)}
    algorithm = fields.get(ALGORITHM)
    if algorithm is None or (algorithm.status == "decided" and algorithm.value is None):
        return out
    if _always(answers, NO_MODEL):
        return out
    out[DRAFT] = _pick(answers, DRAFT, fields, _DRAFT)
    if not _never(answers, OWN_ATTENTION):
        reason = Reason(LATER, detail="the draft worker of this algorithm chooses its own")
        out[DRAFT]["attention"] = _open(out[DRAFT]["attention"], reason)
    return out


def _pick(
    answers: Answers,
    role: str,
    fields: Mapping[str, FieldAnswer],
    wanted: Mapping[str, tuple[str, ...]],
) -> dict[str, FieldAnswer]:
    out: dict[str, FieldAnswer] = {}
    for operation, names in wanted.items():
        recorded = _recorded(answers, fields, names, final=operation in _FINAL)
        if recorded is None:
            detail = "this release has no field for it"
            out[operation] = FieldAnswer(names[-1], "unknown", reason=Reason(ABSENT, detail=detail))
            continue
        answer = _selected(answers, (role, operation), recorded) or recorded
        if operation in _ATTENTION and answer.status == "decided" and answer.value is None:
            detail = "the arguments leave it open until the model is loaded"
            answer = _open(answer, Reason(LATER, detail=detail))
        out[operation] = answer
    return out


def _open(answer: FieldAnswer, reason: Reason) -> FieldAnswer:
    return replace(answer, status="unknown", value=None, cases=(), reason=reason)


def _always(answers: Answers, question: str) -> bool:
    """Whether SGLang says yes to a question about its algorithm on every path."""
    said = _said(answers, question)
    return bool(said) and all(value is True for value in said)


def _never(answers: Answers, question: str) -> bool:
    """Whether it says no on every path, or does not know the question."""
    return all(value is False for value in _said(answers, question))


def _said(answers: Answers, question: str) -> list[Any]:
    out = []
    for _, snapshot in answers.explored.ends:
        found = snapshot.selected.get((DRAFT, question))
        if found is not None:
            out.extend([value for _, value in found.ends] + [None] * len(found.losses))
    return out


def _recorded(
    answers: Answers, fields: Mapping[str, FieldAnswer], names: Sequence[str], *, final: bool
) -> FieldAnswer | None:
    """The first of the fields that says something, in each case; None where the release has none."""
    there = [name for name in names if name in fields]
    if not there:
        return None
    if final:
        return fields[there[0]]
    while len(there) > 1 and fields[there[0]].status == "decided":
        if fields[there[0]].value is not None:
            return fields[there[0]]
        del there[0]
    first = fields[there[0]]
    if len(there) == 1 or first.status != "conditional" or all(c.value for c in first.cases):
        return first
    return _in_turn(answers, [fields[name] for name in there])


def _in_turn(answers: Answers, chain: Sequence[FieldAnswer]) -> FieldAnswer:
    """What the fields come to where each that is None leaves it to the next."""
    space, rest = answers.space, TRUE
    found: dict[str, tuple[Condition, JsonValue]] = {}
    base = replace(chain[-1], because=tuple(step for link in chain for step in link.because))
    for link in chain:
        expanded = answers.expanded(answers.value(link.name), within=rest)
        if expanded.reason is not None:
            return _open(base, expanded.reason)
        rest = FALSE
        for condition, value in expanded.cases:
            if value is None and link is not chain[-1]:
                rest = space.either(rest, condition)
                continue
            known = found.get(repr(value))
            both = condition if known is None else space.either(known[0], condition)
            found[repr(value)] = both, value
        if not space.meet(rest, answers.started):
            break
    if len(found) == 1:
        [(_, value)] = found.values()
        return replace(base, status="decided", value=value, cases=(), reason=None)
    cases = tuple(Case(answers.words(condition), value) for condition, value in found.values())
    return replace(base, status="conditional", value=None, cases=cases, reason=None)


def _selected(answers: Answers, role: Role, recorded: FieldAnswer) -> FieldAnswer | None:
    """What the initialiser gave this role, with the lines of the field and its own."""
    found = [
        (condition, snapshot.selected[role])
        for condition, snapshot in answers.explored.ends
        if role in snapshot.selected
    ]
    if not found:
        return None
    base = replace(recorded, value=None, cases=(), reason=None)
    lost = [chosen.losses for _, chosen in found if chosen.losses]
    if lost:
        return replace(base, status="unknown", reason=reason_of(lost[0]))
    expanded = answers.expanded(_value(answers, found))
    if expanded.reason is not None:
        return replace(base, status="unknown", reason=expanded.reason)
    steps = _steps(answers, role, recorded, found, expanded)
    base = replace(base, because=steps)
    if len(expanded.cases) == 1:
        return replace(base, status="decided", value=expanded.cases[0][1])
    cases = tuple(Case(answers.words(condition), value) for condition, value in expanded.cases)
    return replace(base, status="conditional", cases=cases)


def _value(answers: Answers, found: list[tuple[Condition, Selected]]) -> Any:
    cases = [
        (both, value)
        for outer, chosen in found
        for inner, value in chosen.ends
        if (both := answers.space.both(outer, inner)) is not FALSE
    ]
    return cases[0][1] if len(cases) == 1 else Choice(tuple(cases))


def _steps(
    answers: Answers,
    role: Role,
    recorded: FieldAnswer,
    found: list[tuple[Condition, Selected]],
    expanded: Expanded,
) -> tuple[Because, ...]:
    """The history of the field, then the initialiser's lines.

    Those are the reason where they change the value, and only pass it on where they do not.
    """
    if answers.trace is None:
        return ()
    same = _agree(recorded, expanded)
    steps = [s if same else replace(s, effective=False) for s in recorded.because]
    chosen = found[0][1]
    known: dict[int, Because] = {}
    for condition, value in expanded.cases:
        line = _line(chosen.lines, value, state_only=role[0] == DRAFT)
        if line is None:
            continue
        when = answers.words(condition) if len(expanded.cases) > 1 else ""
        step = known.get(line.number)
        if step is not None:
            both = step.value if isinstance(step.value, list) else [step.value]
            known[line.number] = replace(step, value=[*both, value], when="")
            continue
        known[line.number] = Because(
            "write",
            value,
            chosen.file,
            line.number,
            chosen.function,
            answers.conditions(chosen.file, line.number),
            answers.link(chosen.file, line.number),
            when,
            not same,
        )
    return (*steps, *known.values())


def _agree(recorded: FieldAnswer, expanded: Expanded) -> bool:
    """Whether the initialiser hands on what the field holds."""
    if recorded.status == "decided":
        return len(expanded.cases) == 1 and expanded.cases[0][1] == recorded.value
    if recorded.status == "unknown":
        return False
    return {repr(c.value) for c in recorded.cases} == {repr(v) for _, v in expanded.cases}


def _line(lines: Sequence[Line], value: JsonValue, *, state_only: bool) -> Line | None:
    """The line that chose `value`: the first that has it, or for the draft (whose state is set
    after the main model's) the last one that writes it into the state of the process."""
    if state_only:
        lines = [line for line in reversed(lines) if line.named]
    return next((line for line in lines if value in _texts(line.value)), None)


def _texts(value: Any) -> Iterator[Any]:
    """A value and, of a choice, all that it may be; enums by their value."""
    if isinstance(value, Choice):
        for _, case in object.__getattribute__(value, "cases"):
            yield from _texts(case)
    elif isinstance(value, str):
        yield value
    else:
        try:
            yield object.__getattribute__(value, "value")
        except AttributeError:
            return
