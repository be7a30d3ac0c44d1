"""The parent's side of one worker: start it, call it, serve its questions, end it.

It is forked from this process where that is safe, which costs a few milliseconds; else it is
started anew (`SPAWN`), with the same modules and no more.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from sgcheck.errors import WorkerEnded
from sgcheck.sandbox import protocol as say
from sgcheck.sandbox.channel import (
    MAX_TO_PARENT,
    Channel,
    ChannelEnded,
    Frame,
    WorkerFault,
)
from sgcheck.sandbox.codec import decode, encode
from sgcheck.sandbox.protocol import Denial, Role, Setup
from sgcheck.sandbox.walls import Wall

if TYPE_CHECKING:
    import subprocess

PIPE_BYTES = 1 << 20
START_S = 60.0
CALL_S = 1200.0
"""How long a worker may take to be ready, and to answer a call; the launch's own limits are shorter."""

_BOOT = (
    "import json, sys; a = json.loads(sys.argv[1]); sys.path[:] = a['path']; "
    "from sgcheck.sandbox.worker import run; run(a['read'], a['write'], a['role'])"
)
_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")

_TIME_IS_UP = ("SIGVTALRM", "SIGXCPU")
"""What ends a worker that has computed for too long, when nothing gentler gets through."""

how_to_start: str | None = None
"""`fork` or `spawn`; None for what is right here."""

_children: set[Process] = set()


def forks() -> bool:
    """Whether a worker can be forked from this process as it is now."""
    if how_to_start is not None:
        return how_to_start == "fork"
    # Other systems' libraries, and other threads, may hold locks that nobody releases in the child.
    return sys.platform.startswith("linux") and threading.active_count() == 1


class Process:
    """One worker, started at once. `serve` answers its questions."""

    def __init__(
        self,
        role: Role,
        setup: Setup,
        serve: Callable[[memoryview], tuple[bytes, bytes | memoryview]] | None = None,
    ) -> None:
        self._serve = serve
        self._pid = 0
        self._started: subprocess.Popen[bytes] | None = None
        self.walls: list[Wall] = []
        to_worker, to_parent = os.pipe(), os.pipe()
        for end in (to_worker[1], to_parent[1]):
            _widen(end)
        self._channel = Channel(to_parent[0], to_worker[1], MAX_TO_PARENT)
        try:
            if forks():
                self._fork(role, to_worker[0], to_parent[1])
            else:
                self._spawn(role, to_worker[0], to_parent[1])
        finally:
            os.close(to_worker[0])
            os.close(to_parent[1])
        _children.add(self)
        self._ready = False
        self._send(say.SETUP, encode(setup))

    def _fork(self, role: Role, read: int, write: int) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        gc.freeze()
        self._pid = os.fork()
        if self._pid == 0:
            _be_worker(read, write, role)
        gc.unfreeze()  # for the worker only: here garbage is to be found

    def _spawn(self, role: Role, read: int, write: int) -> None:
        import json
        import subprocess

        paths = [os.path.abspath(path) if path else os.getcwd() for path in sys.path]  # noqa: PTH100, PTH109
        told = json.dumps({"path": paths, "read": read, "write": write, "role": role})
        flags = ["-I", *(["-B"] if sys.dont_write_bytecode else [])]
        if sys.pycache_prefix:
            flags += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
        self._started = subprocess.Popen(
            [sys.executable, *flags, "-c", _BOOT, told],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(read, write),
            env={name: os.environ[name] for name in _LOADER_VARIABLES if name in os.environ},
        )
        self._pid = self._started.pid

    def _send(self, kind: bytes, *content: bytes | memoryview) -> None:
        try:
            self._channel.send(kind, *content)
        except ChannelEnded:
            raise WorkerEnded(self._end("gone")) from None

    def call(self, *content: bytes | memoryview, seconds: float = CALL_S) -> memoryview:
        """The result of one call. Raises WorkerEnded, WorkerFault, or an error of the user's."""
        try:
            if not self._ready:
                self.wait_until_ready()
            latest = time.monotonic() + seconds
            self._channel.send(say.CALL, *content)
            while True:
                frame = self._channel.receive(latest)
                if frame.kind == say.QUESTION and self._serve is not None:
                    self._channel.send(*self._serve(frame.content))
                elif frame.kind == say.RESULT:
                    return frame.content
                else:
                    self._raise(frame)
        except ChannelEnded as end:
            raise WorkerEnded(self._end(end.why)) from None
        except (KeyboardInterrupt, SystemExit):
            self.stop()
            raise

    def wait_until_ready(self) -> None:
        """Raises ChannelEnded where the worker does not get ready."""
        frame = self._channel.receive(time.monotonic() + START_S)
        if frame.kind != say.READY:
            raise ChannelEnded("of-no-form")
        try:
            self.walls = decode(frame.content, list[Wall])
        except ValueError:
            raise ChannelEnded("of-no-form") from None
        self._ready = True
        _tell_missing(self.walls)

    def _raise(self, frame: Frame) -> NoReturn:
        from sgcheck.sandbox.worker import ERRORS

        try:
            denial = decode(frame.content, Denial)
        except ValueError:
            raise ChannelEnded("of-no-form") from None
        if frame.kind == say.FAULT:
            raise WorkerFault(denial.kind, denial.message, denial.trace)
        if frame.kind == say.ERROR and denial.kind in ERRORS:
            raise ERRORS[denial.kind](denial.message)
        raise ChannelEnded("of-no-form")

    def _end(self, why: str) -> str:
        """End it; the code of the reason."""
        status = self.stop(wait=why == "gone")
        if why == "gone":
            why = _words(status)
        if why in _TIME_IS_UP:
            return "limit(time)"
        return f"worker-ended({why})"

    def stop(self, *, wait: bool = False) -> int:
        """End the process; what `waitpid` says of it, 0 where that is not known."""
        _children.discard(self)
        self._channel.close()
        pid, self._pid = self._pid, 0
        if not pid:
            return 0
        if wait:
            # It is going by itself: how it ended is worth knowing.
            for _ in range(20):
                found = self._reaped(pid, os.WNOHANG)
                if found is not None:
                    return found
                time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return self._reaped(pid, 0) or 0

    def _reaped(self, pid: int, flags: int) -> int | None:
        try:
            found, status = os.waitpid(pid, flags)
        except ChildProcessError:
            return 0
        if found == 0:
            return None
        if self._started is not None:
            self._started.returncode = os.waitstatus_to_exitcode(status)
        return status


def _widen(pipe: int) -> None:
    """Let a pipe take a whole answer at once: each turn between the processes costs time."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def _be_worker(read: int, write: int, role: Role) -> NoReturn:
    """In the forked process."""
    try:
        for child in _children:
            child._pid = 0  # they are not this process's to end
        from sgcheck.sandbox.worker import run

        run(read, write, role)
    finally:
        os._exit(1)


def _words(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(ValueError):
            return signal.Signals(number).name
        return f"signal {number}"
    return f"exit {os.waitstatus_to_exitcode(status)}"


def walls_here() -> list[Wall]:
    """Which walls stand here, found out with a worker. Raises WorkerEnded."""
    worker = Process("translate", Setup("translate"))
    try:
        worker.wait_until_ready()
    except ChannelEnded as end:
        raise WorkerEnded(worker._end(end.why)) from None
    finally:
        worker.stop()
    return worker.walls


_told: set[str] = set()


def _tell_missing(walls: list[Wall]) -> None:
    """Say once which walls this system does not have."""
    new = [wall for wall in walls if wall.missing and wall.name not in _told]
    _told.update(wall.name for wall in new)
    # One of several processes that share the work says it.
    pool = sys.modules.get("multiprocessing")
    if new and (pool is None or pool.parent_process() is None):
        named = "; ".join(f"{wall.name} ({wall.missing})" for wall in new)
        print(
            f"sgcheck: note: trees run here without a wall that other systems have: {named}; "
            "`sgcheck doctor --verbose` lists those that stand",
            file=sys.stderr,
        )
