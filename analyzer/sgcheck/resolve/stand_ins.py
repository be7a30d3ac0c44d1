"""A package whose pinned version is not recorded: what two recorded ones agree on holds.

The launch is resolved once with the facts of each stand-in. An answer on which they differ depends
on what is not recorded, and is unknown; every other does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from sgcheck.resolve.resolution import FieldAnswer, Outcome, Reason, Resolution

if TYPE_CHECKING:
    from sgcheck.resolve.predict import Predictor


def sides(predictor: Predictor, pin: str, again: Callable[..., Predictor]) -> list[Predictor]:
    """A predictor for each release that stands for a pinned transformers that is not recorded.

    `again` makes one like `predictor`; they share its translated code.
    """
    from sgcheck.world.transformers import stand_ins

    made = [again(stand_in=name) for name in stand_ins(pin)]
    for side in made:
        side.code, side.branching_code = predictor.code, predictor.branching_code
    return made


def reason(pin: str, made: Sequence[Predictor]) -> Reason:
    """Why an answer is unknown on which the sides differ."""
    names = " and ".join(side.stand_in or "" for side in made)
    return Reason(f"not-recorded(transformers {pin})", detail=f"{names} give different answers")


def agreed(results: Sequence[Resolution], why: Reason) -> Resolution:
    """What all resolutions of one launch say; `why` stands where they differ."""
    first, *others = results
    if any(_end(other.outcome) != _end(first.outcome) for other in others):
        return replace(
            first, outcome=_open(results, why), fields={}, effective={}, log=(), env_after={}
        )
    effective = {
        role: _answers([_of_role(result, role) for result in results], why)
        for role in first.effective
    }
    environments = [other.env_after for other in others]
    env_after = {
        name: value
        for name, value in first.env_after.items()
        if all(name in other and other[name] == value for other in environments)
    }
    return replace(
        first,
        fields=_answers([result.fields for result in results], why),
        effective=effective,
        log=tuple(line for line in first.log if all(line in other.log for other in others)),
        env_after=env_after,
    )


def _end(outcome: Outcome) -> Any:
    """What of an outcome is compared: how it ends and where, not the words of a message."""
    error = outcome.error
    place = error and (error.type, error.file, error.line)
    cases = tuple(
        (case.condition, case.status, case.error and (case.error.file, case.error.line))
        for case in outcome.cases
    )
    return outcome.status, place, cases, outcome.reason


def _open(results: Sequence[Resolution], why: Reason) -> Outcome:
    """Unknown; a reason of one side alone is the nearer one."""
    found = [r.outcome.reason for r in results if r.outcome.reason is not None]
    return Outcome(
        "unknown", reason=replace(why, detail=f"{why.detail}: {found[0].code}") if found else why
    )


def _of_role(result: Resolution, role: str) -> Mapping[str, FieldAnswer]:
    return result.effective.get(role, {})


def _answers(sides: Sequence[Mapping[str, FieldAnswer]], why: Reason) -> dict[str, FieldAnswer]:
    first, *others = sides
    return {
        name: answer
        if all(name in other and _value(other[name]) == _value(answer) for other in others)
        else replace(answer, status="unknown", value=None, cases=(), reason=why)
        for name, answer in first.items()
    }


def _value(answer: FieldAnswer) -> Any:
    return answer.status, answer.value, answer.cases, answer.reason
