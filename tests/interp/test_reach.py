"""What code of the tree can get hold of: a walk over everything that attributes and items lead to."""

from __future__ import annotations

import builtins
import io
import os
import pathlib
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
from interp_lab import RECORD, machine_of, running, tree_of

from sgcheck.interp import guards
from sgcheck.interp.access import Namespace, is_tree_module, module_names
from sgcheck.source import Tree
from sgcheck.values.signals import EngineSignal
from sgcheck.values.unknown import Unknown
from sgcheck.world.facade import Facade
from sgcheck.world.stdlib.pure import PURE

MODULES = (
    *PURE,
    *(
        "os os.path sys subprocess socket pathlib io tempfile glob shutil json yaml re typing typing_extensions enum "
        "types collections collections.abc itertools operator contextlib copy inspect weakref ast functools dataclasses "
        "argparse logging warnings importlib importlib.util importlib.metadata threading random time platform uuid "
        "secrets signal gc traceback atexit resource getpass errno msgspec msgspec.structs msgspec.json packaging.version "
        "packaging.specifiers orjson psutil triton pydantic tqdm torch torch.cuda transformers huggingface_hub builtins abc"
    ).split(),
)
MOST = 30_000

FORBIDDEN_OBJECTS = [
    builtins.open,
    builtins.eval,
    builtins.exec,
    builtins.compile,
    builtins.__import__,
    builtins.input,
    builtins.getattr,
    builtins.setattr,
    builtins.delattr,
    builtins.globals,
    builtins.vars,
    builtins.__dict__,
    io.FileIO,
    pathlib.Path,
    pathlib.PosixPath,
    os.environ,
    os.system,
    type.__subclasses__,
    object.__getattribute__,
    type.__getattribute__,
    types.CodeType,
    types.FrameType,
]
FORBIDDEN_TYPES = (types.FrameType, types.CodeType, Tree, pathlib.Path, io.IOBase, types.CellType)


def names_of(obj: Any) -> Iterator[str]:
    try:
        yield from dir(obj)
    except EngineSignal:
        return
    if isinstance(obj, types.ModuleType):
        yield from module_names(obj)
    yield from ("__globals__", "__code__", "__self__", "__dict__", "__closure__", "__wrapped__")


def steps(obj: Any) -> Iterator[tuple[str, Any]]:
    """What one attribute or item of an object leads to, as code of the tree would read it."""
    if isinstance(obj, str | bytes | int | float | Unknown) or obj is None:
        return
    for name in dict.fromkeys(names_of(obj)):
        try:
            yield f".{name}", guards.attribute(obj, name)
        except EngineSignal:
            continue
        except Exception:
            continue
    if isinstance(obj, dict | types.MappingProxyType | Namespace):
        yield from ((f"[{key!r}]", value) for key, value in list(obj.items())[:500])
    elif isinstance(obj, list | tuple | set | frozenset | deque):
        yield from ((f"[{index}]", value) for index, value in enumerate(list(obj)[:200]))


def danger(obj: Any) -> str | None:
    """Why code of the tree must not have an object, or None."""
    if any(obj is forbidden for forbidden in FORBIDDEN_OBJECTS):
        return "a forbidden object"
    if isinstance(obj, types.ModuleType) and not (isinstance(obj, Facade) or is_tree_module(obj)):
        return "a module of the interpreter that runs sgcheck"
    if isinstance(obj, FORBIDDEN_TYPES) and not isinstance(obj, io.BytesIO | io.StringIO):
        return "an object of a forbidden type"
    if isinstance(obj, dict) and "__builtins__" in obj:
        return "a real namespace"
    return None


@pytest.mark.filterwarnings("ignore")
def test_nothing_dangerous_can_be_reached() -> None:
    source = f"""
import {", ".join(MODULES)}
class Mine: x = 1
def attempt(): return 1
{RECORD}
"""
    machine = machine_of(tree_of(source))
    interpreter = machine.interpreter
    with running(interpreter, seconds=None, steps=10**9):
        start = interpreter.module("sglang.srt.server_args")
        found: dict[int, Any] = {}
        queue: deque[tuple[str, Any, int]] = deque([("module", start, 0)])
        for name in MODULES:
            queue.append((name, interpreter.module(name), 0))
        for name, value in interpreter.loader.builtins.items():
            if name.isascii():
                queue.append((name, value, 0))
        problems = []
        while queue and len(found) < MOST:
            path, obj, depth = queue.popleft()
            if id(obj) in found:
                continue
            found[id(obj)] = obj
            why = danger(obj)
            if why is not None:
                problems.append(f"{path}: {why}")
                continue
            if depth < 6:
                queue.extend((path + step, value, depth + 1) for step, value in steps(obj))
    assert len(found) > 5_000
    assert problems == []
