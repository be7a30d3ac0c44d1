"""Make a live launch shorter, if that is harmless for what is compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sgcheck.errors import UsageError
from sgcheck.report.document import same_value
from sgcheck.resolve.resolution import FieldAnswer, Resolution

SHORTENINGS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "dummy-weights": ("load no weights", ("--load-format", "dummy")),
    "small-memory": ("take little memory", ("--mem-fraction-static", "0.3")),
    "no-cuda-graph": ("capture no CUDA graphs", ("--disable-cuda-graph",)),
}
"""Option -> what it does, and SGLang's flags for it."""


@dataclass(frozen=True, slots=True)
class Shortened:
    """The command line to start, and for each field that it changes why."""

    argv: tuple[str, ...]
    changed: Mapping[str, str]
    notes: tuple[str, ...]


def shorten(
    prediction: Resolution,
    names: Sequence[str],
    predict: Callable[[tuple[str, ...]], Resolution],
) -> Shortened:
    """The shortened launch. Raises UsageError if a change touches what is to be compared.

    `predict` resolves another command line for the same machine and model. A change is harmless
    if the outcome and all effective backends stay the same.
    """
    argv = prediction.argv
    for name in names:
        flags = SHORTENINGS[name][1]
        if any(word.partition("=")[0] == flags[0] for word in argv):
            raise UsageError(
                f"--{name} and {flags[0]} contradict each other: leave one of them out"
            )
        argv = (*argv, *flags)
    if not names:
        return Shortened(argv, {}, ())
    other = predict(argv)
    reason = "shortened: " + " ".join(word for name in names for word in SHORTENINGS[name][1])
    harm = _harm(prediction, other)
    if harm is not None:
        options = " ".join(f"--{name}" for name in names)
        raise UsageError(f"{options} would change what is compared: {harm}; leave it out")
    changed = {
        name: reason
        for name, answer in prediction.fields.items()
        if name not in other.fields or not same_answer(answer, other.fields[name])
    }
    notes = tuple(
        f"{SHORTENINGS[name][0]} ({' '.join(SHORTENINGS[name][1])}): no backend changes by it"
        for name in names
    )
    return Shortened(argv, changed, notes)


def _harm(prediction: Resolution, other: Resolution) -> str | None:
    before, after = prediction.outcome, other.outcome
    if before.status != after.status:
        return f"the outcome ({before.status} → {after.status})"
    places = [(o.error.file, o.error.line) if o.error else None for o in (before, after)]
    if places[0] != places[1]:
        return "the error"
    for role in sorted(prediction.effective.keys() | other.effective.keys()):
        backends, others = prediction.effective.get(role, {}), other.effective.get(role, {})
        for name in sorted(backends.keys() | others.keys()):
            if (
                name not in backends
                or name not in others
                or not same_answer(backends[name], others[name])
            ):
                return f"the backend {name} ({role})"
    return None


def same_answer(left: FieldAnswer, right: FieldAnswer) -> bool:
    """Whether two predictions of a field say the same."""
    if left.status != right.status:
        return False
    if left.status == "decided":
        return same_value(left.value, right.value)
    if left.status == "conditional":
        return len(left.cases) == len(right.cases) and all(
            a.condition == b.condition and same_value(a.value, b.value)
            for a, b in zip(left.cases, right.cases, strict=True)
        )
    return True
