"""Which release, machine and model one launch is checked with, and what says so.

The file itself speaks first, then the configuration (its per-path tables before its other keys), then
the options, then the defaults. Nothing here reads the machine that sgcheck runs on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

from msgspec.structs import replace

from sgcheck.errors import UsageError
from sgcheck.findings.assumption import Basis, assume, image_dynamo
from sgcheck.scan.context import flag_value
from sgcheck.scan.model import Launch
from sgcheck.world.model_facts import UNKNOWN_MODEL, ModelFacts, load_model
from sgcheck.world.target import TargetSpec, resolve_target
from sgcheck_rules.machines import architectures, find_gpu, other_platforms, squeeze
from sgcheck_rules.models import find_profile

From: TypeAlias = Literal["file", "configuration", "option", "default"]

MODEL_FLAGS = ("--model-path", "--model")
DRAFT_FLAGS = ("--speculative-draft-model-path", "--speculative-draft-model", "--speculative-draft")
DEFAULT_ARCHES = ("sm90", "sm100", "sm120")
"""Where nothing names a machine: the first is predicted, the others confirm what it says."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What one layer (configuration or options) says; None or empty: nothing."""

    sglang: str | None = None
    python: str | None = None
    arch: str | None = None
    gpu: str | None = None
    gpu_count: int | None = None
    gpu_memory: int | None = None
    cuda: str | None = None
    model: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)

    @property
    def names_machine(self) -> bool:
        """Whether it says which machine."""
        return self.arch is not None or self.gpu is not None


@dataclass(frozen=True, slots=True)
class Settled:
    """What one launch is checked with, each with its origin in words.

    `version` is a release or a `--sglang` spec (None: the default tree). `targets` holds every machine
    that the launch may run on; with `certain` False they are only samples. `from_file` says that the
    release is the file's own. `assumed` says in words why the release is only assumed (`the file names no
    release`), empty where something names it; `neighbours` are the other releases that it may be.
    With `follow` False only its arguments are checked.
    """

    version: str | None
    python: str | None
    version_from: str
    from_file: bool
    targets: tuple[TargetSpec, ...]
    target_from: str
    certain: bool
    model: ModelFacts
    model_from: str
    drafts: Mapping[str, ModelFacts]
    env: Mapping[str, str]
    notes: tuple[str, ...] = ()
    assumed: str = ""
    neighbours: tuple[str, ...] = ()
    follow: bool = True


def settle(launch: Launch, layers: Sequence[tuple[From, Wish]]) -> Settled:
    """What `launch` is checked with; `layers` come after the file, the strongest first.

    Raises UsageError for a wish that names no machine or model.
    """
    named = _version(launch, layers)
    if named is None:
        basis = assume(launch.image)
        named = basis.version, None, "default" if basis.version is None else "image's date", False
    else:
        basis = Basis()
    version, python, version_from, from_file = named
    targets, target_from, certain, notes = _targets(launch, layers)
    model, model_from = _model(launch, layers)
    env: dict[str, str] = {}
    for _, wish in reversed(layers):
        env.update(wish.env)
    return Settled(
        version,
        python,
        version_from,
        from_file,
        targets,
        target_from,
        certain,
        model,
        model_from,
        _drafts(launch, layers),
        env,
        notes,
        basis.why,
        basis.neighbours,
    )


def _version(
    launch: Launch, layers: Sequence[tuple[From, Wish]]
) -> tuple[str | None, str | None, str, bool] | None:
    if launch.version is not None:
        return launch.version.version, None, launch.version.source, True
    for name, wish in layers:
        if wish.sglang is not None or wish.python is not None:
            return wish.sglang, wish.python, name, False
    image = launch.image
    found = image_dynamo(image.text) if image is not None and image.text is not None else None
    return (found, None, "Dynamo image tag", True) if found is not None else None


def _targets(
    launch: Launch, layers: Sequence[tuple[From, Wish]]
) -> tuple[tuple[TargetSpec, ...], str, bool, tuple[str, ...]]:
    count = _gpu_count(launch)
    strong = [hint for hint in launch.targets if not hint.weak]
    for hint in sorted(strong, key=lambda h: h.source != "comment"):
        found = _hinted(hint.kind, hint.values, count)
        if found:
            return found, hint.source, True, ()
    for name, wish in layers:
        if wish.names_machine:
            arches = wish.arch.split(",") if wish.arch else [None]
            machines = tuple(
                resolve_target(arch, wish.gpu, count or wish.gpu_count, wish.gpu_memory, wish.cuda)
                for arch in arches
            )
            return machines, name, True, ()
    for hint in launch.targets:
        found = _hinted(hint.kind, hint.values, count) if hint.weak else ()
        if found:
            others = tuple(s for s in _samples(count) if s.arch != found[0].arch)
            return (*found, *others), hint.source, False, ()
    samples = _samples(count)
    return samples, "default", False, ()


def _samples(count: int | None) -> tuple[TargetSpec, ...]:
    return tuple(resolve_target(arch, None, count) for arch in DEFAULT_ARCHES)


def _hinted(kind: str, values: Sequence[str], count: int | None) -> tuple[TargetSpec, ...]:
    """The machines of a hint; empty when it names one that is not known."""
    found: list[TargetSpec] = []
    for value in values:
        gpu = find_gpu(value) if kind == "gpu" else None
        try:
            if gpu is not None:
                found.append(resolve_target(None, gpu.key, count))
            elif (kind == "arch" and value in architectures()) or (
                squeeze(value) in other_platforms()
            ):
                found.append(resolve_target(value, None, count))
            else:
                return ()
        except UsageError:
            return ()
    return tuple(found)


def _gpu_count(launch: Launch) -> int | None:
    if launch.gpus is not None and launch.gpus.value and 1 <= launch.gpus.value <= 1024:
        return launch.gpus.value
    return None


def _model(launch: Launch, layers: Sequence[tuple[From, Wish]]) -> tuple[ModelFacts, str]:
    word = flag_value(launch.merged_argv(), *MODEL_FLAGS) or launch.model
    text = word.text if word is not None else None
    for name, wish in layers:
        if text is not None and text in wish.models:
            return _named(wish.models[text], text), name
    if text:
        found = _profile(text)
        if found is not None:
            return found, "bundled profile"
    for name, wish in layers:
        if wish.model is not None:
            return _named(wish.model, text), name
    if text:
        return replace(UNKNOWN_MODEL, path=text, name=text.rpartition("/")[2]), "file"
    return UNKNOWN_MODEL, "not said"


def _drafts(launch: Launch, layers: Sequence[tuple[From, Wish]]) -> dict[str, ModelFacts]:
    word = flag_value(launch.merged_argv(), *DRAFT_FLAGS)
    if word is None or not word.text:
        return {}
    for _, wish in layers:
        if word.text in wish.models:
            return {word.text: _named(wish.models[word.text], word.text)}
    found = _profile(word.text)
    return {word.text: found} if found is not None else {}


def _named(spec: str, text: str | None) -> ModelFacts:
    facts = load_model(spec)
    return facts if text is None else replace(facts, path=text)


def _profile(text: str) -> ModelFacts | None:
    """The bundled facts of a repository id or of a folder that is called after one."""
    found = _bundled(text.rstrip("/").rpartition("/")[2])
    return replace(found, path=text) if found is not None else None


@cache
def _bundled(name: str) -> ModelFacts | None:
    return load_model(name) if name and find_profile(name) is not None else None
