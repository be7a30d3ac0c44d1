"""Which files a process may open, by the kernel's Landlock (Linux 5.13 and later)."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_OF_VERSION = 1
_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many of the rights over files each version of the interface knows."""
_NETWORK = 0b11
_SCOPES = 0b11


def restrict(libc: ctypes.CDLL, readable: Iterable[str]) -> str:
    """From here on only these files and folders can be read, none written; empty, or why not."""
    syscall = libc.syscall
    version = syscall(_CREATE, None, 0, _OF_VERSION)
    if version < 1:
        return f"Landlock: {os.strerror(ctypes.get_errno())}"
    files = (1 << _RIGHTS_BY_ABI.get(version, _RIGHTS_BY_ABI[5])) - 1
    handled = struct.pack("<Q", files)
    if version >= 4:
        handled += struct.pack("<Q", _NETWORK)
    if version >= 6:
        handled += struct.pack("<Q", _SCOPES)
    ruleset = syscall(_CREATE, handled, len(handled), 0)
    if ruleset < 0:
        return f"Landlock: {os.strerror(ctypes.get_errno())}"
    try:
        for path in readable:
            _allow(libc, ruleset, path)
        if syscall(_RESTRICT, ruleset, 0) != 0:
            return f"Landlock: {os.strerror(ctypes.get_errno())}"
    finally:
        os.close(ruleset)
    return ""


def _allow(libc: ctypes.CDLL, ruleset: int, path: str) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there is not read
    try:
        rights = _READ_FILE | (_READ_DIR if os.path.isdir(path) else 0)  # noqa: PTH112 - quick
        rule = struct.pack("<Qi", rights, place)
        libc.syscall(_ADD_RULE, ruleset, _BENEATH, rule, 0)
    finally:
        os.close(place)
