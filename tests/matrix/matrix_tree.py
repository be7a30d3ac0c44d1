"""A small invented release in a folder, whose launches depend on everything that can vary."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """How a command line ended."""

    code: int
    out: str
    err: str


MatrixRun = Callable[..., Ran]

METADATA = """\
Metadata-Version: 2.1
Name: sglang
Version: {version}
Requires-Dist: torch==2.9.1
Requires-Dist: transformers==4.57.1
"""

SOURCE = """\
import argparse
import dataclasses
import json
import os
import torch

BACKENDS = ["auto", "triton", "cutlass", "old"]


@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    tp_size: int = 1
    moe_runner_backend: str = "auto"
    speculative_moe_runner_backend: str = None
    speculative_algorithm: str = None
    attention_backend: str = None
    page_size: int = None
    quiet: bool = False

    def __post_init__(self):
        major = torch.cuda.get_device_capability()[0]
        if self.moe_runner_backend == "old":
            raise ValueError("old is gone")
        if self.moe_runner_backend == "auto" and major >= {fast}:
            self.moe_runner_backend = "cutlass"
        if self.attention_backend is None:
            self.attention_backend = "fa3" if major == 9 else "flashinfer"
        if self.speculative_algorithm == "NEXTN":
            self.speculative_algorithm = "EAGLE"
        if self.speculative_algorithm is not None:
            self.speculative_moe_runner_backend = self.moe_runner_backend
        self.page_size = int(os.environ.get("PAGES", "1")) * self.tp_size

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", "--model", default="")
        parser.add_argument("--tp-size", "--tp", type=int, default=1)
        parser.add_argument("--moe-runner-backend", choices=BACKENDS, default="auto")
        parser.add_argument("--speculative-moe-runner-backend", choices=BACKENDS)
        parser.add_argument("--speculative-algorithm")
        parser.add_argument("--attention-backend")
        parser.add_argument("--page-size", type=int)
        parser.add_argument("--quiet", action="store_true")


def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    return ServerArgs(**vars(parser.parse_args(argv)))
"""


def write_release(folder: Path, version: str = "1.0.0", fast: int = 10) -> Path:
    """The release; `auto` becomes `cutlass` from compute capability `fast` on."""
    (folder / "sglang" / "srt").mkdir(parents=True)
    (folder / "sglang" / "__init__.py").write_text(f'__version__ = "{version}"\n')
    (folder / "sglang" / "version.py").write_text(f'__version__ = "{version}"\n')
    (folder / "sglang" / "srt" / "__init__.py").write_text("")
    source = SOURCE.replace("{fast}", str(fast))
    (folder / "sglang" / "srt" / "server_args.py").write_text(source)
    info = folder / f"sglang-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA.format(version=version))
    return folder


def write_model(folder: Path, name: str = "LlamaForCausalLM") -> Path:
    """A model folder with a configuration file."""
    folder.mkdir(parents=True)
    config = {"architectures": [name], "model_type": "llama", "hidden_size": 64}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


OLD_IS_GONE = SOURCE.splitlines().index('            raise ValueError("old is gone")') + 1
"""The line that refuses the backend `old`."""
