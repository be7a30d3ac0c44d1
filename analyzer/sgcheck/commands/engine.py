"""Where the commands meet the engine: choices in, predictors and launches out."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sgcheck.commands.options import LaunchChoice, SourceChoice
from sgcheck.commands.output import note

if TYPE_CHECKING:
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.predict import Depth
    from sgcheck.resolve.resolution import Resolution
    from sgcheck.resolve.why import WhyReport
    from sgcheck.sandbox.predictor import SandboxedPredictor
    from sgcheck.source import Tree
    from sgcheck.world.model_facts import ModelFacts

KEPT_PREDICTORS = 4


def find_tree(source: SourceChoice) -> Tree:
    """Find the tree, telling standard error what is fetched."""
    from sgcheck.source import StderrProgress, open_tree

    progress = StderrProgress()
    try:
        return open_tree(
            source.spec, python=source.python, offline=source.offline, progress=progress
        )
    finally:
        progress.clear()


def open_predictor(
    source: SourceChoice, packages: Mapping[str, str | bool] | None = None
) -> SandboxedPredictor:
    """Find the tree and make its predictor."""
    from sgcheck.sandbox.predictor import SandboxedPredictor

    return SandboxedPredictor(find_tree(source), packages=packages or None)


def answers(
    choice: LaunchChoice, *, trace: bool = True, depth: Depth = "arguments"
) -> tuple[Tree, list[Resolution]]:
    """The tree and one resolution per target; what has been answered before is not run again.

    An answer is kept under a digest of all that it depends on (see `findings.store`).
    """
    from sgcheck.findings.store import Store, is_lasting
    from sgcheck.resolve.resolution import Resolution
    from sgcheck.source.cache import cache_dir

    model = read_model(choice)
    tree = find_tree(choice.source)
    launches = make_launches(choice, model)
    packages = sorted(choice.packages.items())
    extra = f"{tree.origin} {tree.version} {tree.ref} {trace} {depth} {packages}"
    store = Store(cache_dir() / "answers", tree.digest, extra)
    predictor: SandboxedPredictor | None = None
    results: list[Resolution] = []
    for launch in launches:
        found: Resolution | None = store.get("check", launch, Resolution)
        if found is None:
            from sgcheck.sandbox.predictor import SandboxedPredictor

            # Of a single launch nothing needs to be taken back: it is the last one of the process.
            if predictor is None:
                predictor = SandboxedPredictor(
                    tree, packages=choice.packages or None, once=len(launches) == 1
                )
                predictor.start()
                # While the worker makes itself ready, what comes afterwards is loaded.
                importlib.import_module("sgcheck.report.text")
            found = predictor.check(launch, trace=trace, depth=depth)
            if is_lasting(found):
                store.put("check", launch, found)
        results.append(found)
    store.tidy()
    return tree, results


def predict(choice: LaunchChoice) -> list[Resolution]:
    """One resolution per target."""
    return answers(choice)[1]


def predict_with(choice: LaunchChoice) -> tuple[SandboxedPredictor, list[Resolution]]:
    """The predictor and one resolution per target."""
    model = read_model(choice)
    predictor = open_predictor(choice.source, choice.packages)
    launches = make_launches(choice, model)
    return predictor, [predictor.check(launch) for launch in launches]


def read_model(choice: LaunchChoice) -> ModelFacts:
    """The model, and notes to the user. It is read first: a slip there must not cost a fetch."""
    model = chosen_model(choice)
    texts = [text for target in choice.targets for text in target.notes]
    for text in dict.fromkeys((*texts, *model.notes)):
        note(text)
    return model


def launches_of(choice: LaunchChoice) -> list[Launch]:
    """One launch per target, with its model read."""
    from sgcheck.world.model_facts import load_model

    return make_launches(choice, load_model(choice.model))


def explain(choice: LaunchChoice, field: str) -> list[WhyReport]:
    """The prediction and the write sites of one field, per target."""
    model = chosen_model(choice)
    predictor = open_predictor(choice.source, choice.packages)
    return [predictor.why(launch, field) for launch in make_launches(choice, model)]


def chosen_model(choice: LaunchChoice) -> ModelFacts:
    """The model of `--model`, or an unknown one with the facts of `--model-fact`."""
    from msgspec.structs import replace

    from sgcheck.world.model_facts import load_model

    model = load_model(choice.model)
    if not choice.model_facts:
        return model
    from sgcheck.world.given_facts import check_against, parse_facts

    facts = parse_facts(choice.model_facts)
    if model.known:
        check_against(model, facts)
        return model
    return replace(model, given=facts)


def make_launches(choice: LaunchChoice, model: ModelFacts) -> list[Launch]:
    """One launch per target, with the folders and files that its arguments name.

    Without `--model`, a model path among SGLang's own flags is used where it is a folder on disk or
    the name of a bundled profile.
    """
    from sgcheck.resolve.launch import Launch, named

    found = named(choice.argv, model)
    if model.given and found.model is not model:
        from sgcheck.world.given_facts import check_against

        check_against(found.model, model.given)
    return [
        Launch(
            choice.argv,
            dict(choice.env),
            target,
            found.model,
            found.folders,
            found.files,
            unknown_packages=choice.unknown_packages,
            unknown_env=choice.unknown_env,
        )
        for target in choice.targets
    ]


class PredictorPool:
    """Predictors by source, the least recently used one dropped beyond `KEPT_PREDICTORS`."""

    def __init__(self, base: SourceChoice) -> None:
        self._base = base
        self._kept: OrderedDict[str | None, SandboxedPredictor] = OrderedDict()

    def get(self, spec: str | None) -> SandboxedPredictor:
        """The predictor of `spec`, or of the default source where it is None."""
        if spec not in self._kept:
            source = self._base
            if spec is not None:
                source = SourceChoice(spec, None, self._base.offline)
            self._kept[spec] = open_predictor(source)
            if len(self._kept) > KEPT_PREDICTORS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(spec)
        return self._kept[spec]
