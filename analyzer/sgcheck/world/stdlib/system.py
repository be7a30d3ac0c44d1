"""os, sys, importlib, subprocess and other faces of the machine."""

from __future__ import annotations

import time as real_time
import uuid as real_uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from sgcheck.interp import guards
from sgcheck.interp.access import ON_LISTING
from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape, Refused
from sgcheck.values.symbols import DrawnObject
from sgcheck.values.unknown import ASK, Unknown
from sgcheck.world.facade import Facade, lifted, nondeterministic, not_modelled
from sgcheck.world.files import HOME, Files
from sgcheck.world.host import CWD
from sgcheck.world.stdlib.environment import Environ
from sgcheck.world.stdlib.frames import getframe

PROCESS_ID = 419021739
"""Stands for a process id. A field that holds these digits is nondeterministic (see `resolve/plain`)."""
HOST_NAME = f"host-{PROCESS_ID}"
"""Stands for the name of the host, in the same way."""
PYTHON_VERSION = (3, 12, 3, "final", 0)


def build_os(environ: Environ, files: Files, path: Facade, cpu_count: int | None = None) -> Facade:
    """The module `os`."""

    def getenv(key: Any, default: Any = None) -> Any:
        return environ.get(key, default)

    def makedirs(name: Any, mode: int = 0o777, exist_ok: bool = False) -> None:
        if issubclass(type(name), Unknown):
            raise Escape(name.reason)
        files.makedirs(name)

    def walk(top: Any, *a: Any, **k: Any) -> Any:
        names = files.listdir(top) if files.isdir(top) else []
        folders = [n for n in names if files.isdir(f"{top}/{n}")]
        yield top, folders, [n for n in names if n not in folders]
        for name in folders:
            yield from walk(f"{top}/{name}")

    class PathLike:
        @classmethod
        def __subclasshook__(cls, sub: Any) -> bool:
            return hasattr(sub, "__fspath__")

    def fspath(value: Any) -> Any:
        return value if issubclass(type(value), str | bytes) else value.__fspath__()

    return Facade(
        "os",
        {
            "environ": environ,
            "getenv": getenv,
            "putenv": environ.__setitem__,
            "unsetenv": lambda k: environ.pop(k, None),
            "path": path,
            "makedirs": makedirs,
            "mkdir": makedirs,
            "listdir": lambda p=".": files.listdir(p),
            "walk": walk,
            "remove": files.remove,
            "unlink": files.remove,
            "getcwd": lambda: CWD,
            "getpid": lambda: PROCESS_ID,
            "getppid": lambda: PROCESS_ID,
            "cpu_count": lambda: cpu_count if cpu_count is not None else Unknown(Reason("host-not-modelled", detail="CPU count")),
            "sched_getaffinity": lambda pid: Unknown(Reason("host-not-modelled", detail="CPU affinity")),
            "urandom": lambda n: nondeterministic("random bytes", bytes),
            "access": lambda p, mode: files.exists(p),
            "PathLike": PathLike,
            "fspath": fspath,
            "sep": "/",
            "linesep": "\n",
            "pathsep": ":",
            "name": "posix",
            "devnull": "/dev/null",
            "R_OK": 4, "W_OK": 2, "X_OK": 1, "F_OK": 0,
            "error": OSError,
            "uname": lambda: SimpleNamespace(sysname="Linux", machine="x86_64", nodename="host", release="6.8.0", version=""),
            "getuid": lambda: 0,
            "setpgid": lambda *a: None,
        },
    )  # fmt: skip


class _StdStream:
    encoding = "utf-8"

    def write(self, text: Any) -> int:
        return 0

    def flush(self) -> None:
        return None

    def isatty(self) -> bool:
        return False


def build_sys(loaded: dict[str, Any], argv: list[str], looked: Callable[[], None]) -> Facade:
    """The module `sys`; `loaded` is what `sys.modules` shows.

    `looked` is called before anybody sees the program's arguments.
    """

    class System(Facade):
        @property
        def argv(self) -> Any:
            looked()
            return self.__dict__["argv"]

        @argv.setter
        def argv(self, value: Any) -> None:
            self.__dict__["argv"] = value

    class VersionInfo(tuple):  # type: ignore[type-arg]
        major, minor, micro, releaselevel, serial = PYTHON_VERSION

    def exit_(code: Any = None) -> Any:
        raise SystemExit(code)

    return System(
        "sys",
        {
            ON_LISTING: looked,
            "modules": loaded,
            "argv": argv,
            "exit": exit_,
            "version_info": VersionInfo(PYTHON_VERSION),
            "version": "3.12.3 (main) [GCC]",
            "platform": "linux",
            "executable": "/usr/bin/python3",
            "path": [],
            "byteorder": "little",
            "maxsize": 2**63 - 1,
            "float_info": __import__("sys").float_info,
            "stdout": _StdStream(),
            "stderr": _StdStream(),
            "stdin": _StdStream(),
            "exc_info": lambda: (None, None, None),
            "getsizeof": lambda *a: not_modelled("sys.getsizeof"),
            "intern": lambda s: s,
            "prefix": "/usr",
            "implementation": SimpleNamespace(name="cpython", version=VersionInfo(PYTHON_VERSION)),
            "getrecursionlimit": lambda: 1000,
            "setrecursionlimit": lambda n: None,
            "getdefaultencoding": lambda: "utf-8",
            "is_finalizing": lambda: False,
            "_getframe": getframe,
        },
    )


def build_subprocess(run_command: Callable[[list[str]], tuple[int, Any]]) -> Facade:
    """`subprocess` whose only programs are those that the world plays."""

    class CompletedProcess:
        def __init__(
            self, args: Any, returncode: int, stdout: Any = None, stderr: Any = None
        ) -> None:
            self.args, self.returncode, self.stdout, self.stderr = args, returncode, stdout, stderr

        def check_returncode(self) -> None:
            if self.returncode:
                raise CalledProcessError(self.returncode, self.args, self.stdout, self.stderr)

    class SubprocessError(Exception):
        __module__ = "subprocess"

    class CalledProcessError(SubprocessError):
        __module__ = "subprocess"

        def __init__(
            self, returncode: int, cmd: Any, output: Any = None, stderr: Any = None
        ) -> None:
            super().__init__(returncode, cmd)
            self.returncode, self.cmd, self.output, self.stdout, self.stderr = (
                returncode,
                cmd,
                output,
                output,
                stderr,
            )

    class TimeoutExpired(SubprocessError):
        __module__ = "subprocess"

    def run(
        args: Any,
        *rest: Any,
        check: bool = False,
        text: Any = None,
        universal_newlines: Any = None,
        encoding: Any = None,
        shell: bool = False,
        stdout: Any = None,
        capture_output: bool = False,
        **kwargs: Any,
    ) -> Any:
        words = args.split() if issubclass(type(args), str) else [str(a) for a in args]
        if issubclass(type(args), str) and shell:
            words = ["sh", "-c", args]
        code, output = run_command(words)
        as_text = bool(text or universal_newlines or encoding)
        out: Any = output
        if not as_text:
            unknown = issubclass(type(output), Unknown)
            out = ASK[-1].method(output, "encode", (), {}) if unknown else output.encode()
        if check and code:
            raise CalledProcessError(code, args, out)
        return CompletedProcess(args, code, out, "" if as_text else b"")

    def check_output(args: Any, **kwargs: Any) -> Any:
        return run(args, check=True, **kwargs).stdout

    return Facade(
        "subprocess",
        {
            "run": run, "check_output": check_output,
            "check_call": lambda args, **k: run(args, check=True, **k).returncode,
            "call": lambda args, **k: run(args, **k).returncode,
            "getoutput": lambda cmd: not_modelled("subprocess.getoutput"),
            "CompletedProcess": CompletedProcess, "CalledProcessError": CalledProcessError,
            "SubprocessError": SubprocessError, "TimeoutExpired": TimeoutExpired,
            "PIPE": -1, "STDOUT": -2, "DEVNULL": -3,
            "Popen": lambda *a, **k: not_modelled("subprocess.Popen"),
        },
    )  # fmt: skip


def build_importlib(
    load: Callable[[str], Any],
    present: Callable[[str], bool | None],
    version: Callable[[str], str],
    loaded: dict[str, Any],
    locate: Callable[[str], tuple[str, bool] | None],
) -> dict[str, Facade]:
    """`importlib` and its parts."""

    def import_module(name: Any, package: Any = None) -> Any:
        if issubclass(type(name), Unknown):
            raise Escape(name.reason)
        if name.startswith("."):
            base = str(package).split(".")
            level = len(name) - len(name.lstrip("."))
            name = ".".join([*base[: len(base) - level + 1], name.lstrip(".")])
        return load(name)

    def find_spec(name: Any, package: Any = None) -> Any:
        if issubclass(type(name), Unknown):
            raise Escape(name.reason)
        own = locate(name)
        if own is not None:
            path, is_package = own
            origin = f"{path}/__init__.py" if is_package else path
            places = [path] if is_package else None
            return SimpleNamespace(
                name=name, origin=origin, loader=None, submodule_search_locations=places
            )
        there = present(name)
        if there is None:
            raise Escape(Reason(f"package-not-known({name.split('.')[0]})"))
        return (
            SimpleNamespace(name=name, origin=None, loader=None, submodule_search_locations=[])
            if there
            else None
        )

    class PackageNotFoundError(ModuleNotFoundError):
        __module__ = "importlib.metadata"

    def get_version(name: Any) -> str:
        try:
            return version(name)
        except LookupError:
            raise PackageNotFoundError(name) from None

    def entry_points(**kwargs: Any) -> Any:
        return []

    metadata = Facade(
        "importlib.metadata",
        {
            "version": get_version,
            "PackageNotFoundError": PackageNotFoundError,
            "entry_points": entry_points,
        },
    )
    util = Facade("importlib.util", {"find_spec": find_spec})
    machinery = Facade("importlib.machinery", {})
    return {
        "importlib": Facade("importlib", {"import_module": import_module, "util": util, "metadata": metadata, "machinery": machinery, "invalidate_caches": lambda: None}),
        "importlib.util": util,
        "importlib.metadata": metadata,
        "importlib.machinery": machinery,
    }  # fmt: skip


class _Lock:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def acquire(self, *args: Any, **kwargs: Any) -> bool:
        return True

    def release(self) -> None:
        return None

    def locked(self) -> bool:
        return False

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *exc: Any) -> None:
        return None

    wait = acquire
    set = notify = notify_all = clear = release

    def is_set(self) -> bool:
        return False


class _Local:
    """`threading.local` in a program with one thread."""


def build_machine_modules() -> dict[str, Facade]:
    """Clock, random numbers, host, threads and network: none of them known beforehand."""

    def draw(name: str, *types: type) -> Callable[..., Any]:
        return lambda *a, **k: nondeterministic(name, *types)

    def shuffled(name: str) -> Callable[..., Any]:
        def run(*a: Any, **k: Any) -> Any:
            raise Escape(Reason("nondeterministic", detail=name))

        return run

    random = {
        **{n: draw("random number", float) for n in ("random", "uniform", "gauss")},
        **{n: draw("random number", int) for n in ("randint", "randrange", "getrandbits")},
        **{n: draw("random number") for n in ("choice", "choices", "sample")},
    }
    random.update(
        shuffle=shuffled("random order"), seed=lambda *a, **k: None, Random=draw("random generator")
    )
    time = {
        **{n: draw("clock", float) for n in ("time", "monotonic", "perf_counter", "process_time")},
        **{n: draw("clock", int) for n in ("time_ns", "monotonic_ns", "perf_counter_ns")},
        **{n: draw("clock", str) for n in ("strftime", "ctime")},
        **{n: draw("clock") for n in ("localtime", "gmtime")},
    }
    time.update(sleep=lambda seconds: None)
    lock_names = dict.fromkeys(
        ("Lock", "RLock", "Event", "Condition", "Semaphore", "BoundedSemaphore"), _Lock
    )
    platform = {
        "system": lambda: "Linux", "machine": lambda: "x86_64", "python_version": lambda: "3.12.3",
        "processor": lambda: "x86_64", "node": lambda: HOST_NAME, "release": draw("kernel release", str),
        "platform": draw("platform string", str), "uname": lambda: SimpleNamespace(system="Linux", machine="x86_64"),
        "python_implementation": lambda: "CPython", "libc_ver": lambda: ("glibc", "2.39"),
    }  # fmt: skip
    socket: dict[str, Any] = {
        "gethostname": lambda: HOST_NAME, "getfqdn": lambda *a: HOST_NAME, "gethostbyname": draw("host address", str),
        "AF_INET": 2, "AF_INET6": 10, "SOCK_STREAM": 1, "SOCK_DGRAM": 2, "SOL_SOCKET": 1, "SO_REUSEADDR": 2,
        "IPPROTO_TCP": 6, "error": OSError, "gaierror": OSError, "timeout": TimeoutError, "herror": OSError,
    }  # fmt: skip
    reason = Reason("nondeterministic", detail="unique id")
    uuid: dict[str, Any] = {
        name: lambda *a, **k: DrawnObject(
            reason, "unique id", {"hex": str, "int": int, "bytes": bytes}
        )
        for name in ("uuid1", "uuid4")
    }
    # Names made of names are the same on every machine.
    for name in ("uuid3", "uuid5"):
        uuid[name] = lifted(getattr(real_uuid, name))
    known = ("UUID", "NAMESPACE_DNS", "NAMESPACE_URL", "NAMESPACE_OID", "NAMESPACE_X500")
    uuid.update({name: getattr(real_uuid, name) for name in known})
    out = {
        "random": random, "time": time, "platform": platform, "socket": socket, "uuid": uuid,
        "threading": {**lock_names, "local": _Local, "current_thread": draw("thread"), "get_ident": lambda: 1,
                      "main_thread": draw("thread"), "Thread": lambda *a, **k: not_modelled("threading.Thread")},
        "secrets": {"token_hex": draw("secret", str), "token_urlsafe": draw("secret", str),
                    "token_bytes": draw("secret", bytes), "randbelow": draw("secret", int)},
        "signal": {"SIGTERM": 15, "SIGINT": 2, "SIGQUIT": 3, "SIGKILL": 9, "SIGCHLD": 17, "SIGUSR1": 10, "SIGUSR2": 12, "signal": lambda *a: None},
        "gc": {"collect": lambda *a: 0, "disable": lambda: None, "enable": lambda: None, "freeze": lambda: None},
        "traceback": {"format_exc": lambda *a: "", "print_exc": lambda *a, **k: None, "print_stack": lambda *a, **k: None},
        "atexit": {"register": lambda f, *a, **k: f},
        "faulthandler": {"enable": lambda *a, **k: None},
        "resource": {"RLIMIT_NOFILE": 7, "RLIMIT_STACK": 3, "getrlimit": lambda kind: (65536, 65536), "setrlimit": lambda *a: None},
        "getpass": {"getuser": draw("user name", str)},
        "errno": {"EADDRINUSE": 98, "ENOENT": 2},
    }  # fmt: skip
    return {name: Facade(name, names) for name, names in out.items()}


_ = (real_time, guards, HOME, Refused)
