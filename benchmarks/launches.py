"""The launches that are measured: one by itself, and any number for `sgcheck batch`."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path

from sgcheck_rules import models

ARCH = "sm120"
MODEL = "qwen3-235b-a22b-nvfp4"
FLAGS = ("--tp", "8")

MODELS = (
    MODEL,
    "qwen3-8b",
    "qwen3-30b-a3b-fp8",
    "deepseek-v3",
    "deepseek-r1-0528-nvfp4",
    "gpt-oss-120b",
    "llama-3.1-8b-instruct",
    "glm-4.5-air",
)
VARIED: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("--tp", "1"), ("--tp", "2"), ("--tp", "4"), ("--tp", "8")),
    ((), ("--mem-fraction-static", "0.8"), ("--mem-fraction-static", "0.85")),
    ((), ("--chunked-prefill-size", "4096"), ("--chunked-prefill-size", "16384")),
    ((), ("--kv-cache-dtype", "fp8_e4m3")),
    ((), ("--attention-backend", "triton"), ("--attention-backend", "flashinfer")),
    ((), ("--max-running-requests", "64"), ("--disable-radix-cache",)),
    ((), ("--context-length", "8192"), ("--cuda-graph-max-bs", "32")),
)
MACHINES = ("sm120", "sm100", "sm90")


def varied() -> Iterator[tuple[str, list[str]]]:
    """Models and flags, all different, in an order that is the same in every run."""
    every = [(model, flags) for model in MODELS for flags in itertools.product(*VARIED)]
    random.Random(0).shuffle(every)
    for model, flags in every:
        yield model, [word for words in flags for word in words]


def write_models(folder: Path) -> None:
    """Folders with the configurations of the bundled profiles, as `sgcheck batch` takes them."""
    for name in MODELS:
        (folder / name).mkdir(parents=True)
        for file, content in models.profile(name).files.items():
            text = json.dumps(content)
            (folder / name / file).write_text(text, encoding="utf-8")


def write_cases(path: Path, count: int, machines: tuple[str, ...]) -> None:
    """Write `count` lines for `sgcheck batch --models-root`, the machines in turn."""
    lines = []
    for number, (model, flags) in enumerate(itertools.islice(varied(), count)):
        arch = machines[number % len(machines)]
        case = {"id": number, "arch": arch, "model_dir": model, "argv": flags}
        lines.append(json.dumps(case) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
