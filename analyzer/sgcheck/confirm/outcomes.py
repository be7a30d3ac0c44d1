"""Compare how a launch was predicted to end with how it ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sgcheck.confirm.comparison import OutcomeFit
from sgcheck.confirm.observation import Observation, ObservedOutcome
from sgcheck.resolve.resolution import LaunchError, Outcome, OutcomeCase, Resolution

_CHOICES = re.compile(r"\s*\(choose from.*", re.DOTALL)
_QUOTES = re.compile(r"[\"'`]")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Fit:
    """How the outcomes fit, why if they do not, and the outcome case that came true."""

    fit: OutcomeFit
    reason: str = ""
    case: str | None = None


def fit_outcome(
    prediction: Resolution, observation: Observation, differences: Sequence[str]
) -> Fit:
    """Outcome against outcome, error line against error line."""
    fit = _fit(prediction.outcome, observation.outcome)
    if fit.fit != "disagrees":
        return fit
    if differences:
        return Fit("explained", differences[0], fit.case)
    observed = observation.outcome
    if observed.cause is not None and prediction.outcome.status in ("ok", "conditional"):
        return Fit("explained", f"the start failed of {observed.cause}, not of its arguments")
    return fit


def _fit(predicted: Outcome, observed: ObservedOutcome) -> Fit:
    if observed.status == "unknown":
        return Fit("not seen", observed.ending)
    if predicted.status == "unknown":
        reason = predicted.reason.code if predicted.reason is not None else "unexplained"
        return Fit("unknown", reason)
    if predicted.status == "conditional":
        return _fit_cases(predicted.cases, observed)
    return _fit_one(predicted.status, predicted.error, observed)


def _fit_one(status: str, error: LaunchError | None, observed: ObservedOutcome) -> Fit:
    if status == "ok":
        return _fit_start(observed)
    if observed.status in ("ok", "resolved"):
        return Fit("disagrees", "an error was predicted, but the arguments were resolved")
    if observed.status != status:
        return Fit("disagrees", f"{_words(status)} was predicted, {observed.ending}")
    if observed.error is None:
        return Fit("agrees", f"the error itself was not seen: {observed.ending}")
    reason = error_difference(error, observed.error)
    return Fit("disagrees", reason) if reason else Fit("agrees")


def _fit_start(observed: ObservedOutcome) -> Fit:
    if observed.status == "ok":
        return Fit("agrees")
    if observed.status == "resolved":
        return Fit("agrees", f"as far as it was seen: {observed.ending}")
    if observed.after_resolution:
        return Fit(
            "disagrees",
            f"the arguments were resolved as predicted, then the start was {observed.ending}",
        )
    return Fit("disagrees", f"a start was predicted, but it was {observed.ending}")


def _fit_cases(cases: Sequence[OutcomeCase], observed: ObservedOutcome) -> Fit:
    failing = [case for case in cases if case.status != "ok"]
    for case in failing:
        if case.status == "unknown":
            continue
        if _fit_one(case.status, case.error, observed).fit == "agrees":
            return Fit("agrees", case=case.condition)
    starting = [case.condition for case in cases if case.status == "ok"]
    fit = _fit_start(observed)
    if fit.fit == "agrees":
        if len(starting) > 1:
            # Which of them held cannot be told from a start alone.
            return Fit("agrees", fit.reason or f"one of the {len(starting)} cases that start")
        return Fit("agrees", fit.reason, starting[0] if starting else "otherwise")
    if any(case.status == "unknown" for case in cases):
        return Fit("unknown", "some cases of the prediction are unknown")
    return Fit("disagrees", f"none of the predicted cases came true: {observed.ending}")


def error_difference(predicted: LaunchError | None, observed: LaunchError | None) -> str:
    """In what two errors differ; empty if they are the same as far as both are known."""
    if predicted is None or observed is None:
        return ""
    if observed.type and predicted.type.rpartition(".")[2] != observed.type.rpartition(".")[2]:
        return f"{predicted.type} was predicted, {observed.type} was raised"
    if (
        predicted.file
        and observed.file
        and (predicted.file, predicted.line) != (observed.file, observed.line)
    ):
        return (
            f"the error was predicted at {predicted.file}:{predicted.line}, "
            f"it came from {observed.file}:{observed.line}"
        )
    if observed.message and message_key(predicted.message) != message_key(observed.message):
        return "the error has another text than predicted"
    return ""


def message_key(message: str) -> str:
    """A message as far as it is the same in every Python: argparse lists choices in its own ways."""
    first = _CHOICES.sub("", message.strip().split("\n")[0])
    return _SPACE.sub(" ", _QUOTES.sub("", re.sub(r" at 0x[0-9a-f]+", "", first))).strip()


def _words(status: str) -> str:
    return {"startup_error": "an error", "cli_error": "a refusal by the parser"}.get(status, status)
