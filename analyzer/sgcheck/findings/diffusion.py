"""`sglang serve` starts diffusion servers too, which have arguments of their own: those are not checked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sgcheck.errors import SourceError
from sgcheck.findings.resolving import Release
from sgcheck.scan.model import Launch, Word
from sgcheck.source.tree import Tree
from sgcheck.world.target import TargetSpec

REASON = "a diffusion server (its arguments are not those of ServerArgs)"
_FOLDER = "sglang/multimodal_gen/runtime"
_FLAG = re.compile(rb"""["'](--[a-z][a-z0-9-]*)["']""")


def is_diffusion(launch: Launch, target: TargetSpec, release: Release) -> bool:
    """Whether a launch is that of a diffusion server: it says so, or has a flag that only those have."""
    if launch.role == "diffusion":
        return True
    table = release.table(target) if launch.launcher == "sglang serve" else None
    if table is None:
        return False
    names = [name for name in _names(launch.argv) if table.match(name)[0] == "unknown"]
    return bool(names) and not diffusion_flags(release.tree).isdisjoint(names)


def diffusion_flags(tree: Tree) -> frozenset[str]:
    """The flags that the diffusion server of a release declares; empty where it has none."""
    found: set[str] = set()
    if not tree.exists(_FOLDER):
        return frozenset()
    for path in (f"{_FOLDER}/server_args.py", *_modules(tree, f"{_FOLDER}/server_args")):
        try:
            text = tree.read(path)
        except (FileNotFoundError, SourceError):
            continue
        found.update(match.decode() for match in _FLAG.findall(text))
    return frozenset(found)


def _modules(tree: Tree, folder: str) -> list[str]:
    try:
        names = tree.listdir(folder)
    except (FileNotFoundError, NotADirectoryError, SourceError):
        return []
    return [f"{folder}/{name}" for name in sorted(names) if name.endswith(".py")]


def _names(words: Sequence[Word]) -> list[str]:
    texts = [word.text for word in words if word.text is not None]
    return [text.partition("=")[0] for text in texts if text.startswith("--")]
