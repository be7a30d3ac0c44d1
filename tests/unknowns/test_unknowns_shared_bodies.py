"""What runs once for all paths: module bodies, and what surrounds a part that decides by itself."""

from __future__ import annotations

from typing import Any

import pytest
from unknown_trees import check_partitions, launch, predictor

from sgcheck.interp import merge
from sgcheck.resolve.membership import case_table
from sgcheck.world.torch_ import CudaState

LATE = """
import torch

def probe():
    if torch.cuda.is_initialized():
        return torch.cuda.get_device_capability()
    return (12, 0)

MAJOR = probe()[0]
"""


def test_a_body_that_asks_what_some_paths_have_done_divides_no_path() -> None:
    body = """
    if self.fast:
        torch.cuda.get_device_capability()
    if self.backend == "triton":
        from sglang.late import MAJOR
        self.answer = MAJOR
    """
    tree = predictor(body, files={"late.py": LATE})
    table = case_table(tree, launch("--fast", "?", "--backend", "?"))
    check_partitions(table)
    assert {outcome.status for _, outcome in table.outcomes} == {"ok"}
    assert sorted((repr(value) for _, value in table.fields["answer"].cases)) == ["12", "None"]


def test_what_some_paths_have_touched_is_seen_where_it_is_asked() -> None:
    body = """
    if self.fast:
        torch.cuda.get_device_capability()
    self.answer = torch.cuda.is_initialized()
    """
    table = case_table(predictor(body), launch("--fast", "?"))
    check_partitions(table)
    assert {value for _, value in table.fields["answer"].cases} == {True, False}


NOTE = """
def declared(args):
    found = {}
    if args.fast:
        found["fast"] = 1
    for backend in ("triton", "cutlass", "broken"):
        if args.backend == backend:
            found[backend] = 1
    for kernel in ("one", "two"):
        if args.kernel == kernel:
            found[kernel] = 1
    for level in (1, 2):
        if torch.cuda.device_count() > level:
            found[level] = 1
    return found

def note(args, found):
    records = []
    for key in found:
        records.append(object())
    args.level = len(records)
    return records
"""
"""Ends in more ways (72) than lists are held side by side."""


@pytest.mark.parametrize(
    ("statement", "once"), [("note(self, found)", True), ("kept = note(self, found)", False)]
)
def test_what_follows_runs_once_where_nobody_uses_the_result(
    statement: str, once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    monkeypatch.setattr(CudaState, "seen", lambda state: counted.append(1))
    body = f"found = declared(self)\n{statement}\nself.answer = torch.cuda.is_initialized()"
    options = ("--fast", "?", "--backend", "?", "--kernel", "?")
    table = case_table(predictor(body, NOTE), launch(*options, count="?"))
    check_partitions(table)
    assert {value for _, value in table.fields["level"].cases} == {0, 1, 2, 3, 4, 5}
    assert (len(counted) == 1) is once


def test_what_surrounds_a_comprehension_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    monkeypatch.setattr(CudaState, "seen", lambda state: counted.append(1))
    body = """
    found = declared(self)
    self.answer = torch.cuda.is_initialized()
    self.level = len({key for key in found})
    """
    options = ("--fast", "?", "--backend", "?", "--kernel", "?")
    table = case_table(predictor(body, NOTE), launch(*options, count="?"))
    check_partitions(table)
    assert {value for _, value in table.fields["level"].cases} == {0, 1, 2, 3, 4, 5}
    assert len(counted) == 1


def test_the_filter_of_one_element_decides_nothing_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted: list[int] = []
    monkeypatch.setattr(CudaState, "seen", lambda state: counted.append(1))
    body = """
    found = declared(self)
    known = {"fast", "triton", "cutlass", "broken", "one", "two", 1, 2}
    rows = (found, {"other": 1})
    self.level = len([torch.cuda.is_initialized() for row in rows if set(row) - known])
    """
    options = ("--fast", "?", "--backend", "?", "--kernel", "?")
    table = case_table(predictor(body, NOTE), launch(*options, count="?"))
    check_partitions(table)
    assert [value for _, value in table.fields["level"].cases] == [1]
    assert len(counted) == 1


def test_a_way_that_changes_nothing_is_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[int] = []

    def join(*args: Any) -> Any:
        joined.append(1)
        return kept(*args)

    kept = merge.join
    monkeypatch.setattr(merge, "join", join)
    body = """
    for name in ("a", "b", "c", "d"):
        if self.fast:
            name in ("e", "f")
    self.answer = 1
    """
    table = case_table(predictor(body), launch("--fast", "?"))
    check_partitions(table)
    assert [value for _, value in table.fields["answer"].cases] == [1]
    assert joined == []
