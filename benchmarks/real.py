"""Run SGLang's own import and resolution of one launch and print what that process took.

Started by `bench.py`; the first arguments are the interpreter that has SGLang, the architecture and
the model, then come the flags. The worker is that of `sgcheck confirm --simulate`: it imports
SGLang as it is, with a GPU that is only pretended.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

from sgcheck.confirm import simulate
from sgcheck.resolve.launch import Launch
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import resolve_target
from sgcheck_rules.packages import installed_profile


def main(python: str, arch: str, model: str, flags: list[str]) -> dict[str, Any]:
    """Release and outcome; seconds (`wall`, `cpu`) and `memory` (`ru_maxrss` as the system counts)."""
    interpreter = simulate.probe(python)
    facts = load_model(model)
    launch = Launch(tuple(flags), {}, resolve_target(arch, None), facts)
    profile = installed_profile(interpreter.metadata or "", interpreter.release or "")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    argv = ["--model-path", facts.path or model, *flags]
    seen = simulate.simulate(interpreter, launch, argv, profile)
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "release": interpreter.release,
        "outcome": seen.outcome.status,
        "wall": wall,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "memory": after.ru_maxrss,
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])))
