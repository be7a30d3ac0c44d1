"""Run hostile trees in a process of their own and tell, one JSON line each, what came of them.

usage: hostile_runner.py attacks|bombs|hopeless NAME...

While a tree runs an audit hook watches: whatever opens a file, starts a process or reaches the
network is told as `events`.
"""

from __future__ import annotations

import json
import sys
import textwrap
import warnings
from types import CodeType
from typing import Any

from interp_attacks import ATTACKS
from interp_bombs import BOMBS, HOPELESS
from interp_lab import RECORD, predict, tree_of
from interp_library_attacks import LIBRARY_ATTACKS

from sgcheck.interp import watchdog

# Modules of sgcheck that are first needed while a tree runs are not written down then.
sys.dont_write_bytecode = True

SECONDS = 1.0
STEPS = 2_000_000

GOT = """
def outcome():
    try:
        if not attempt():
            raise KeyError("nothing")
    except Exception as error:
        raise KeyError("stopped") from None
    raise ValueError("LEAKED")
"""

WATCHED = (
    "os.",
    "subprocess.",
    "socket.",
    "shutil.",
    "ctypes.",
    "pty.",
    "mmap.",
    "tempfile.",
    "sqlite3.",
    "urllib.",
    "winreg.",
    "glob.",
    "pickle.",
    "builtins.input",
    "exec",
    "open",
)
HARMLESS = ("os.listdir", "os.scandir")
"""What Python does itself when it imports a module of its library for the first time."""


class Watch:
    """Events of interest, while `on`."""

    def __init__(self) -> None:
        self.on = False
        self.events: list[str] = []

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on or event in HARMLESS or not event.startswith(WATCHED):
            return
        if str(args[0]).endswith((".py", ".pyc", "/proc/self/statm")) or "nowhere" in str(args[0]):
            return
        if event == "exec" and (args[0].co_filename != "<string>" or is_made_of_names(args[0])):
            # The tree's own code under guard, and what the library makes of checked names.
            return
        self.events.append(f"{event} {args[:1]!r}"[:200])


def is_made_of_names(code: CodeType) -> bool:
    """Whether text was written by `dataclasses` or by `namedtuple`."""
    inside = [
        name for value in code.co_consts if isinstance(value, CodeType) for name in value.co_names
    ]
    return "__create_fn__" in code.co_names or inside == ["_tuple_new"]


def source_of(kind: str, name: str) -> str:
    """The whole module of an attack."""
    if kind == "attacks":
        return (
            textwrap.dedent((ATTACKS | LIBRARY_ATTACKS)[name])
            + GOT
            + RECORD.replace("attempt()", "outcome()")
        )
    body = BOMBS[name] if kind == "bombs" else HOPELESS[name]
    return textwrap.dedent(body) + RECORD


def main(kind: str, names: list[str]) -> None:
    """Run each and print its line."""
    warnings.simplefilter("ignore")
    watchdog.LAST_RESORT = 3.0
    watch = Watch()
    sys.addaudithook(watch)
    # What is imported late only where paths are explored, and what is read once of the packages
    # that are recorded, is imported and read before anything is watched.
    explored = "import random\ndef attempt(): return 1 if random.random() > 0.5 else 2\n"
    packages = "def attempt():\n    import multiprocessing\n"
    for warm in ("def attempt(): return 1\n", explored, packages):
        predict(tree_of(warm + RECORD))
    for name in names:
        tree = tree_of(source_of(kind, name))
        watch.on = True
        try:
            found = predict(tree, seconds=SECONDS, steps=STEPS)
        finally:
            watch.on = False
        outcome = found.outcome
        line = {
            "name": name,
            "status": outcome.status,
            "reason": outcome.reason.code if outcome.reason else None,
            "message": outcome.error.message if outcome.error else None,
            "events": watch.events[:],
        }
        watch.events.clear()
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
