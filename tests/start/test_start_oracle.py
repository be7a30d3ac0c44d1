"""Recorded starts of real releases: nothing that is predicted of them may be wrong.

What is compared is what `fixtures/kernel_oracle/README.md` describes. Kernels are compared where the
recorded trace came to its end: the predicted one must be among those that were called.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import Cell, Resolution, RoleRunning
from sgcheck.source.opening import open_tree
from sgcheck.world.model_facts import ModelFacts, load_model
from sgcheck.world.target import resolve_target

pytestmark = [pytest.mark.release, pytest.mark.oracle]

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "kernel_oracle"
RELEASES = {
    "0.5.9": 0.97,
    "0.5.10": 0.97,
    "0.5.12": 0.85,
    "0.5.15": 0.97,
    "0.5.20": 0.97,
    "0.5.23": 0.97,
}
"""Releases, and the share of the facts of their launches that has to be decided."""
NOT_COMPARED = ("embed_tokens", "RadixAttention", "visual", "vision")


def recorded(release: str) -> list[dict[str, Any]]:
    with gzip.open(FIXTURES / f"{release}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    with gzip.open(FIXTURES / "models.json.gz", "rt", encoding="utf-8") as file:
        folders: dict[str, dict[str, str]] = json.load(file)
    for folder, files in folders.items():
        (root / folder).mkdir(parents=True)
        for name, text in files.items():
            (root / folder / name).write_text(text, encoding="utf-8")
    return root


def predicted(predictor: Predictor, case: dict[str, Any], root: Path) -> Resolution:
    gpu = case["gpu"]
    target = resolve_target(case["arch"], None, gpu["count"], gpu["memory_mib"], case.get("cuda"))
    argv = tuple(case["argv"])
    folders: dict[str, ModelFacts] = {
        word: load_model(word, root=root)
        for word in argv
        if (root / word / "config.json").is_file()
    }
    model = load_model(case["model_dir"], root=root)
    launch = Launch(argv, dict(case.get("env") or {}), target, model, folders)
    return predictor.check(launch, trace=False, depth="kernels")


def short(name: Any) -> Any:
    return name if name is None else str(name).rpartition(".")[2]


def facts(truth: dict[str, Any]) -> Iterator[tuple[str, str | None, str, Any]]:
    """Role, kind of layer (None: the model), name and value of everything that was recorded."""
    for model in truth.get("models") or []:
        role = "draft" if model.get("draft") else "main"
        yield role, None, "model_class", short(model.get("class"))
        yield role, None, "quantization", model.get("quantization")
        if model.get("kv_cache_dtype"):
            yield role, None, "kv_cache_dtype", short(model["kv_cache_dtype"])
        if (model.get("attn_backend") or {}).get("class"):
            yield role, None, "attention", short(model["attn_backend"]["class"])
        kinds = Counter(layer["kind"] for layer in model.get("layers") or [] if layer.get("method"))
        for layer in model.get("layers") or []:
            kind = layer["kind"]
            skipped = any(word in kind for word in NOT_COMPARED)
            if layer.get("method") and kinds[kind] == 1 and not skipped:
                yield from ((role, kind, name, value) for name, value in layer_facts(layer))


def layer_facts(layer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "class", short(layer["class"])
    yield "method", short(layer["method"])
    if layer.get("scheme"):
        yield "scheme", short(layer["scheme"])
    runner = layer.get("runner") or {}
    if runner:
        yield "runner", runner.get("backend")
        yield "fused", short(runner.get("fused_func"))
    if layer.get("dispatcher"):
        yield "dispatcher", short(layer["dispatcher"])
    calls = {call["call"] for call in layer.get("calls") or []}
    if layer.get("end") == "returned" and calls:
        yield "kernel", calls


def answered(result: Resolution, role: str, kind: str | None, name: str) -> Cell | None:
    found: RoleRunning | None = getattr(result.running, role) if result.running else None
    if found is None:
        return None
    if kind is None:
        return found.parts.get(name)
    rows = [row for row in found.layers if row.kind == kind]
    return rows[0].cells[name] if len(rows) == 1 else None


@cache
def predictor(release: str) -> Predictor:
    return Predictor(open_tree(release))


@pytest.mark.parametrize("release", RELEASES)
def test_nothing_that_is_predicted_of_a_recorded_start_is_wrong(release: str, models: Path) -> None:
    wrong: list[Any] = []
    count: Counter[str] = Counter()
    for case in recorded(release):
        truth = case["truth"]
        if case.get("suspect") or truth["status"] not in ("ok", "error"):
            continue
        result = predicted(predictor(release), case, models)
        outcome, error = result.outcome, truth.get("error") or {}
        if outcome.status != "unknown":
            said = outcome.error
            place = (said.file, said.line) if said is not None else (None, None)
            if place != (error.get("file"), error.get("line")):
                wrong.append((case["id"], "outcome", place, error))
        if truth["status"] == "error":
            continue
        for role, kind, name, value in facts(truth):
            cell = answered(result, role, kind, name)
            count["kernels" if name == "kernel" else "facts"] += 1
            if cell is None or cell.status != "decided":
                continue
            if name == "kernel":
                count["kernels decided"] += 1
                if cell.raises is None and cell.value not in value:
                    wrong.append((case["id"], role, kind, name, cell.value, value))
            elif cell.value != value:
                wrong.append((case["id"], role, kind, name, cell.value, value))
            else:
                count["decided"] += 1
    assert wrong == []
    assert count["facts"] > 0
    assert count["decided"] / count["facts"] >= RELEASES[release]
    assert count["kernels decided"] / count["kernels"] >= 0.9
