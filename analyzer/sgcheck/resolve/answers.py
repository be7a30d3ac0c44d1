"""From raw values and events of one run to the answers that are reported."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from sgcheck.interp.paths import Loss
from sgcheck.resolve import effective, endings
from sgcheck.resolve.environment import environment
from sgcheck.resolve.expand import Expanded, expand, shown
from sgcheck.resolve.explored import Explored
from sgcheck.resolve.passed_on import passed_on
from sgcheck.resolve.places import Place, field_places, option_place
from sgcheck.resolve.plain import is_long, plain
from sgcheck.resolve.resolution import (
    Because,
    Case,
    FieldAnswer,
    JsonValue,
    LaunchError,
    LogLine,
    Outcome,
    OutcomeCase,
    Reason,
    Resolution,
)
from sgcheck.resolve.run import Failure
from sgcheck.resolve.trace import Event, Trace
from sgcheck.values.condition import (
    FALSE,
    MAX_OF_ANSWERS,
    MAX_OF_FIELD,
    TRUE,
    Condition,
    Space,
    ValueSet,
    Variable,
)
from sgcheck.values.signals import LimitReached
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import Unknown
from sgcheck.world.stdlib.argparse_ import ArgumentParser, ParserLeft, ParserRefused

if TYPE_CHECKING:
    import argparse
else:
    from sgcheck.world.stdlib.argparse_ import argparse

if TYPE_CHECKING:
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.machine import Machine
    from sgcheck.resolve.membership import CaseTable
    from sgcheck.resolve.predict import Predictor

_MISSING = dataclasses.MISSING
_SIMPLE = frozenset({bool, type(None), str, int})
"""Types of defaults that are reported as they are."""


def resolution(
    predictor: Predictor,
    launch: Launch,
    argv: list[str],
    explored: Explored,
    space: Space,
    machine: Machine,
    trace: Trace | None,
    env_before: Mapping[str, str],
) -> Resolution:
    """The report of all paths of a launch."""
    builder = Answers(predictor, space, trace, machine, explored)
    # Each part may take what it needs: none is lost for what another has cost.
    part = partial(space.start_counting, MAX_OF_ANSWERS, forget=False)
    part()
    fields = builder.fields()
    part()
    outcome = builder.outcome()
    part()
    chosen = effective.backends(builder, fields) if fields else {}
    part()
    return Resolution(
        predictor.info,
        launch.target.to_target(),
        launch.model.info(),
        tuple(argv),
        outcome,
        fields,
        chosen,
        builder.log(),
        environment(builder, env_before),
        machine.world.files.host.said(),
    )


def case_table(
    predictor: Predictor,
    launch: Launch,
    argv: list[str],
    explored: Explored,
    space: Space,
    machine: Machine,
    trace: Trace | None,
    env_before: Mapping[str, str],
) -> CaseTable:
    """The same report with conditions instead of their words."""
    from sgcheck.resolve.membership import CaseTable, FieldCases

    builder = Answers(predictor, space, trace, machine, explored)
    space.start_counting(MAX_OF_ANSWERS, forget=False)
    fields = {}
    for name in builder.names():
        try:
            with space.at_most(MAX_OF_FIELD):
                answer = builder.expanded(builder.value(name))
                cases = tuple((space.both(c, builder.started), value) for c, value in answer.cases)
        except LimitReached as limit:
            fields[name] = FieldCases((), limit.reason)
        else:
            fields[name] = FieldCases(cases, answer.reason)
    space.start_counting(forget=False)
    return CaseTable(space, explored.given, builder.started, builder.outcomes(), fields)


class Answers:
    """What is reported of one launch; `space` holds the conditions of its paths."""

    def __init__(
        self,
        predictor: Predictor,
        space: Space,
        trace: Trace | None,
        machine: Machine,
        explored: Explored,
    ) -> None:
        self.tree = predictor.tree
        self.conditions_of = predictor.conditions
        self.space = space
        self.defaults = machine.fields or {}
        self.machine = machine
        self.record = machine.record
        self.code = machine.interpreter.code
        self.trace = None if trace is None or trace.quiet else trace
        self.explored = explored
        self.usual = predictor.untouched
        self.initial = trace.initial if trace is not None else {}
        ends = explored.ends
        self.only_end = ends[0][1].values if len(ends) == 1 else None
        self.started = space.any_of(condition for condition, _ in explored.ends)
        self.user_set = ArgumentParser.given.names()
        self.by_field: dict[str, list[Event]] = {}
        self.left_open: dict[str, Event] = {}
        for event in self._joined([s.events for _, s in explored.ends]):
            self.by_field.setdefault(event.field, []).append(event)

    # -- small things ----------------------------------------------------------------

    def link(self, file: str | None, line: int | None) -> str | None:
        if file is None or line is None:
            return None
        return self.tree.permalink(file, line)

    def conditions(self, file: str | None, line: int | None) -> tuple[str, ...]:
        if file is None or line is None:
            return ()
        return self.conditions_of(file).at(line)

    def words(self, condition: Condition) -> str:
        return self._text(condition, self.started)

    def _text(self, condition: Condition, given: Condition) -> str:
        """Words for a condition where `given` holds; values that cannot be there are not named."""
        from sgcheck.resolve import wording

        def possible(variable: Variable, values: ValueSet) -> ValueSet:
            if variable.kind != "input" or variable.domain is None:
                return values
            known = (v for v in variable.domain if v in values)
            kept = [v for v in known if self.space.meet(given, self.space.among(variable, [v]))]
            return ValueSet(frozenset(kept)) if kept else values

        return wording.text(self.space, condition, given, possible)

    def _joined(self, lists: Sequence[Sequence[Any]]) -> list[Any]:
        """Entries of several ends, each once, with the condition under which it happened."""
        if len(lists) == 1:
            return list(lists[0])
        out: dict[Any, Any] = {}
        for (condition, _), entries in zip(self.explored.ends, lists, strict=True):
            for entry in entries:
                both = (
                    condition
                    if entry.condition is None
                    else self.space.both(condition, entry.condition)
                )
                key = entry.key()
                known = out.get(key)
                out[key] = entry.under(
                    both if known is None else self.space.either(known.condition, both)
                )
        return list(out.values())

    def expanded(
        self,
        value: Any,
        given: Condition | None = None,
        *,
        within: Condition = TRUE,
        where_there: bool = False,
    ) -> Expanded:
        """All values of `value` (see `expand`) on the paths that start, or where `given` holds."""
        where = self.started if given is None else given
        try:
            with self.space.at_most(MAX_OF_FIELD):
                return expand(self.space, value, where, within=within, where_there=where_there)
        except LimitReached as limit:
            return Expanded(reason=limit.reason)

    def _when(self, condition: Condition | None) -> str | None:
        """Words for the condition of an entry; None if it belongs to no path that starts."""
        if condition is None:
            return ""
        space = self.space
        if not space.meet(self.started, condition):
            return None
        try:
            always = not space.meet(self.started, space.negate(condition))
        except LimitReached:
            always = False
        return "" if always else self.words(condition)

    def _of_all(self, condition: Condition) -> str:
        """Words for a condition among all paths."""
        return self._text(condition, self.explored.given)

    # -- outcome -----------------------------------------------------------------------

    def _failing(self) -> list[tuple[Condition, OutcomeCase]]:
        """Every way not to start, with its condition."""
        found = ((loss.condition, self._loss(loss)) for loss in self.explored.losses)
        return endings.distinct(self.space, [(c, case) for c, case in found if case is not None])

    def outcomes(self) -> tuple[tuple[Condition, OutcomeCase], ...]:
        """Every way to end, with its condition."""
        started = [(self.started, OutcomeCase("", "ok"))] if self.explored.ends else []
        return (*started, *self._failing())

    def outcome(self) -> Outcome:
        losses = self._failing()
        if not losses:
            return (
                Outcome("ok")
                if self.explored.ends
                else Outcome("unknown", reason=Reason("no-path"))
            )
        if not self.explored.ends and len(losses) == 1:
            case = losses[0][1]
            return Outcome(case.status, case.error, reason=case.reason)
        failing = [c for _, c in losses if c.reason is None]
        if not failing and not self.explored.ends:
            return Outcome("unknown", reason=losses[0][1].reason)
        cases = []
        if self.explored.ends:
            cases.append(OutcomeCase(self._of_all(self.started), "ok"))
        for condition, case in losses:
            cases.append(replace(case, condition=self._of_all(condition)))
        return Outcome("conditional", cases=tuple(cases))

    def _loss(self, loss: Loss) -> OutcomeCase | None:
        info = loss.info
        if isinstance(info, Failure):
            status = (
                "cli_error"
                if isinstance(loss.error, ParserRefused | ParserLeft | argparse.ArgumentError)
                else "startup_error"
            )
            return OutcomeCase("", status, self.error(info))  # type: ignore[arg-type]
        reason = info if isinstance(info, Reason) else loss.reason or Reason("engine")
        if reason.code == "impossible":
            return None
        return OutcomeCase("", "unknown", reason=reason)

    def error(self, failure: Failure) -> LaunchError:
        return LaunchError(
            failure.type,
            failure.message,
            failure.file,
            failure.line,
            failure.function,
            self.conditions(failure.file, failure.line),
            self.link(failure.file, failure.line),
            failure.tip,
        )

    # -- fields ------------------------------------------------------------------------

    def fields(self) -> dict[str, FieldAnswer]:
        default = self.defaults.get
        return {
            name: self.untouched(name, default(name, _MISSING)) or self._bounded(name)
            for name in self.names()
        }

    def _bounded(self, name: str) -> FieldAnswer:
        """The answer for a field; one that takes too much is unknown, and no other for its sake."""
        try:
            with self.space.at_most(MAX_OF_FIELD):
                return self.field(name)
        except LimitReached as limit:
            default = self.defaults.get(name, _MISSING)
            return FieldAnswer(
                name,
                "unknown",
                reason=limit.reason,
                user_set=name in self.user_set,
                default=None if default is _MISSING else plain(default),
            )

    def names(self) -> list[str]:
        """The fields of the record."""
        names: dict[str, None] = {}
        for _, snapshot in self.explored.ends:
            names.update(dict.fromkeys(snapshot.values))
        return list(names)

    def value(self, name: str) -> Any:
        if self.only_end is not None:
            return self.only_end.get(name)
        ends = self.explored.ends
        return Choice(tuple((condition, snapshot.values.get(name)) for condition, snapshot in ends))

    def untouched(self, name: str, default: Any) -> FieldAnswer | None:
        """The answer for a field that nothing has given a value; the same for every launch."""
        if type(default) not in _SIMPLE or name in self.by_field or name in self.user_set:
            return None
        if is_long(default):
            return None
        if self.only_end is None or self.only_end.get(name) is not default:
            return None
        if self.initial.get(name, default) is not default:
            return None
        known = self.usual.get(name)
        if known is None or known[0] is not default or known[1] is not (self.trace is not None):
            step = self.default(name, default, effective=True)
            why = (step,) if self.trace is not None else ()
            answer = FieldAnswer(name, "decided", value=default, default=default, because=why)
            known = self.usual[name] = default, self.trace is not None, answer
        return known[2]

    def field(self, name: str) -> FieldAnswer:
        default = self.defaults.get(name, _MISSING)
        shown_default = None if default is _MISSING else plain(default)
        user_set = name in self.user_set
        initial = self.initial.get(name, default)
        user_value = plain(initial) if user_set and initial is not _MISSING else None
        if user_set and isinstance(initial, Unknown):
            user_value = "?"
        answer = self.expanded(self.value(name))
        because = self.because(name, user_set, None if initial is _MISSING else plain(initial))
        because = self.fallen_back(name, because, answer)
        changed = user_set and any(value != user_value for _, value in answer.cases)
        base = FieldAnswer(
            name,
            "decided",
            user_value=user_value,
            user_set=user_set,
            default=shown_default,
            because=because,
            passed_on=self.passed_on(name, because) if changed else (),
        )
        if answer.reason is not None:
            return replace(base, status="unknown", reason=self._placed(name, answer.reason))
        if len(answer.cases) == 1:
            return replace(base, value=answer.cases[0][1])
        cases = tuple(Case(self.words(condition), value) for condition, value in answer.cases)
        return replace(base, status="conditional", cases=cases)

    def because(self, name: str, user_set: bool, initial: JsonValue) -> tuple[Because, ...]:
        """Every step that gave the field a value; it starts with `initial`."""
        if self.trace is None:
            return ()
        steps: list[Because] = []
        covered = FALSE
        for event in reversed(self.by_field.get(name, [])):
            when = self._when(event.condition)
            if when is None:
                continue
            mine = event.condition if event.condition is not None else TRUE
            final = self._adds(mine, covered)
            covered = self.space.either(covered, mine)
            answer = self.expanded(event.value, within=mine, where_there=True)
            if final and answer.reason is not None:
                self.left_open.setdefault(name, event)
            steps.append(
                Because(
                    event.kind,  # type: ignore[arg-type]
                    shown(answer),
                    event.file,
                    event.line,
                    event.function,
                    self.conditions(event.file, event.line),
                    self.link(event.file, event.line),
                    when,
                    final,
                )
            )
        final = self._adds(TRUE, covered)
        steps.append(
            Because("flag", initial, effective=final)
            if user_set
            else self.default(name, initial, effective=final)
        )
        return tuple(reversed(steps))

    def passed_on(self, name: str, steps: tuple[Because, ...]) -> tuple[str, ...]:
        """The fields that got the value of a flag whose own field ends with another one."""
        found: dict[str, None] = {}
        written = [step for step in steps if step.kind in ("write", "declared") and step.effective]
        for file in dict.fromkeys(step.file for step in written if step.file is not None):
            others = [
                event
                for field, events in self.by_field.items()
                if field != name and field not in self.user_set
                for event in events
            ]
            source = self.tree.read(file).decode("utf-8", "replace").split("\n")
            names = passed_on(name, written, others, source, file)
            found.update(dict.fromkeys(n for n in names if n in self.defaults))
        return tuple(found)

    def _placed(self, name: str, reason: Reason) -> Reason:
        """A reason with a line: where it has none of its own, the last that left the field open."""
        event = self.left_open.get(name)
        if reason.file is not None or event is None:
            return reason
        return replace(reason, file=event.file, line=event.line)

    def _adds(self, condition: Condition, known: Condition) -> bool:
        """Whether some path that starts has a condition and is not among the known ones."""
        return self.space.meet(self.started, self.space.both(condition, self.space.negate(known)))

    def default(self, name: str, value: JsonValue, *, effective: bool) -> Because:
        """The step of a value that nobody gave: the field's, or the parser's where that differs."""
        declared = self.defaults.get(name, _MISSING)
        place = self.places.get(name)
        if self.record is not None and (declared is _MISSING or plain(declared) != value):
            spellings = ArgumentParser.given.spelled
            words = [w for dest, out in spellings.items() if dest == name for w in out]
            place = option_place(self.record, words, self.code, self.conditions_of) or place
        file, line = place or (None, None)
        return Because("default", value, file, line, url=self.link(file, line), effective=effective)

    def fallen_back(
        self, name: str, steps: tuple[Because, ...], answer: Expanded
    ) -> tuple[Because, ...]:
        """The steps, and one more where the field's declaration has a value for what stayed unset."""
        last = steps[-1] if steps else None
        if (
            last is None
            or not last.effective
            or last.kind != "default"
            or last.value is not None
            or len(answer.cases) != 1
            or answer.cases[0][1] is None
        ):
            return steps
        step = replace(last, value=answer.cases[0][1])
        return (*steps[:-1], replace(last, effective=False), step)

    @property
    def places(self) -> dict[str, Place]:
        """Where each field is declared."""
        if self.record is None or self.trace is None:
            return {}
        if self.machine.places is None:
            self.machine.places = field_places(
                self.record, self.defaults, self.code, self.conditions_of
            )
        return self.machine.places

    # -- log -------------------------------------------------------------------------------

    def log(self) -> tuple[LogLine, ...]:
        out = []
        stopped = self.explored.stopped
        records = (
            stopped.records
            if stopped is not None
            else self._joined([s.records for _, s in self.explored.ends])
        )
        for record in records:
            when = "" if stopped is not None else self._when(record.condition)
            if when is not None and record.file.startswith("sglang"):
                out.append(LogLine(record.level, record.text(), record.file, record.line, when))
        return tuple(out)
