"""Time and memory of one process, measured from outside."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took: `wall` and `cpu` (user and system) in seconds, `memory` in MiB.

    Processes that it started and waited for are counted.
    """

    wall: float
    cpu: float
    memory: float


def measure(
    command: Sequence[str], environment: dict[str, str], *, output: Path, stdin: Path | None = None
) -> Cost:
    """Run a command to its end, with standard output in a file.

    :raises RuntimeError: it ended with 2 or more, which no measured command does when it works.
    """
    with (
        output.open("wb") as out,
        (stdin or Path(os.devnull)).open("rb") as given,
        output.with_suffix(".err").open("w+b") as errors,
    ):
        begun = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdin=given, stdout=out, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip()
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {said}")
    # Linux counts in KiB, macOS in bytes.
    unit = 1024 if os.uname().sysname == "Linux" else 1024 * 1024
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def middle(costs: Sequence[Cost]) -> Cost:
    """The median of each figure; of the memory the most."""
    return Cost(
        median(cost.wall for cost in costs),
        median(cost.cpu for cost in costs),
        max(cost.memory for cost in costs),
    )
