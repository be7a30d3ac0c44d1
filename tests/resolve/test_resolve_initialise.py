"""Effective backends are what the tree's own initialisers select, with the lines that did it."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent
from typing import Any

import pytest

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import FieldAnswer, Resolution
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


FP4_FILE = "sglang/srt/layers/quantization/fp4_utils.py"
MOE_FILE = "sglang/srt/layers/moe/utils.py"


def reasons(answer: FieldAnswer) -> list[tuple[str | None, int | None]]:
    return [(step.file, step.line) for step in answer.because if step.effective]


def line(text: str, part: str) -> int:
    return 1 + next(i for i, row in enumerate(text.splitlines()) if part in row)


@pytest.mark.parametrize("explore", [False, True])
@pytest.mark.parametrize(("arch", "value"), [("sm120", "cudnn"), ("sm90", "cutlass")])
def test_auto_is_resolved_for_the_architecture(arch: str, value: str, explore: bool) -> None:
    found = resolution(arch=arch, explore=explore).effective["main"]["fp4_gemm"]
    assert (found.status, found.value, found.name) == ("decided", value, "fp4_gemm_runner_backend")
    assert reasons(found) == [(FP4_FILE, line(FP4, f'backend = "{value}"'))]
    assert found.because[-1].function == "initialize_fp4_gemm_config"


def test_a_flag_that_is_only_handed_on_stays_the_reason() -> None:
    found = resolution("--fp4-gemm-runner-backend", "trtllm").effective["main"]["fp4_gemm"]
    assert found.value == "trtllm"
    kinds = [(step.kind, step.effective) for step in found.because]
    assert kinds == [("flag", True), ("write", False)]
    assert found.because[-1].line == line(FP4, "backend = entry")


def test_the_draft_is_asked_under_its_own_scope() -> None:
    flags = ("--moe-runner-backend", "cutlass", "--speculative-algorithm", "EAGLE")
    effective = resolution(*flags).effective
    assert effective["main"]["moe_runner"].value == "cutlass"
    draft = effective["draft"]["moe_runner"]
    assert draft.value == "triton"
    assert reasons(draft) == [(MOE_FILE, line(MOE, "DRAFT_RUNNER = Runner.TRITON"))]


def test_an_initialiser_that_raises_is_no_outcome_of_the_arguments() -> None:
    result = resolution("--moe-runner-backend", "nonsense")
    assert result.outcome.status == "ok"
    found = result.effective["main"]["moe_runner"]
    assert found.status == "unknown"
    assert found.reason is not None
    assert (found.reason.code, found.reason.file) == ("raises(ValueError)", MOE_FILE)
    assert found.reason.line == line(MOE, "RUNNER = Runner(")
    assert result.effective["main"]["fp4_gemm"].value == "cudnn"


def test_what_the_engine_cannot_know_is_unknown_with_its_reason() -> None:
    files = {
        "srt/layers/quantization/fp4_utils.py": """
        import time
        def initialize_fp4_gemm_config():
            pass
        def get_fp4_gemm_runner_backend():
            return "cudnn" if time.time() > 5 else "cutlass"
        """
    }
    result = resolution(files=files)
    assert result.outcome.status == "ok"
    found = result.effective["main"]["fp4_gemm"]
    assert found.status == "unknown"
    assert found.reason is not None
    assert found.reason.code == "nondeterministic"


def test_without_an_initialiser_the_field_is_the_answer() -> None:
    found = resolution().effective["main"]["fp8_gemm"]
    assert (found.status, found.value) == ("decided", "auto")


def test_what_the_arguments_leave_open_is_not_reported_as_none() -> None:
    found = resolution().effective["main"]["attention_decode"]
    assert found.status == "unknown"
    assert found.reason is not None
    assert found.reason.code == "decided-later"


def test_an_algorithm_that_drafts_without_a_model_has_no_draft() -> None:
    spec = """
    class SpeculativeAlgorithm:
        def __init__(self, name):
            self.name = name
        @classmethod
        def from_string(cls, name):
            return cls(name)
        def is_ngram(self):
            return self.name == "NGRAM"
    """
    files = {"srt/speculative/__init__.py": "", "srt/speculative/spec_info.py": spec}
    assert "draft" not in resolution("--speculative-algorithm", "NGRAM", files=files).effective
    assert "draft" in resolution("--speculative-algorithm", "EAGLE", files=files).effective
