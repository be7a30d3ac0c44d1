"""Reading files that may be anybody's: only regular ones, only so many bytes, and never waiting."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


class NotRegular(OSError):
    """A named pipe, socket or device where a file is expected."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EINVAL, "not a regular file", str(path))


class TooLarge(OSError):
    """A file of more bytes than are read of one of its kind."""

    def __init__(self, path: Path, limit: int) -> None:
        size = f"{limit // 1_000_000} MB" if limit >= 1_000_000 else f"{limit} bytes"
        super().__init__(errno.EFBIG, f"larger than {size}", str(path))


def read_regular(path: str | Path, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes.

    Raises NotRegular without opening what is none (opening a named pipe waits for its other end, opening
    a device may do something), TooLarge, and OSError as `open` does. A name that no file system takes (NUL
    in it, for one) is an OSError, too.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise NotRegular(path)
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):  # another one by now
                raise NotRegular(path)
            if about.st_size > limit:
                raise TooLarge(path, limit)
            data = file.read(limit + 1)
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error), str(path)) from error
    if len(data) > limit:  # files of /proc say that they are empty
        raise TooLarge(path, limit)
    return data
