"""A small invented release whose fields decide one another."""

from __future__ import annotations

import json
from pathlib import Path

METADATA = """\
Metadata-Version: 2.1
Name: sglang
Version: 1.0.0
Requires-Dist: torch==2.9.1
Requires-Dist: transformers==4.57.1
"""

SOURCE = """\
import argparse
import dataclasses
import torch


def is_new():
    return torch.cuda.get_device_capability()[0] >= 10


@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    tp_size: int = 1
    moe_runner_backend: str = "auto"
    draft_backend: str = None
    speculative_algorithm: str = None
    attention_backend: str = None
    pages: int = 0
    share: float = None

    def __post_init__(self):
        self.handle_early()
        self.handle_names()
        self.handle_late()
        self.handle_share()

    def handle_early(self):
        if self.speculative_algorithm == "EAGLE" and self.draft_backend is None:
            self.draft_backend = "triton"

    def handle_names(self):
        if self.speculative_algorithm == "NEXTN":
            self.speculative_algorithm = "EAGLE"

    def handle_late(self):
        if self.draft_backend is None:
            self.draft_backend = self.moe_runner_backend
        if is_new():
            self.set_new()
        self.pages = self.tp_size * 2

    def set_new(self):
        self.attention_backend = "new"

    def handle_share(self):
        reserved = self.tp_size * 4
        left = 100 - reserved
        self.share = left / 100
        if self.speculative_algorithm is not None:
            self.share = self.share * 0.5

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", "--model", default="")
        parser.add_argument("--tp-size", "--tp", type=int, default=1)
        parser.add_argument("--moe-runner-backend", choices=["auto", "a", "b"], default="auto")
        parser.add_argument("--draft-backend")
        parser.add_argument("--speculative-algorithm")
        parser.add_argument("--attention-backend")


def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    return ServerArgs(**vars(parser.parse_args(argv)))
"""


def write_release(folder: Path) -> None:
    """The release in `folder`/tree and a model in `folder`/m."""
    package = folder / "tree" / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "version.py").write_text('__version__ = "1.0.0"\n')
    (package / "srt" / "__init__.py").write_text("")
    (package / "srt" / "server_args.py").write_text(SOURCE)
    info = folder / "tree" / "sglang-1.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (folder / "m").mkdir()
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64}
    (folder / "m" / "config.json").write_text(json.dumps(config))


def line_of(text: str) -> int:
    """The line of the source that is exactly `text`, without its indentation."""
    return [line.strip() for line in SOURCE.splitlines()].index(text) + 1
