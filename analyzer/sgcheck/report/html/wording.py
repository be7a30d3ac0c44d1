"""Words that the pages share."""

from __future__ import annotations

from sgcheck.report.wording import argv_text, clean
from sgcheck.resolve.resolution import Resolution


def launch_text(resolution: Resolution) -> str:
    """One line on which launch a page speaks of."""
    target = resolution.target
    gpus = f"{target.gpu.count} × {target.gpu.name}, {target.arch}, CUDA {target.cuda}"
    model = resolution.model.architecture or resolution.model.name or "model unknown"
    return clean(f"{argv_text(resolution.argv) or 'no flags'} · {gpus} · {model}")
