"""Print, as JSON, what an interpreter has installed. Nothing of it is imported.

PYTHON probe.py DIST,DIST… [MODULE,MODULE…]
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
import re
import sys
from pathlib import Path
from typing import Any


def versions(names: list[str]) -> dict[str, Any]:
    """The installed version of each distribution, None for one that is not there."""
    found: dict[str, Any] = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def origin(module: str) -> Any:
    """The file of a top-level module, "" for one without a file, None for one that is not there."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return None if spec is None else spec.origin or ""


def torch_cuda() -> Any:
    """The CUDA version that torch is built for, as its version file says."""
    file = origin("torch")
    if not file:
        return None
    try:
        text = Path(file).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^cuda[^=\n]*= *['\"]([\d.]+)['\"]", text, re.MULTILINE)
    return found.group(1) if found else None


def metadata() -> Any:
    """SGLang's METADATA; None without it."""
    try:
        return importlib.metadata.distribution("sglang").read_text("METADATA")
    except importlib.metadata.PackageNotFoundError:
        return None


# The interpreter puts this folder first on the path, where nothing belongs to it.
sys.path[:] = [
    entry for entry in sys.path if Path(entry).resolve() != Path(__file__).resolve().parent
]
answer = {
    "python": platform.python_version(),
    "platform": platform.system() + " " + platform.machine(),
    "sglang": origin("sglang"),
    "versions": versions([name for name in sys.argv[1].split(",") if name]),
    "modules": {
        name: origin(name) is not None for name in "".join(sys.argv[2:3]).split(",") if name
    },
    "metadata": metadata(),
    "torch_cuda": torch_cuda(),
}
print("\x1e" + json.dumps(answer))
