"""A small invented tree whose scheduler keeps backends in the process, and its effective backends."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent
from typing import Any

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import Resolution
from sgcheck.source import memory_tree
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import resolve_target

METADATA = """\
Metadata-Version: 2.1
Name: sglang
Version: 0.0.0
Requires-Dist: torch==2.9.1
Requires-Dist: transformers==4.57.1
"""

ENTRY = """\
import argparse
import dataclasses
import random


@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    moe_runner_backend: str = "auto"
    fp4_gemm_runner_backend: str = "auto"
    fp8_gemm_runner_backend: str = "auto"
    quantization: object = None
    speculative_algorithm: object = None
    speculative_moe_runner_backend: object = None
    attention_backend: object = None
    seed: object = None

    def __post_init__(self):
        self.seed = random.randint(0, 9)


def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--model-path", default="")
    parser.add_argument("--moe-runner-backend", default="auto")
    parser.add_argument("--fp4-gemm-runner-backend", default="auto")
    parser.add_argument("--speculative-algorithm", default=None)
    return ServerArgs(**vars(parser.parse_args(argv)))


PUBLISHED = None


def set_global_server_args_for_scheduler(record):
    global PUBLISHED
    MISSING = object()
    for field in dataclasses.fields(record):
        if getattr(record, field.name, MISSING) is MISSING:
            raise AttributeError(field.name)
    PUBLISHED = record
"""

MOE = """\
import enum
from contextlib import contextmanager


class Runner(enum.Enum):
    AUTO = "auto"
    TRITON = "triton"
    CUTLASS = "cutlass"


RUNNER = None
DRAFT_RUNNER = None


def initialize_moe_config(server_args):
    global RUNNER
    global DRAFT_RUNNER
    RUNNER = Runner(server_args.moe_runner_backend)
    DRAFT_RUNNER = RUNNER
    if RUNNER is Runner.CUTLASS:
        DRAFT_RUNNER = Runner.TRITON


def get_moe_runner_backend():
    return RUNNER


@contextmanager
def speculative_moe_backend_context():
    global RUNNER
    kept = RUNNER
    RUNNER = DRAFT_RUNNER
    yield
    RUNNER = kept
"""

FP4 = """\
import torch
from sglang.srt import server_args as entry

BACKEND = None


def initialize_fp4_gemm_config():
    global BACKEND
    backend = entry.PUBLISHED.fp4_gemm_runner_backend
    if backend == "auto":
        if torch.cuda.get_device_capability()[0] == 12:
            backend = "cudnn"
        else:
            backend = "cutlass"
    BACKEND = backend


def get_fp4_gemm_runner_backend():
    return BACKEND
"""

FILES = {
    "__init__.py": "",
    "srt/__init__.py": "",
    "srt/server_args.py": ENTRY,
    "srt/layers/__init__.py": "",
    "srt/layers/moe/__init__.py": "",
    "srt/layers/moe/utils.py": MOE,
    "srt/layers/quantization/__init__.py": "",
    "srt/layers/quantization/fp4_utils.py": FP4,
}


def resolution(
    *flags: str, arch: str = "sm120", files: Mapping[str, str] | None = None, **how: Any
) -> Resolution:
    """One launch of the tree, some of whose files are replaced by `files`."""
    content = {**FILES, **{path: dedent(text) for path, text in (files or {}).items()}}
    tree = memory_tree({f"sglang/{p}": t.encode() for p, t in content.items()}, metadata=METADATA)
    launch = Launch(flags, {}, resolve_target(arch, None), UNKNOWN_MODEL)
    return Predictor(tree).check(launch, **how)
