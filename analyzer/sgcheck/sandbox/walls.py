"""What keeps a worker in its place. Each wall is raised by itself and says whether it stands."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct

MEMORY = 6 << 30
"""Bytes of address space beyond what the worker has at its start; a launch has its own limit within."""
CPU_SECONDS = 3 * 3600
"""Processor time of one worker, which serves many launches; each launch has its own limit within."""
OPEN_FILES = 64
CHANNEL = (3, 4)
"""The descriptors of the two pipes, which are the only ones that stay."""


class Wall(Struct, frozen=True):
    """One wall. `missing` says why it does not stand; empty where it does."""

    name: str
    holds: str
    missing: str = ""


def close_descriptors(read: int, write: int) -> None:
    """Leave only the two pipes, as `CHANNEL`; input, output and error lead nowhere."""
    high = [os.dup(end) for end in (read, write)]
    while min(high) <= max(CHANNEL):
        high = [os.dup(end) for end in high]
    for end, number in zip(high, CHANNEL, strict=True):
        os.dup2(end, number, inheritable=False)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.closerange(max(CHANNEL) + 1, os.sysconf("SC_OPEN_MAX"))


def empty_environment() -> None:
    """Remove all variables, and overwrite what the process was started with."""
    held = list(os.environ.items()) if os.name != "posix" else []
    values = [*getattr(os.environ, "_data", {}).values()]
    with contextlib.suppress(ValueError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        block = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
        places: list[int] = []
        while block and block[len(places)]:
            places.append(block[len(places)] or 0)
        for place in places:
            ctypes.memset(place, 0, len(ctypes.string_at(place)))
        # The interpreter's own copies, too: its objects hold their bytes behind the header.
        offset = bytes.__basicsize__ - 1
        for value in values:
            if isinstance(value, bytes) and len(value) > 1:
                ctypes.memset(id(value) + offset, 0, len(value))
    del held, values
    getattr(os.environ, "_data", {}).clear()
    with contextlib.suppress(ValueError, OSError, AttributeError):
        ctypes.CDLL(None).clearenv()


def limit_resources() -> str:
    """No process, no file to write, so much memory and time; empty, or why not."""
    try:
        import resource
    except ImportError:
        return "this system has no resource limits"
    size = 0
    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        size = int(file.read().split()[0]) * resource.getpagesize()
    wanted = [
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
    ]
    if hasattr(resource, "RLIMIT_NPROC"):
        wanted.append((resource.RLIMIT_NPROC, 0))
    if size:
        wanted.append((resource.RLIMIT_AS, size + MEMORY))
    refused = []
    for what, most in wanted:
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError) as error:
            refused.append(str(error))
    return "; ".join(dict.fromkeys(refused))


def readable() -> list[str]:
    """What the worker itself may still have to load: Python's library, sgcheck, and what they need."""
    import msgspec

    import sgcheck
    import sgcheck_rules

    found = [os.path.dirname(os.__file__)]  # noqa: PTH120 - as Python spells it
    for module in (sgcheck, sgcheck_rules):
        found += list(module.__path__)
    libraries = Path(msgspec.__file__).parents[1]
    found += [str(libraries / name) for name in ("msgspec", "packaging", "typing_extensions.py")]
    for name in ("yaml", "_yaml"):  # read when a launch first has a file in YAML
        spec = importlib.util.find_spec(name)
        found += list(spec.submodule_search_locations or ()) if spec is not None else []
    dynamic = sys.modules.get("_ctypes")
    if dynamic is not None and getattr(dynamic, "__file__", None):
        found.append(str(Path(str(dynamic.__file__)).parent))
    return [*found, "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/dev/null"]


_MAC_PROFILE = b"""(version 1)(allow default)(deny network*)(deny file-write*)
(deny process-exec*)(deny process-fork)(deny signal (target others))"""


def _mac_sandbox(libc: ctypes.CDLL) -> str:
    problem = ctypes.c_char_p()
    try:
        start = libc.sandbox_init
    except AttributeError:
        return "the system has no sandbox_init"
    if start(_MAC_PROFILE, ctypes.c_uint64(0), ctypes.byref(problem)) != 0:
        return f"sandbox_init: {(problem.value or b'').decode('utf-8', 'replace')}"
    return ""


def raise_walls() -> list[Wall]:
    """Raise all walls that the system has, after everything trusted is loaded."""
    found = [
        Wall("environment", "no variable of the caller"),
        Wall("descriptors", "no file or connection of the caller"),
        Wall("limits", "memory, time, files, processes", _tried(limit_resources)),
    ]
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform.startswith("linux"):
        from sgcheck.sandbox import landlock, seccomp

        paths = readable()
        privileges = "" if seccomp.forbid_privileges(libc) else "prctl refuses"
        files = _tried(partial(landlock.restrict, libc, paths))
        calls = _tried(partial(seccomp.allow_few_calls, libc))
        return [
            *found,
            Wall("privileges", "none can be gained", privileges),
            Wall("files", "nothing is written, only Python's own files are read", files),
            Wall("system calls", "no program, process, socket or trace", calls),
        ]
    if sys.platform == "darwin":
        held = "nothing is written, no program, process or socket"
        return [*found, Wall("sandbox", held, _tried(partial(_mac_sandbox, libc)))]
    return [*found, Wall("sandbox", "nothing is written or started", "this system has none")]


def _tried(step: Callable[[], str]) -> str:
    try:
        return step()
    except (OSError, ValueError, AttributeError) as error:
        return str(error) or type(error).__name__
