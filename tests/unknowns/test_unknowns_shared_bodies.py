"""Module bodies run once for all paths, and results that nobody uses need not agree."""

from __future__ import annotations

from unknown_trees import check_partitions, launch, predictor

from sgcheck.resolve.membership import case_table

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


def test_results_that_nobody_uses_leave_one_path() -> None:
    head = """
LOG = []

def note(args):
    records = []
    if args.fast:
        records.append(object())
    if args.backend == "triton":
        records.append(object())
    args.level = len(records)
    return records
"""
    body = """
    note(self)
    self.answer = note(self) is None
    """
    table = case_table(predictor(body, head), launch("--fast", "?", "--backend", "?"))
    check_partitions(table)
    assert {value for _, value in table.fields["level"].cases} == {0, 1, 2}
    assert {value for _, value in table.fields["answer"].cases} == {False}
