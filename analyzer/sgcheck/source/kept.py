"""Files that sgcheck keeps for itself: written at once or not at all, sealed, and for the user alone.

A kept file begins with a checksum under a key that only this user has. The key lies outside the
cache, so that whoever can write the cache can still write nothing that is believed: a changed bit,
a file put in the place of another, and a file of somebody else all count as absent. Folders are
made for the owner only (0700), files too (0600); what others may write, or own, is not read.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import stat
import time
from functools import lru_cache
from pathlib import Path

MAGIC = b"sgcheck\1"
KEY_FILE = "cache.key"
MAX_BYTES = 512 * 1024 * 1024
"""No kept file comes near this; what is larger is not read."""

_KEY_BYTES = 32
_SEAL_BYTES = 32
_ALGORITHM = "sha256"
_OF_THE_SYSTEM = 0
"""The user who can change everything anyway: a cache that came with an image is its."""
_READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def keep(path: Path, content: bytes | memoryview) -> bool:
    """Put sealed `content` at `path` in one step; False (and nothing left behind) if that fails."""
    # Where nothing can be kept no key is made either.
    key = _key() if _has_place(path) else None
    if key is None:
        return False
    return write_privately(path, [MAGIC, _seal(key, path, content), content])


def _has_place(path: Path) -> bool:
    try:
        return private_folder(path.parent)
    except OSError:
        return False


def kept(path: Path) -> memoryview | None:
    """What `keep` was given for this path; None where that is not there, or not as it was."""
    found = read_privately(path)
    if found is None or not found.startswith(MAGIC):
        return None
    key = _key()
    start = len(MAGIC) + _SEAL_BYTES
    content = memoryview(found)[start:]
    if key is None or not hmac.compare_digest(found[len(MAGIC) : start], _seal(key, path, content)):
        return None
    return content


def _seal(key: bytes, path: Path, content: bytes | memoryview) -> bytes:
    # A file stands for what its name says: under another name it is another one.
    name = os.fsencode(f"{path.parent.name}/{path.name}")
    return hmac.digest(hmac.digest(key, name, _ALGORITHM), content, _ALGORITHM)


def read_privately(path: Path) -> bytes | None:
    """The bytes of a regular file that is this user's (or the system's) and that nobody else may write."""
    try:
        if not _is_ours(path.parent.stat()):
            return None
        handle = os.open(path, _READ_FLAGS)
    except (OSError, ValueError):
        return None
    try:
        with open(handle, "rb") as file:  # noqa: PTH123 - a descriptor
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or not _is_ours(about):
                return None
            return file.read() if about.st_size <= MAX_BYTES else None
    except OSError:
        return None


def write_privately(path: Path, parts: list[bytes | memoryview]) -> bool:
    """Put `parts` at `path` in one step; False (and nothing left behind) if that fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        if not private_folder(path.parent):
            return False
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "wb") as file:  # noqa: PTH123 - a descriptor
            file.writelines(parts)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        return False
    return True


def private_folder(path: Path) -> bool:
    """Make a folder for the owner alone; False where it is another's, or a file. Raises OSError."""
    for folder in reversed((path, *path.parents)):
        with contextlib.suppress(FileExistsError, PermissionError, IsADirectoryError):
            if not folder.exists():
                folder.mkdir(mode=0o700)
    about = path.stat()
    if not stat.S_ISDIR(about.st_mode):
        return False
    if hasattr(os, "geteuid"):
        if about.st_uid == os.geteuid() and stat.S_IMODE(about.st_mode) & 0o022:
            path.chmod(0o700)
            about = path.stat()
        return _is_ours(about)
    return True


def _is_ours(about: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    owner = about.st_uid in (os.geteuid(), _OF_THE_SYSTEM)
    return owner and not stat.S_IMODE(about.st_mode) & 0o022


def key_path() -> Path:
    """Where the key lies."""
    import platformdirs

    return platformdirs.user_data_path("sgcheck") / KEY_FILE


@lru_cache(maxsize=1)
def _key() -> bytes | None:
    """The user's key, made when there is none; None where it can be neither read nor kept."""
    try:
        path = key_path()
        for _ in range(2):
            found = read_privately(path)
            # Others must not even read this one.
            if found is not None and len(found) == _KEY_BYTES and not path.stat().st_mode & 0o077:
                return found
            # Of several first runs one comes last: what is there then is the key of all later ones.
            if not write_privately(path, [secrets.token_bytes(_KEY_BYTES)]):
                return None
    except (OSError, RuntimeError):
        return None
    return None
