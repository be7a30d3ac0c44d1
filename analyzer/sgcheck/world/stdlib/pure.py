"""Modules of the standard library whose public names may be used as they are.

They compute from their arguments alone: no file, process, clock, network or interpreter state.
Functions are lifted, so that an unknown argument gives an unknown result.
"""

from __future__ import annotations

import importlib
from typing import Any

from sgcheck.world.facade import Facade, public_names

# module -> names left out (they read files, build huge objects, or lead to the interpreter)
PURE: dict[str, frozenset[str]] = {
    "abc": frozenset(),
    "array": frozenset({"array"}),
    "base64": frozenset({"main", "test", "encode", "decode"}),
    "binascii": frozenset(),
    "bisect": frozenset(),
    "cmath": frozenset(),
    "colorsys": frozenset(),
    "contextvars": frozenset(),
    "datetime": frozenset(),
    "decimal": frozenset({"getcontext", "setcontext", "localcontext"}),
    "difflib": frozenset(),
    "fnmatch": frozenset(),
    "fractions": frozenset(),
    "graphlib": frozenset(),
    "hashlib": frozenset({"file_digest", "scrypt", "pbkdf2_hmac"}),
    "heapq": frozenset(),
    "html": frozenset(),
    "http": frozenset(),
    "ipaddress": frozenset(),
    "keyword": frozenset(),
    "math": frozenset({"comb", "factorial", "perm"}),
    "numbers": frozenset(),
    "shlex": frozenset({"shlex"}),
    "stat": frozenset(),
    "statistics": frozenset(),
    "string": frozenset({"Formatter", "Template"}),
    "struct": frozenset({"pack_into"}),
    "textwrap": frozenset(),
    "unicodedata": frozenset(),
    "urllib.parse": frozenset(),
    "zlib": frozenset({"decompress", "decompressobj"}),
}
_CHANGING = {
    "heapq": ("heappush", "heappop", "heapify", "heapreplace", "heappushpop"),
    "bisect": ("insort", "insort_left", "insort_right"),
}


def build(name: str) -> Facade | None:
    """The facade of a pure module, or None."""
    if name not in PURE:
        return None
    module = importlib.import_module(name)
    names = public_names(module, without=PURE[name], lift=True)
    for changing in _CHANGING.get(name, ()):
        names[changing] = _journaled(getattr(module, changing))
    return Facade(name, names)


def _journaled(function: Any) -> Any:
    from sgcheck.interp.runtime import RUNTIME

    def run(first: list[Any], *args: Any, **kwargs: Any) -> Any:
        if RUNTIME.journal is not None:
            RUNTIME.journal.container(first)
        return function(first, *args, **kwargs)

    return run
