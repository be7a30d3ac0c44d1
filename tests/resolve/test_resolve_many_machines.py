"""Machines that are no longer needed give their memory back."""

from __future__ import annotations

import gc

from sgcheck.resolve import predict
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.source import memory_tree
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import resolve_target
from sgcheck.world.world import World

METADATA = """\
Metadata-Version: 2.1
Name: sglang
Version: 0.0.0
Requires-Dist: torch==2.9.1
Requires-Dist: transformers==4.57.1
Requires-Dist: msgspec
"""
ENTRY = b"""\
import argparse
from typing import List, Optional, overload

import msgspec


def made():
    return [Part()]


class Part(msgspec.Struct):
    names: Optional[List["Part"]] = msgspec.field(default_factory=list)


class ServerArgs(msgspec.Struct):
    model_path: str = ""
    parts: Optional[List[Part]] = msgspec.field(default_factory=made)


@overload
def shown(args: ServerArgs) -> Optional[ServerArgs]: ...


def shown(args):
    return args


def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--model-path", default="")
    kinds = [Optional[ServerArgs], List[Part]]
    return ServerArgs(**vars(parser.parse_args(argv)))
"""


def test_a_machine_that_is_dropped_leaves_nothing() -> None:
    files = {"sglang/__init__.py": b"", "sglang/srt/__init__.py": b""}
    tree = memory_tree({**files, "sglang/srt/server_args.py": ENTRY}, metadata=METADATA)
    predictor = Predictor(tree)
    for count in range(1, predict.KEPT_MACHINES + 4):
        target = resolve_target("sm120", None, gpu_count=count)
        result = predictor.check(Launch((), {}, target, UNKNOWN_MODEL, {}), explore=False)
        assert result.outcome.status == "ok", result.outcome
    gc.collect()
    worlds = [o for o in gc.get_objects() if isinstance(o, World) and o.files.tree is tree]
    assert len(worlds) == predict.KEPT_MACHINES
