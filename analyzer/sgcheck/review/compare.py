"""Two resolutions of one launch: what a user would see differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sgcheck.report.document import same_value
from sgcheck.report.wording import effective_steps, place, reason_text
from sgcheck.resolve.resolution import (
    FieldAnswer,
    JsonValue,
    LaunchError,
    LogLine,
    Outcome,
    Reason,
    Resolution,
)
from sgcheck.review.model import Change, Compared, ReviewLaunch, Site
from sgcheck.review.running import comparable, running_changes

Moved = set[tuple[str, str, str]]


def compare(launch: ReviewLaunch, old: Resolution, new: Resolution) -> Compared:
    """All differences of one launch, and which equal answers come from other lines.

    Fields that only one tree has are no difference of a launch: they are told with the flags.
    Log lines and fields are compared where both sides start.
    """
    moved: Moved = set()
    old, new = comparable(old, new)
    changes = _outcomes(old.outcome, new.outcome, moved)
    if not changes or all(c.category == "undecided" for c in changes):
        changes += _fields(old, new, moved)
        if old.fields and new.fields:
            changes += _environment(old.env_after, new.env_after)
        if old.outcome.status == new.outcome.status == "ok":
            changes += running_changes(old, new, answer_sites, error_site)
            changes += _logs(old.log, new.log, moved)
    return Compared(
        launch, old.outcome.status, new.outcome.status, tuple(changes), frozenset(moved)
    )


# -- outcome ---------------------------------------------------------------------------


def _errors(outcome: Outcome) -> dict[tuple[str, str], tuple[LaunchError, str]]:
    """The errors that are possible, with the condition of each ("" for always)."""
    found: dict[tuple[str, str], tuple[LaunchError, str]] = {}
    if outcome.error is not None:
        found[outcome.error.type, outcome.error.message] = (outcome.error, "")
    for case in outcome.cases:
        if case.error is not None:
            key = (case.error.type, case.error.message)
            found[key] = (case.error, case.condition)
    return found


def _can_start(outcome: Outcome) -> bool:
    return outcome.status == "ok" or any(case.status == "ok" for case in outcome.cases)


def _open(outcome: Outcome) -> Reason | None:
    """Why it is not known how a launch ends, if it is not."""
    if outcome.status == "unknown":
        return outcome.reason or Reason("unexplained")
    reasons = [c.reason for c in outcome.cases if c.status == "unknown" and c.reason is not None]
    return reasons[0] if reasons else None


def _outcomes(old: Outcome, new: Outcome, moved: Moved) -> list[Change]:
    open_old, open_new = _open(old), _open(new)
    if open_old is not None or open_new is not None:
        same = open_old is not None and open_new is not None and open_old.code == open_new.code
        if same and old.status == new.status == "unknown":
            note = f"unknown on both sides: {reason_text(open_old)}"
        else:
            sides = [("old", open_old), ("new", open_new)]
            note = "; ".join(f"{s}: {reason_text(r)}" for s, r in sides if r is not None)
        before_sites, after_sites = _reason_sites(open_old), _reason_sites(open_new)
        return [Change("undecided", "start", None, None, before_sites, after_sites, note=note)]
    before, after = _errors(old), _errors(new)
    out: list[Change] = []
    gone = [before[key] for key in before if key not in after]
    come = [after[key] for key in after if key not in before]
    if _can_start(old) and _can_start(new):
        out += [_error_change("breaks", None, error) for error in come]
        out += [_error_change("starts", error, None) for error in gone]
    elif _can_start(old):
        out += [_error_change("breaks", None, error) for error in after.values()]
    elif _can_start(new):
        out += [_error_change("starts", error, None) for error in before.values()]
    else:
        for index in range(max(len(gone), len(come))):
            first = gone[index] if index < len(gone) else None
            second = come[index] if index < len(come) else None
            out.append(_error_change("fails-differently", first, second))
    for key in before.keys() & after.keys():
        _note_move(moved, "start", error_site(before[key][0]), error_site(after[key][0]))
    return out


def _error_change(
    category: str, old: tuple[LaunchError, str] | None, new: tuple[LaunchError, str] | None
) -> Change:
    conditions = [pair[1] for pair in (old, new) if pair is not None and pair[1]]
    return Change(
        category,  # type: ignore[arg-type]
        "start",
        old[0] if old else None,
        new[0] if new else None,
        (error_site(old[0]),) if old else (),
        (error_site(new[0]),) if new else (),
        note="if " + "; ".join(conditions) if conditions else "",
    )


def error_site(error: LaunchError) -> Site:
    """The line that refuses the launch; SGLang's own parser has none."""
    kind = "raise" if error.file is not None else "parser"
    return Site(kind, error.file, error.line, error.function, error.conditions, error.url)


def _reason_sites(reason: Reason | None) -> tuple[Site, ...]:
    return (Site("unknown", reason.file, reason.line),) if reason is not None else ()


# -- fields ----------------------------------------------------------------------------


def _fields(old: Resolution, new: Resolution, moved: Moved) -> list[Change]:
    roles = _roles(old, new)
    out: list[Change] = []
    for name, before in old.fields.items():
        after = new.fields.get(name)
        if after is None:
            continue
        change = _field(name, before, after, moved)
        if change is not None:
            out.append(_with_roles(change, roles.get(name, ())))
    return out + _selected(old, new)


def _both(old: Resolution, new: Resolution) -> Iterator[tuple[str, FieldAnswer, FieldAnswer, bool]]:
    """The effective backends that both sides have, and whether each is just the same field."""
    for role, answers in old.effective.items():
        for operation, before in answers.items():
            after = new.effective.get(role, {}).get(operation)
            if after is not None:
                plain = before.name == after.name
                plain = plain and _is_record(old, before) and _is_record(new, after)
                yield f"{role}.{operation}", before, after, plain


def _is_record(resolution: Resolution, answer: FieldAnswer) -> bool:
    """Whether a backend is what the field says, and no selection of an initialiser."""
    field = resolution.fields.get(answer.name)
    if field is None or field.status != answer.status:
        return False
    return answer.status == "unknown" or same_answer(field, answer)


def _roles(old: Resolution, new: Resolution) -> dict[str, tuple[str, ...]]:
    """Field name -> the effective backends that it is, on both sides."""
    found: dict[str, list[str]] = {}
    for role, before, _, plain in _both(old, new):
        if plain:
            found.setdefault(before.name, []).append(role)
    return {name: tuple(roles) for name, roles in found.items()}


def _with_roles(change: Change, roles: tuple[str, ...]) -> Change:
    if not roles:
        return change
    category = "backend" if change.category == "value" else change.category
    return replace(change, category=category, roles=roles)


def _selected(old: Resolution, new: Resolution) -> list[Change]:
    """Backends that are not just one field: their subject is the role, such as `main.fp4_gemm`."""
    out: list[Change] = []
    for role, before, after, plain in _both(old, new):
        if not plain and (change := _field(role, before, after, set())) is not None:
            out.append(_with_roles(change, (role,)))
    return out


def _field(name: str, old: FieldAnswer, new: FieldAnswer, moved: Moved) -> Change | None:
    before, after = answer_sites(old), answer_sites(new)
    if "unknown" in (old.status, new.status):
        if old.status == new.status:
            return None
        side, reason = ("old", old.reason) if old.status == "unknown" else ("new", new.reason)
        note = f"{side}: {reason_text(reason)}"
        return Change("undecided", name, old, new, before, after, note=note)
    if same_answer(old, new):
        if [c.condition for c in old.cases] != [c.condition for c in new.cases]:
            note = "the same values, under conditions that read otherwise"
            return Change("undecided", name, old, new, before, after, note=note)
        _note_move(moved, name, *(s[-1] if s else Site("default") for s in (before, after)))
        return None
    return Change("value", name, old, new, before, after)


def same_answer(old: FieldAnswer, new: FieldAnswer) -> bool:
    """Whether two known answers are the same value, or the same values.

    The conditions of several values are not compared here.
    """
    if old.status != new.status:
        return False
    if old.status == "decided":
        return same_value(old.value, new.value)
    before, after = ([c.value for c in a.cases] for a in (old, new))
    return _within(before, after) and _within(after, before)


def _within(some: list[JsonValue], others: list[JsonValue]) -> bool:
    return all(any(same_value(value, other) for other in others) for value in some)


def answer_sites(answer: FieldAnswer) -> tuple[Site, ...]:
    """The lines that gave the final value, the last one last; an unknown one's reason."""
    if answer.status == "unknown":
        return _reason_sites(answer.reason)
    steps = effective_steps(answer)
    return tuple(Site(s.kind, s.file, s.line, s.function, s.conditions, s.url) for s in steps)


def _note_move(moved: Moved, subject: str, old: Site, new: Site) -> None:
    if old.file is not None and new.file is not None and old.place != new.place:
        moved.add((subject, place(*old.place), place(*new.place)))


# -- environment and log ---------------------------------------------------------------


def _environment(old: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> list[Change]:
    """Variables that resolution leaves with another value ("not set" where it leaves it alone)."""
    out: list[Change] = []
    for name in sorted(old.keys() | new.keys()):
        if name in old and name in new and same_value(old[name], new[name]):
            continue
        before, after = _variable(old, name), _variable(new, name)
        out.append(Change("value", f"env {name}", before, after))
    return out


def _variable(variables: Mapping[str, JsonValue], name: str) -> str:
    if name not in variables:
        return "not set"
    value = variables[name]
    return "removed" if value is None else str(value)


def _logs(old: tuple[LogLine, ...], new: tuple[LogLine, ...], moved: Moved) -> list[Change]:
    before, after = (Counter((line.level, line.message) for line in lines) for lines in (old, new))
    out: list[Change] = []
    places: list[dict[tuple[str, str], LogLine]] = [{}, {}]
    for known, lines in zip(places, (old, new), strict=True):
        for line in lines:
            known.setdefault((line.level, line.message), line)
    for key, line in places[0].items():
        if key not in after:
            out.append(Change("log", "log", message(line), None, (log_site(line),)))
        else:
            _note_move(moved, "log", log_site(line), log_site(places[1][key]))
    for key, line in places[1].items():
        if key not in before:
            out.append(Change("log", "log", None, message(line), (), (log_site(line),)))
    return out


def message(line: LogLine) -> str:
    """A log line as one reads it."""
    return f"{line.level}: {line.message}"


def log_site(line: LogLine) -> Site:
    """Where a line is logged."""
    return Site("log", line.file, line.line)
