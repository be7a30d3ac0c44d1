"""What a comparison of a prediction with an observation comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sgcheck.confirm.observation import Evidence, ObservedOutcome, Output
from sgcheck.resolve.resolution import JsonValue, ModelInfo, Outcome, Target, TreeInfo

Verdict: TypeAlias = Literal["agrees", "disagrees", "inconclusive"]
OutcomeFit: TypeAlias = Literal["agrees", "disagrees", "explained", "unknown", "not seen"]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A field that was decided otherwise. `cases` holds the values of a conditional answer."""

    field: str
    predicted: JsonValue
    observed: JsonValue
    place: str = ""
    cases: bool = False


@dataclass(frozen=True, slots=True)
class HeldCase:
    """A conditional field, and the condition of the case that came true."""

    field: str
    observed: JsonValue
    case: str


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field of which the prediction says why it does not know it."""

    field: str
    observed: JsonValue
    reason: str


@dataclass(frozen=True, slots=True)
class Explained:
    """A difference that something outside the prediction accounts for."""

    field: str
    predicted: JsonValue
    observed: JsonValue
    reason: str


@dataclass(frozen=True, slots=True)
class LogFit:
    """How many of the lines that SGLang was predicted to log were seen, and which were not.

    `backends` are the lines of the observed log that speak of backends.
    """

    predicted: int
    seen: int
    missing: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Prediction and observation side by side.

    `agree` counts fields. `case` is the condition of the outcome case that came true. `not_seen`
    counts predicted fields that the observation lacks. `differences` says in what the observed
    launch is not the predicted one (GPU, version, model …).
    """

    evidence: Evidence
    source: str
    sglang: TreeInfo
    target: Target
    model: ModelInfo
    argv: tuple[str, ...]
    predicted: Outcome
    observed: ObservedOutcome
    outcome_fit: OutcomeFit
    outcome_reason: str
    case: str | None
    agree: int
    disagree: tuple[Disagreement, ...]
    conditional: tuple[HeldCase, ...]
    unknown: tuple[UnknownField, ...]
    explained: tuple[Explained, ...]
    not_seen: int
    differences: tuple[str, ...]
    log: LogFit | None
    output: Output
    notes: tuple[str, ...]
    other_model: bool = False
    """The observed launch serves another model: what agrees says nothing of the predicted one."""

    @property
    def compared(self) -> int:
        """The fields that both sides have."""
        lists = (self.disagree, self.conditional, self.unknown, self.explained)
        return self.agree + sum(map(len, lists))

    @property
    def verdict(self) -> Verdict:
        """Disagreement first; agreement only where something decided was seen to be so."""
        if self.disagree or self.outcome_fit == "disagrees":
            return "disagrees"
        if (
            self.other_model
            or self.explained_by_difference
            or self.outcome_fit in ("explained", "unknown")
        ):
            return "inconclusive"
        if self.agree or self.conditional or self.outcome_fit == "agrees":
            return "agrees"
        return "inconclusive"

    @property
    def explained_by_difference(self) -> bool:
        """Whether a field differs because the observed launch is another one."""
        return bool(self.differences) and any(
            entry.reason in self.differences for entry in self.explained
        )
