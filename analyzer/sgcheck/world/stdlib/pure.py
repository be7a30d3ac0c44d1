"""Modules of the standard library whose public names may be used as they are.

They compute from their arguments alone: no file, process, clock, network or interpreter state.
Functions are lifted, so that an unknown argument gives an unknown result.
"""

from __future__ import annotations

import datetime
import importlib
import math
import shlex
from typing import Any

from sgcheck.interp.natives import MAX_BITS
from sgcheck.values.signals import LimitReached, Refused
from sgcheck.world.facade import Facade, lifted, nondeterministic, public_names

# module -> names left out (they read files, build huge objects, or lead to the interpreter)
PURE: dict[str, frozenset[str]] = {
    "abc": frozenset(),
    "array": frozenset({"array"}),
    "base64": frozenset({"main", "test", "encode", "decode"}),
    "binascii": frozenset(),
    "bisect": frozenset(),
    "cmath": frozenset(),
    "colorsys": frozenset(),
    "datetime": frozenset(),
    "decimal": frozenset(
        {
            "getcontext",
            "setcontext",
            "localcontext",
            "Context",
            "BasicContext",
            "DefaultContext",
            "ExtendedContext",
        }
    ),
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
    if name == "datetime":
        names.update(_calendar())
    elif name == "shlex":
        names["split"] = lifted(_split)
    elif name == "math":
        names["prod"] = lifted(_prod)
        names["lcm"] = lifted(_lcm)
    return Facade(name, names)


def _split(text: Any, comments: bool = False, posix: bool = True) -> list[str]:
    if not issubclass(type(text), str):
        raise Refused("shlex.split() of standard input")
    return shlex.split(text, comments, posix)


def _lcm(*numbers: Any) -> Any:
    if sum(n.bit_length() for n in numbers if issubclass(type(n), int)) > MAX_BITS:
        raise LimitReached("size")
    return math.lcm(*numbers)


def _prod(numbers: Any, *, start: Any = 1) -> Any:
    from sgcheck.interp import guards

    result = start
    for number in guards.counted(numbers):
        result = guards.mul(result, number)
    return result


def _calendar() -> dict[str, Any]:
    """Dates and times whose "now" is not known beforehand."""

    def now(*args: Any, **kwargs: Any) -> Any:
        return nondeterministic("clock")

    drawn = {n: staticmethod(now) for n in ("now", "utcnow", "today")}
    return {
        "date": type("date", (datetime.date,), {"__module__": "datetime", "today": drawn["today"]}),
        "datetime": type("datetime", (datetime.datetime,), {"__module__": "datetime", **drawn}),
    }


def _journaled(function: Any) -> Any:
    from sgcheck.interp.runtime import RUNTIME

    def run(first: list[Any], *args: Any, **kwargs: Any) -> Any:
        if RUNTIME.journal is not None:
            RUNTIME.journal.container(first)
        return function(first, *args, **kwargs)

    return run
