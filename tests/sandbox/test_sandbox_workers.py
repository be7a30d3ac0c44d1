"""How many workers there are: none outlives its predictor, and few wait."""

from __future__ import annotations

import gc

import pytest

from sgcheck.resolve.launch import Launch
from sgcheck.sandbox import predictor as module
from sgcheck.sandbox import process
from sgcheck.sandbox.predictor import SandboxedPredictor
from sgcheck.source import memory_tree
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import resolve_target

BODY = b"""
class ServerArgs:
    pass

def prepare_server_args(argv):
    return ServerArgs()
"""


def asked() -> SandboxedPredictor:
    made = SandboxedPredictor(memory_tree({"sglang/srt/server_args.py": BODY}))
    made.check(Launch((), {}, resolve_target("sm90", None), UNKNOWN_MODEL), trace=False)
    return made


def test_a_worker_ends_with_its_predictor() -> None:
    before = len(process._children)
    gc.disable()
    try:
        made = asked()
        assert len(process._children) > before
        kept = len(process._children)
        del made
        assert len(process._children) == kept - 1
    finally:
        gc.enable()


def test_workers_that_wait_are_few_and_start_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WORKERS", 2)
    several = [asked() for _ in range(4)]
    assert sum(each._process is not None for each in several) == 2
    assert several[0]._process is None
    several[0].start()
    assert several[0]._process is not None
    assert sum(each._process is not None for each in several) == 2
    for each in several:
        each.close()


def test_garbage_is_still_found_beside_a_worker() -> None:
    made = asked()
    assert gc.get_freeze_count() == 0
    made.close()
