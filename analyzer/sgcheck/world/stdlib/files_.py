"""os.path, pathlib, glob, tempfile, io, shutil: the virtual file system's faces."""

from __future__ import annotations

import fnmatch
import io
import pathlib
import posixpath
from collections.abc import Callable, Iterator
from typing import Any

from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape, Refused
from sgcheck.values.unknown import ASK, Unknown
from sgcheck.world.facade import Facade, lifted
from sgcheck.world.files import HOME, TMP, Files, UnknownFile
from sgcheck.world.host import CWD
from sgcheck.world.unknown_model import UnknownText


class VirtualFile:
    """An open file of the virtual file system."""

    def __init__(self, files: Files, path: Any, mode: str) -> None:
        self.name = path
        self._mode, self._closed = mode, False
        # A function, so that nothing of the world can be reached through an open file.
        self._store: Callable[[bytes], None] = lambda data: files.write(path, data)
        self._writing = any(c in mode for c in "wax+")
        if self._writing:
            start = b""
            if "a" in mode and files.isfile(path):
                start = files.read(path) or b""
            self._bytes = io.BytesIO()
            self._bytes.write(start)
            files.write(path, start)
        else:
            self._unknown: Any = None
            try:
                data = files.read(path)
            except UnknownFile as unknown:
                self._unknown, data = UnknownText(str(path), unknown.content), b""
            if data is None:
                raise Escape(Reason("model-file-not-given", detail=str(path)))
            self._bytes = io.BytesIO(data)

    def read(self, size: int = -1) -> Any:
        if not self._writing and self._unknown is not None:
            return self._unknown
        data = self._bytes.read(size)
        return data if "b" in self._mode else data.decode("utf-8")

    def readline(self) -> Any:
        if not self._writing and self._unknown is not None:
            raise Escape(self._unknown.reason)
        data = self._bytes.readline()
        return data if "b" in self._mode else data.decode("utf-8")

    def readlines(self) -> list[Any]:
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        while line := self.readline():
            yield line

    def write(self, data: Any) -> int:
        if issubclass(type(data), Unknown):
            raise Escape(data.reason)
        self._bytes.write(data.encode() if issubclass(type(data), str) else data)
        self.flush()
        return len(data)

    def flush(self) -> None:
        if self._writing:
            self._store(self._bytes.getvalue())

    def close(self) -> None:
        self._closed = True

    def seek(self, position: int, whence: int = 0) -> int:
        return self._bytes.seek(position, whence)

    def tell(self) -> int:
        return self._bytes.tell()

    def __enter__(self) -> VirtualFile:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None


def make_open(files: Files) -> Any:
    """The builtin `open`."""

    def open_(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> VirtualFile:
        if issubclass(type(file), Unknown):
            file = ASK[-1].concrete(file)
        if not issubclass(type(file), str | pathlib.PurePath):
            raise Refused("open() of something that is no path")
        return VirtualFile(files, str(file), mode)

    return open_


def make_path_class(files: Files) -> type:
    """`pathlib.Path` over the virtual file system."""

    class Path(pathlib.PurePosixPath):
        def exists(self) -> bool:
            return bool(files.exists(str(self)))

        def is_file(self) -> bool:
            return bool(files.isfile(str(self)))

        def is_dir(self) -> bool:
            return bool(files.isdir(str(self)))

        def iterdir(self) -> Any:
            return iter([self / name for name in files.listdir(str(self))])

        def glob(self, pattern: str) -> Any:
            return iter([type(self)(p) for p in _glob(files, posixpath.join(str(self), pattern))])

        def read_text(self, *a: Any, **k: Any) -> Any:
            return VirtualFile(files, str(self), "r").read()

        def read_bytes(self) -> Any:
            return VirtualFile(files, str(self), "rb").read()

        def write_text(self, text: str, *a: Any, **k: Any) -> int:
            files.write(str(self), text.encode())
            return len(text)

        def open(self, mode: str = "r", *a: Any, **k: Any) -> VirtualFile:
            return VirtualFile(files, str(self), mode)

        def mkdir(self, *a: Any, **k: Any) -> None:
            files.makedirs(str(self))

        def unlink(self, missing_ok: bool = False) -> None:
            if not missing_ok or files.isfile(str(self)):
                files.remove(str(self))

        def resolve(self, strict: bool = False) -> Any:
            return type(self)(files.absolute(str(self)))

        absolute = resolve

        def expanduser(self) -> Any:
            return type(self)(_expanduser(str(self)))

        @classmethod
        def home(cls) -> Any:
            return cls(HOME)

        @classmethod
        def cwd(cls) -> Any:
            return cls(CWD)

    return Path


def _expanduser(path: str) -> str:
    return HOME + path[1:] if path == "~" or path.startswith("~/") else path


def _glob(files: Files, pattern: str) -> list[str]:
    absolute = files.absolute(pattern)
    found = [
        p
        for p in (*files.content, *files.folders)
        if fnmatch.fnmatchcase(p, absolute) and p.count("/") == absolute.count("/")
    ]
    if not pattern.startswith("/"):
        found = [posixpath.relpath(p, CWD) for p in found]
    return sorted(found)


class TemporaryFile:
    """`tempfile.NamedTemporaryFile`: a path that is free, and a virtual file there."""

    def __init__(
        self, files: Files, counter: list[int], mode: str, suffix: str, prefix: str
    ) -> None:
        if R.journal is not None:
            R.journal.container(counter)
        counter[0] += 1
        self.name = f"{TMP}/{prefix}{counter[0]:08d}{suffix}"
        self.file = VirtualFile(files, self.name, mode)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> TemporaryFile:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None


def build(files: Files) -> dict[str, Facade]:
    """Facades by module name (`os` itself is in `system`)."""
    pure = {
        n: lifted(getattr(posixpath, n))
        for n in (
            "join",
            "basename",
            "dirname",
            "split",
            "splitext",
            "normpath",
            "isabs",
            "commonpath",
            "commonprefix",
            "relpath",
        )
    }
    path_names = {
        **pure,
        "exists": lifted(files.exists),
        "lexists": lifted(files.exists),
        "isfile": lifted(files.isfile),
        "isdir": lifted(files.isdir),
        "islink": lifted(lambda path: False),
        "abspath": lifted(files.absolute),
        "realpath": lifted(files.absolute),
        "expanduser": lifted(_expanduser),
        "expandvars": lifted(lambda path: path),
        "getsize": lifted(lambda path: len(files.read(path) or b"")),
        "sep": "/",
        "pathsep": ":",
    }
    path = make_path_class(files)
    counter = [0]

    def named(
        mode: str = "w+b", *a: Any, suffix: str | None = None, prefix: str | None = None, **k: Any
    ) -> TemporaryFile:
        return TemporaryFile(files, counter, mode, suffix or "", prefix or "tmp")

    def mkdtemp(suffix: str | None = None, prefix: str | None = None, dir: Any = None) -> str:  # noqa: A002
        if R.journal is not None:
            R.journal.container(counter)
        counter[0] += 1
        name = f"{TMP}/{prefix or 'tmp'}{counter[0]:08d}{suffix or ''}"
        files.makedirs(name)
        return name

    pathlib_names = {
        "Path": path,
        "PosixPath": path,
        "PurePath": pathlib.PurePosixPath,
        "PurePosixPath": pathlib.PurePosixPath,
    }
    return {
        "os.path": Facade("os.path", path_names),
        "posixpath": Facade("posixpath", path_names),
        "pathlib": Facade("pathlib", pathlib_names),
        "glob": Facade("glob", {"glob": lifted(lambda pattern, **k: _glob(files, pattern)), "iglob": lifted(lambda pattern, **k: iter(_glob(files, pattern)))}),
        "tempfile": Facade("tempfile", {"NamedTemporaryFile": named, "mkdtemp": mkdtemp, "gettempdir": lambda: TMP, "tempdir": None}),
        "io": Facade("io", {"StringIO": io.StringIO, "BytesIO": io.BytesIO, "open": make_open(files)}),
        "shutil": Facade("shutil", {"rmtree": lambda *a, **k: None}),
    }  # fmt: skip
