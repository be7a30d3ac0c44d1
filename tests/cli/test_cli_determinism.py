"""The same bytes out for the same question, whatever the hash seed, the locale and the folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# A tree whose answer goes through sets, dictionaries by class, and questions about the model.
TREE = """
import dataclasses
import logging
import transformers

logger = logging.getLogger(__name__)
KINDS = {"llama", "qwen3", "mistral", "gemma3", "glm4_moe"}
SLOW = frozenset(("triton", "torch_native", "flashinfer"))

@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    backend: object = None
    names: object = None
    limits: object = None

    def __post_init__(self):
        config = transformers.AutoConfig.from_pretrained(self.model_path)
        if config.model_type in KINDS:
            self.backend = "first"
        elif config.hidden_size > 4096:
            self.backend = "second"
        else:
            assert config.num_hidden_layers < 100, "too deep"
            self.backend = "third"
        if self.backend != "first":
            logger.warning("backend %s", self.backend)
        self.names = sorted(SLOW)
        self.limits = {name: len(name) for name in sorted(KINDS | SLOW)}

def prepare_server_args(argv):
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("--model-path", default="")
    parser.add_argument("--backend", choices=sorted(SLOW))
    return ServerArgs(**vars(parser.parse_args(argv)))
"""
METADATA = """Metadata-Version: 2.1
Name: sglang
Version: 0.0.0
Requires-Dist: torch==2.9.1
Requires-Dist: transformers==4.57.1
"""
MODELS = (None, "qwen3-8b", "llama-3.1-8b-instruct")

SETTINGS = (
    {"PYTHONHASHSEED": "0", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"},
    {"PYTHONHASHSEED": "4242", "LC_ALL": "tr_TR.UTF-8", "PYTHONUTF8": "1"},
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    package = folder / "sglang" / "srt"
    package.mkdir(parents=True)
    (folder / "sglang" / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "server_args.py").write_text(TREE)
    (folder / "sglang-0.0.0.dist-info").mkdir()
    (folder / "sglang-0.0.0.dist-info" / "METADATA").write_text(METADATA)
    return folder


def answers(words: list[str], tmp_path: Path, *, given: bytes = b"") -> set[bytes]:
    """Standard output under every setting, each in a folder and with a cache of its own."""
    found = set()
    for number, setting in enumerate(SETTINGS):
        folder = tmp_path / f"from{number}"
        folder.mkdir(exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "SGCHECK_CACHE_DIR": str(folder / "cache"),
            **setting,
        }
        ran = subprocess.run(
            [sys.executable, "-m", "sgcheck", *words],
            cwd=folder,
            env=environment,
            input=given,
            capture_output=True,
            check=False,
        )
        assert ran.returncode in (0, 1), ran.stderr.decode()
        found.add(ran.stdout)
    return found


LAUNCH = ["--arch", "sm90", "--isolated"]


@pytest.mark.parametrize("words", [["--format", "json"], ["--verbose"]], ids=["json", "text"])
@pytest.mark.parametrize("model", MODELS)
def test_check(tree: Path, tmp_path: Path, words: list[str], model: str | None) -> None:
    known = ["--model", model] if model is not None else []
    (answer,) = answers(["--sglang", str(tree), *LAUNCH, *known, *words], tmp_path)
    assert answer


def test_why(tree: Path, tmp_path: Path) -> None:
    (answer,) = answers(["why", "backend", "--sglang", str(tree), *LAUNCH], tmp_path)
    assert b"second" in answer and b"third" in answer


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_batch(tree: Path, tmp_path: Path, jobs: str) -> None:
    argv: list[list[str]] = [[], ["--backend", "triton"], ["--backend", "no"]]
    cases = [{"id": n, "arch": "sm90", "argv": words} for n, words in enumerate(argv)]
    given = "".join(json.dumps(case) + "\n" for case in cases).encode()
    words = ["batch", "--sglang", str(tree), "--jobs", jobs, "--isolated", "-"]
    (answer,) = answers(words, tmp_path, given=given)
    statuses = [json.loads(line)["outcome"]["status"] for line in answer.splitlines()]
    assert statuses == ["conditional", "conditional", "cli_error"]
