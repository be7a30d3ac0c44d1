"""A line of a release is changed: the prediction changes with it, and lines move with the text."""

from __future__ import annotations

import re
from functools import cache

import pytest

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import FieldAnswer, Resolution
from sgcheck.source import Tree, open_tree, overlay
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import resolve_target

pytestmark = pytest.mark.release

ARGS = "sglang/srt/server_args.py"
GROUPS = "sglang/srt/arg_groups"
NVFP4 = "deepseek-r1-0528-nvfp4"
PLAIN = "qwen3-30b-a3b-fp8"


@cache
def release(version: str) -> Tree:
    return open_tree(version)


def predict(tree: Tree, *flags: str, model: str = PLAIN, arch: str = "sm120") -> Resolution:
    launch = Launch(flags, {}, resolve_target(arch, None), load_model(model))
    return Predictor(tree).check(launch)


@cache
def before(version: str, *flags: str, model: str = PLAIN, arch: str = "sm120") -> Resolution:
    return predict(release(version), *flags, model=model, arch=arch)


def edited(tree: Tree, path: str, *changes: tuple[str, str]) -> Tree:
    """The tree with the one place that each pattern finds replaced."""
    text = tree.read(path).decode()
    for pattern, replacement in changes:
        text, count = re.subn(pattern, replacement, text, flags=re.M)
        assert count == 1, f"{pattern} was found {count} times in {path}"
    return overlay(tree, {path: text.encode()})


def shifted(tree: Tree, path: str, lines: int) -> Tree:
    """The tree with comment lines in front of a file."""
    return overlay(tree, {path: b"# moved\n" * lines + tree.read(path)})


def writes(answer: FieldAnswer) -> list[tuple[str | None, int | None]]:
    return [(step.file, step.line) for step in answer.because if step.kind == "write"]


RENAMED = {
    "0.5.9": (ARGS, r'(if self\.speculative_algorithm == )"NEXTN"', r'\1"NGRAM"'),
    "0.5.23": (
        f"{GROUPS}/speculative_hook.py",
        r'^(    if speculative_algorithm == )"NEXTN"( or speculative_algorithm == "EAGLE")',
        r'\1"NGRAM"\2',
    ),
}


@pytest.mark.parametrize("version", RENAMED)
def test_a_condition(version: str) -> None:
    path, pattern, replacement = RENAMED[version]
    flags = ("--speculative-algorithm", "NEXTN")
    assert before(version, *flags).fields["speculative_algorithm"].value == "EAGLE"
    changed = predict(edited(release(version), path, (pattern, replacement)), *flags)
    answer = changed.fields.get("speculative_algorithm")
    assert answer is None or answer.value != "EAGLE"


DEFAULTS = {
    "0.5.9": (ARGS, r"^(    stream_interval: int = )1$", r"\g<1>5"),
    "0.5.23": (
        f"{GROUPS}/fields/serving.py",
        r"^(    stream_interval: A\[\n(?:        .*\n)+    \] = )1$",
        r"\g<1>5",
    ),
}


@pytest.mark.parametrize("version", DEFAULTS)
def test_a_default(version: str) -> None:
    path, pattern, replacement = DEFAULTS[version]
    assert before(version).fields["stream_interval"].value == 1
    changed = predict(edited(release(version), path, (pattern, replacement)))
    assert changed.fields["stream_interval"].value == 5
    assert changed.fields["stream_interval"].status == "decided"
    given = predict(
        edited(release(version), path, (pattern, replacement)), "--stream-interval", "3"
    )
    assert given.fields["stream_interval"].value == 3


INHERITING = {"0.5.9": ARGS, "0.5.23": f"{GROUPS}/overrides.py"}


@pytest.mark.parametrize("version", INHERITING)
def test_lines_move_with_the_text(version: str) -> None:
    path = INHERITING[version]
    flags = ("--moe-runner-backend", "triton", "--speculative-algorithm", "NEXTN")
    old = before(version, *flags).fields["speculative_moe_runner_backend"]
    new = predict(shifted(release(version), path, 7), *flags).fields[
        "speculative_moe_runner_backend"
    ]
    assert old.value == new.value == "triton"
    assert [(f, (n or 0) + 7 * (f == path)) for f, n in writes(old)] == writes(new)
    assert any(f == path for f, _ in writes(old)) or any(step.file == path for step in old.because)


def test_an_order() -> None:
    """A handler that runs earlier sees the spelling that the user gave; one that runs later does not."""
    flags = ("--quantization", "modelopt_fp4", "--tp-size", "8", "--speculative-algorithm")
    spelled = {
        word: before("0.5.9", *flags, word, model=NVFP4, arch="sm100")
        for word in ("NEXTN", "EAGLE")
    }
    drafts = {w: r.fields["speculative_moe_runner_backend"].value for w, r in spelled.items()}
    assert drafts == {"NEXTN": "auto", "EAGLE": "triton"}
    first = r"^        self\._handle_model_specific_adjustments\(\)$"
    rename = r'^        if self\.speculative_algorithm == "NEXTN":\n            self\.speculative_algorithm = "EAGLE"\n'
    text = release("0.5.9").read(ARGS).decode()
    moved = re.search(rename, text, re.M)
    assert moved is not None
    call = re.search(first, text, re.M)
    assert call is not None
    tree = edited(release("0.5.9"), ARGS, (first, (moved.group() + call.group()).replace("\\", "")))
    changed = predict(tree, *flags, "NEXTN", model=NVFP4, arch="sm100")
    assert changed.fields["speculative_moe_runner_backend"].value == "triton"


@pytest.mark.parametrize("version", RENAMED)
def test_a_new_error(version: str) -> None:
    """A tree that raises where the release does not: the outcome is the error, at its line."""
    tree = release(version)
    text = tree.read(ARGS).decode() + (
        "\n\n_prepare = prepare_server_args\n\n\n"
        "def prepare_server_args(argv):\n"
        "    found = _prepare(argv)\n"
        "    if found.tp_size == 3:\n"
        "        raise ValueError('three is too many')\n"
        "    return found\n"
    )
    changed = overlay(tree, {ARGS: text.encode()})
    line = text.count("\n") - 1
    assert predict(changed).outcome.status == "ok"
    outcome = predict(changed, "--tp-size", "3").outcome
    assert outcome.status == "startup_error"
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.file, outcome.error.line) == (
        "ValueError",
        ARGS,
        line,
    )
