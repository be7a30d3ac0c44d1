"""The small package that is called sglang, and what its servers leave behind."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "confirm"


@dataclass(frozen=True)
class Fake:
    """The fake SGLang. `python` runs an interpreter that has it; `pids` lists what servers started."""

    tree: Path
    model: Path
    python: Path
    pids: Path
    port: int

    def left(self) -> list[int]:
        """Processes that a fake server started and that still live."""
        text = self.pids.read_text() if self.pids.exists() else ""
        return [pid for pid in map(int, text.split()) if _alive(pid)]

    def options(self) -> list[str]:
        return ["--sglang", str(self.tree), "--model", str(self.model), "--isolated"]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    # A dead process whose parent does not wait for it is none.
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")
