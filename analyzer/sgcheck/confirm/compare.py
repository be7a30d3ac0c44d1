"""Compare a prediction with an observation, field by field and outcome by outcome."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sgcheck.confirm.comparison import (
    Comparison,
    Disagreement,
    Explained,
    HeldCase,
    LogFit,
    UnknownField,
)
from sgcheck.confirm.log import backend_lines
from sgcheck.confirm.observation import Observation, matches, plain
from sgcheck.confirm.outcomes import fit_outcome
from sgcheck.confirm.secrets import shown
from sgcheck.resolve.resolution import FieldAnswer, JsonValue, Resolution

MEMORY_TOLERANCE = 0.03
MAX_FOREIGN_FIELDS = 5
"""So many fields may be missing from a printed record of the same version: some are hidden."""

_PATH_FIELDS = ("model_path", "tokenizer_path", "served_model_name")
_WORDS = re.compile(r"[^a-z0-9]+")


def compare(
    prediction: Resolution,
    observation: Observation,
    changed: Mapping[str, str] | None = None,
) -> Comparison:
    """The comparison. `changed` says of fields why the observed launch was given another value."""
    differences = launch_differences(prediction, observation)
    fields = _Fields(prediction, observation, differences, changed or {})
    if prediction.outcome.status in ("ok", "conditional", "startup_error") or prediction.fields:
        fields.compare()
    fit = fit_outcome(prediction, observation, differences)
    fields.compare_environment()
    return Comparison(
        observation.evidence,
        observation.source,
        prediction.sglang,
        prediction.target,
        prediction.model,
        prediction.argv,
        prediction.outcome,
        observation.outcome,
        fit.fit,
        fit.reason,
        fit.case,
        fields.agree,
        tuple(fields.disagree),
        tuple(fields.conditional),
        tuple(fields.unknown),
        tuple(fields.explained),
        fields.not_seen,
        tuple(differences),
        fit_log(prediction, observation),
        observation.output,
        observation.notes,
        any(text.startswith(OTHER_MODEL) for text in differences),
    )


OTHER_MODEL = "another model:"


def launch_differences(prediction: Resolution, observation: Observation) -> list[str]:
    """In what the observed launch is known to be another one than the predicted; a sentence each."""
    found = [
        *_version_difference(prediction, observation),
        *_machine_differences(prediction, observation),
    ]
    predicted_model = _decided(prediction, "model_path")
    observed_model = observation.fields.get("model_path")
    if (
        prediction.model.source != "unknown"
        and isinstance(observed_model, str)
        and isinstance(predicted_model, str)
        and not _same_model(observed_model, predicted_model, prediction.model.name)
    ):
        found.append(f"{OTHER_MODEL} {observed_model} was started, {predicted_model} predicted")
    for package, version in observation.packages.items():
        found.append(f"another installation: {package} is {version or 'missing'} there")
    return found


def _version_difference(prediction: Resolution, observation: Observation) -> list[str]:
    version = prediction.sglang.version
    if observation.version is not None:
        if _same_version(observation.version, version):
            return []
        return [f"another version: SGLang {observation.version} was started, {version} predicted"]
    if not (observation.complete and prediction.fields and observation.evidence == "log"):
        return []
    seen, known = set(observation.fields), set(prediction.fields)
    if seen - known or len(known - seen) > MAX_FOREIGN_FIELDS:
        more, fewer = len(seen - known), len(known - seen)
        return [
            f"another version: the logged arguments have {more} fields that SGLang {version} "
            f"does not have, and lack {fewer} that it has"
        ]
    return []


def _machine_differences(prediction: Resolution, observation: Observation) -> list[str]:
    target, machine = prediction.target, observation.machine
    name = machine.gpu or "another GPU"
    if machine.arch and target.arch and machine.arch != target.arch:
        return [f"another GPU: it ran on {name} ({machine.arch}), {target.arch} was predicted for"]
    found = []
    memory = target.gpu.memory_mib
    if (
        machine.memory_mib
        and memory
        and abs(machine.memory_mib - memory) > MEMORY_TOLERANCE * memory
    ):
        found.append(
            f"another GPU: {name} has {machine.memory_mib} MiB, {memory} MiB were predicted for"
        )
    if machine.count and target.gpu.count and machine.count != target.gpu.count:
        found.append(
            f"another machine: it has {machine.count} GPUs, {target.gpu.count} were predicted for"
        )
    if machine.cuda and target.cuda and machine.cuda != target.cuda:
        found.append(f"another CUDA: {machine.cuda} there, {target.cuda} predicted for")
    return found


def _same_version(left: str, right: str) -> bool:
    return left.partition("+")[0].removeprefix("v") == right.partition("+")[0].removeprefix("v")


def _same_model(observed: str, predicted: str, name: str | None) -> bool:
    known = {_base(predicted), _base(name or "")}
    return observed == predicted or _base(observed) in known or "model" in known


def _base(path: str) -> str:
    """The model's name without folders, case and signs; a hub snapshot is named by its repository."""
    hub = re.search(r"models--([\w.-]+)/snapshots/", path)
    last = hub[1].rpartition("--")[2] if hub else path.rstrip("/").rpartition("/")[2]
    return _WORDS.sub("", last.lower())


def _decided(prediction: Resolution, name: str) -> JsonValue:
    answer = prediction.fields.get(name)
    return answer.value if answer is not None and answer.status == "decided" else None


@dataclass(slots=True)
class _Fields:
    """Sorts the fields into what agrees and what does not."""

    prediction: Resolution
    observation: Observation
    differences: list[str]
    changed: Mapping[str, str]
    agree: int = 0
    not_seen: int = 0
    disagree: list[Disagreement] = field(default_factory=list)
    conditional: list[HeldCase] = field(default_factory=list)
    unknown: list[UnknownField] = field(default_factory=list)
    explained: list[Explained] = field(default_factory=list)

    def compare(self) -> None:
        """Every predicted field."""
        for name, answer in self.prediction.fields.items():
            if name in self.observation.fields:
                self._field(name, answer, self.observation.fields[name])
            elif self.observation.fields:
                self.not_seen += 1

    def compare_environment(self) -> None:
        """Environment variables that resolution changes, where the observation knows them.

        A launch that fails leaves no environment behind that anybody would use.
        """
        seen = self.observation.env_after
        starts = self.prediction.outcome.status in ("ok", "conditional")
        if seen is None or not starts or self.observation.outcome.status != "ok":
            return
        predicted = self.prediction.env_after
        for name in sorted((set(seen) | set(predicted)) - self.observation.env_imported):
            label = f"environment {name}"
            before, after = predicted.get(name), seen.get(name)
            if name in seen and name in predicted and matches(before, after):
                self.agree += 1
            else:
                self._differs(label, before, after, "")

    def _field(self, name: str, answer: FieldAnswer, observed: Any) -> None:
        value = shown(name, plain(observed))
        if name in self.changed:
            if answer.status == "decided" and matches(answer.value, observed):
                self.agree += 1
            else:
                predicted = answer.value if answer.status == "decided" else None
                self.explained.append(
                    Explained(name, shown(name, predicted), value, self.changed[name])
                )
            return
        if answer.status == "unknown":
            reason = answer.reason.code if answer.reason is not None else "unexplained"
            self.unknown.append(UnknownField(name, value, reason))
        elif answer.status == "conditional":
            self._conditional(name, answer, observed)
        elif matches(answer.value, observed):
            self.agree += 1
        else:
            self._differs(name, answer.value, observed, _place(answer))

    def _conditional(self, name: str, answer: FieldAnswer, observed: Any) -> None:
        value = shown(name, plain(observed))
        for case in answer.cases:
            if matches(case.value, observed):
                self.conditional.append(HeldCase(name, value, case.condition))
                return
        values: JsonValue = [shown(name, case.value) for case in answer.cases]
        if self.differences:
            self.explained.append(Explained(name, values, value, self.differences[0]))
        else:
            self.disagree.append(Disagreement(name, values, value, _place(answer), cases=True))

    def _differs(self, name: str, predicted: JsonValue, observed: Any, place: str) -> None:
        seen = plain(observed)
        reason = self._reason(name, predicted, seen)
        if reason is not None:
            entry = Explained(name, shown(name, predicted), shown(name, seen), reason)
            self.explained.append(entry)
        else:
            self.disagree.append(
                Disagreement(name, shown(name, predicted), shown(name, seen), place)
            )

    def _reason(self, name: str, predicted: JsonValue, observed: JsonValue) -> str | None:
        """Why a field may differ although the prediction is right."""
        old, new = (
            _decided(self.prediction, "model_path"),
            self.observation.fields.get("model_path"),
        )
        if (
            isinstance(old, str)
            and isinstance(new, str)
            and old != new
            and (name in _PATH_FIELDS or _replaced(predicted, old, new) == observed)
        ):
            return "a different model path"
        return self.differences[0] if self.differences else None


def _replaced(value: JsonValue, old: str, new: str) -> JsonValue:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, old, new) for key, item in value.items()}
    return value


def _place(answer: FieldAnswer) -> str:
    """Where the prediction says that the value was written."""
    for step in reversed(answer.because):
        if step.effective and step.file is not None:
            return f"{step.file}:{step.line}"
    return ""


def fit_log(prediction: Resolution, observation: Observation) -> LogFit | None:
    """Which of the predicted warnings the observed log holds, and what it says of backends.

    None where no log was seen.
    """
    if observation.log is None:
        return None
    seen = [_flat(line.message) for line in observation.log]
    wanted = [
        line.message
        for line in prediction.log
        if line.level in ("WARNING", "ERROR", "CRITICAL") and line.when in ("", "always")
    ]
    missing = [text for text in wanted if not any(_first_line(text) in line for line in seen)]
    backends = tuple(backend_lines(line.message for line in observation.log))
    return LogFit(len(wanted), len(wanted) - len(missing), tuple(missing), backends)


def _flat(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def _first_line(text: str) -> str:
    return _flat(text).strip().split("\n")[0].strip()
