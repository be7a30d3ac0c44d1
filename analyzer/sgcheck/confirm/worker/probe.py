"""Print, as JSON, what an interpreter has installed. Nothing of it is imported."""

import importlib.metadata
import importlib.util
import json
import platform
import re
import sys
from pathlib import Path
from typing import Any

names = sys.argv[1].split(",")
answer: dict[str, Any] = {
    "python": platform.python_version(),
    "executable": sys.executable,
    "versions": {},
}
spec = importlib.util.find_spec("sglang")
answer["sglang"] = spec.origin if spec is not None else None
for name in names:
    try:
        answer["versions"][name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        answer["versions"][name] = None
try:
    answer["metadata"] = importlib.metadata.distribution("sglang").read_text("METADATA")
except importlib.metadata.PackageNotFoundError:
    answer["metadata"] = None
torch = importlib.util.find_spec("torch")
answer["torch_cuda"] = None
if torch is not None and torch.origin is not None:
    try:
        text = Path(torch.origin).with_name("version.py").read_text(encoding="utf-8")
        found = re.search(r"^cuda[^=]*= *['\"]([\d.]+)['\"]", text, re.MULTILINE)
        answer["torch_cuda"] = found.group(1) if found else None
    except OSError:
        pass
print("\x1e" + json.dumps(answer))
