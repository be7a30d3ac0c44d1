"""Small trees run in the interpreter: what a function gives, and what a launch of a tree comes to."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgcheck.interp.interpreter import Interpreter
from sgcheck.interp.opaque import OpaqueOperations
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.machine import Machine
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import Resolution
from sgcheck.source import Tree, memory_tree
from sgcheck.syntax.cache import CodeCache
from sgcheck.values.unknown import Operations
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import resolve_target
from sgcheck_rules.packages import installed_profile

MODULE = "sglang.srt.server_args"
PATH = "sglang/srt/server_args.py"
NOWHERE = Path(os.devnull) / "nowhere"
"""A cache folder that cannot be written: nothing is kept."""
PROFILE = "llama-3.1-8b-instruct"
METADATA = "Metadata-Version: 2.1\nName: sglang\nVersion: 0.0.0\nRequires-Dist: torch==2.9.1\nRequires-Dist: transformers==4.57.1\n"

RECORD = """
import dataclasses

@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    value: object = None

    def __post_init__(self):
        self.value = attempt()

def prepare_server_args(argv):
    return ServerArgs(argv[1])
"""
"""The least that a tree needs to be launched; `attempt` is the part under test."""


def tree_of(source: str | bytes, files: Mapping[str, str] | None = None) -> Tree:
    """A tree with one interesting module."""
    content: dict[str, bytes] = {"sglang/__init__.py": b"", "sglang/srt/__init__.py": b""}
    for path, text in (files or {}).items():
        content[path] = textwrap.dedent(text).encode()
    content[PATH] = source if isinstance(source, bytes) else textwrap.dedent(source).encode()
    return memory_tree(content, "0.0.0", METADATA)


def machine_of(tree: Tree, *, branching: bool = False, eager: bool = False) -> Machine:
    """An interpreter over a tree, on some machine with a usual installation."""
    code = CodeCache(tree, None, branching=branching, eager=eager)
    packages = installed_profile(METADATA, "0.0.0")
    pins = {"torch": "2.9.1", "transformers": "4.57.1"}
    return Machine(code, resolve_target("sm90", None), packages, {}, pins)


@contextmanager
def running(
    interpreter: Interpreter,
    operations: Operations | None = None,
    *,
    seconds: float | None = 20.0,
    steps: int = 5_000_000,
) -> Iterator[None]:
    """Inside, code of the tree may run."""
    asked = operations if operations is not None else OpaqueOperations()
    with interpreter.running(asked, seconds=seconds, steps=steps):
        yield


@dataclass(frozen=True, slots=True)
class Failed:
    """An exception, as far as the two ways of running must agree on it."""

    kind: str
    line: int | None
    text: str


def predict(tree: Tree, **limits: Any) -> Resolution:
    """The launch of a tree with a known model."""
    predictor = Predictor(tree, cache=NOWHERE, **limits)
    facts = load_model(PROFILE)
    return predictor.check(Launch((), {}, resolve_target("sm90", None), facts))
