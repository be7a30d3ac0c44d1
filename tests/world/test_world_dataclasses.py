"""`dataclasses` for the tree: the real ones, whose generated text is compiled once a tree."""

from __future__ import annotations

import builtins
import dataclasses
from pathlib import Path
from typing import Any

import pytest
from small_trees import CASE, tree_of

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import target_from_case

HEAD = """
@dataclasses.dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int = 2
    seen: list = dataclasses.field(default_factory=list, compare=False)

@dataclasses.dataclass(kw_only=True)
class Deep:
    z: int
    total: int = dataclasses.field(init=False)
    def __post_init__(self):
        self.total = self.z + 1
"""
BODY = """
point = Point(1)
try:
    point.x = 3
except dataclasses.FrozenInstanceError:
    frozen = True
try:
    Deep(4)
except TypeError:
    named = True
self.answer = [repr(point), point < Point(2), hash(point) == hash(Point(1, seen=[5])), frozen, named, repr(Deep(z=4))]
"""
EXPECTED = [
    "Point(x=1, y=2, seen=[])",
    True,
    True,
    True,
    True,
    "Deep(z=4, total=5)",
]


def answer(folder: Path) -> Any:
    predictor = Predictor(tree_of(BODY, HEAD), cache=folder)
    launch = Launch((), {}, target_from_case(CASE), UNKNOWN_MODEL, {})
    result = predictor.check(launch, explore=False)
    predictor.code.save()
    assert result.outcome.status == "ok", result.outcome
    return result.fields["answer"].value


def test_classes_made_from_kept_code_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(tmp_path) == EXPECTED
    compiled: list[str] = []
    real = builtins.compile

    def watched(source: Any, filename: Any, *args: Any, **kwargs: Any) -> Any:
        compiled.append(str(source))
        return real(source, filename, *args, **kwargs)

    monkeypatch.setattr(builtins, "compile", watched)
    assert answer(tmp_path) == EXPECTED
    assert not [text for text in compiled if "def __" in text]


def test_nothing_of_it_stays_in_the_standard_library(tmp_path: Path) -> None:
    answer(tmp_path)
    assert "exec" not in vars(dataclasses)


def test_a_class_that_fails_leaves_nothing_either(tmp_path: Path) -> None:
    head = "@dataclasses.dataclass\nclass Wrong:\n    a: int = 1\n    b: int\n"
    predictor = Predictor(tree_of("self.answer = 1", head), cache=tmp_path)
    launch = Launch((), {}, target_from_case(CASE), UNKNOWN_MODEL, {})
    assert predictor.check(launch, explore=False).outcome.status != "ok"
    assert "exec" not in vars(dataclasses)
