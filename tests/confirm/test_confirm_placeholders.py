"""Packages that are not there are made when SGLang asks for them. Run in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import sgcheck.confirm

WORKER = Path(sgcheck.confirm.__file__).parent / "worker"

SCRIPT = """
import importlib.metadata, json, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import placeholders
packages = [
    {"name": "gone-dist", "version": "1.2", "modules": ["gone", "json"]},
    {"name": "unpinned", "version": None, "modules": ["unpinned_module"]},
]
missing = placeholders.add_packages(packages, sys.argv[2] + "/sglang/")
try:
    import other
    seen = True
except ImportError:
    seen = False
from sglang import asks
answer = {"missing": missing, "asks": asks.RESULT, "others see it": seen}
answer["version"] = importlib.metadata.version("Gone_Dist")
try:
    importlib.metadata.version("unpinned")
except importlib.metadata.PackageNotFoundError as error:
    answer["unpinned"] = "absent"
print(json.dumps(answer))
"""

ASKS = """
import importlib.util
import gone
import gone.deep.below as below
from gone.kernels import Thing, launch, LIMIT

class Mine(Thing):
    pass

@gone.jit
def function(x):
    return x + 1

RESULT = {
    "version": gone.__version__,
    "found": importlib.util.find_spec("gone.deep") is not None,
    "call": function(1),
    "instance": isinstance(Mine(), Thing),
    "empty": list(launch(1)) == [] and len(LIMIT) == 0 and bool(LIMIT),
    "union": repr(type(gone.a | None)) != "",
}
try:
    gone.__wrapped__
except AttributeError:
    RESULT["dunder"] = "absent"
with gone.context() as value:
    RESULT["context"] = value is not None
"""


def test_what_is_not_there_is_made_for_sglang_only(tmp_path: Path) -> None:
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "asks.py").write_text(ASKS)
    (tmp_path / "other.py").write_text("import gone\n")
    command = [sys.executable, "-c", SCRIPT, str(WORKER), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "missing": ["gone", "unpinned_module"],
        "asks": {
            "version": "1.2",
            "found": True,
            "call": 2,
            "instance": True,
            "empty": True,
            "union": True,
            "dunder": "absent",
            "context": True,
        },
        "others see it": False,
        "version": "1.2",
        "unpinned": "absent",
    }
