"""Start programs in a process group of their own, and end such groups whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

GRACE = 10.0
"""Seconds that a group has between the request to end and the end."""

KEPT_OUTPUT = 1 << 20
"""Bytes that are kept of the end of an output."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that has ended. `code` is negative for a signal; the outputs are cut to their ends."""

    code: int
    stdout: str
    stderr: str
    timed_out: bool = False


def run_to_end(
    command: Sequence[str], env: Mapping[str, str], timeout: float, stdin: bytes | None = None
) -> Finished:
    """Run a program in its own session; it and all that it started end at the time limit, at
    Ctrl-C, and when it ends itself. Raises OSError if it cannot be started."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = start(
            command, env, stdout=out, stderr=err, stdin=subprocess.PIPE if stdin else None
        )
        timed_out = False
        try:
            if stdin and process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write(stdin)
                    process.stdin.close()
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            end_group(process, grace=2.0 if timed_out else 0.0)
        return Finished(process.returncode, tail(out), tail(err), timed_out)


def start(
    command: Sequence[str],
    env: Mapping[str, str] | None,
    *,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    stdin: int | None = None,
    cwd: str | None = None,
) -> subprocess.Popen[bytes]:
    """A program at the head of a new session, so that its group can be ended without touching others."""
    return subprocess.Popen(
        list(command),
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=stdout,
        stderr=stderr,
        env=None if env is None else dict(env),
        cwd=cwd,
        start_new_session=True,
    )


def group_alive(group: int) -> bool:
    """Whether any process of the group is left (a dead one that nobody waited for counts not)."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def end_group(process: subprocess.Popen[Any], grace: float = GRACE) -> bool:
    """Ask the whole group to end, then make it; True if nothing of it is left.

    The process must be at the head of its own group (`start`). Safe to call more than once.
    """
    group = process.pid
    if process.poll() is None or group_alive(group):
        if grace > 0:
            _signal(group, signal.SIGTERM)
            _wait(process, group, grace)
        if process.poll() is None or group_alive(group):
            _signal(group, signal.SIGKILL)
            _wait(process, group, 5.0)
    return not group_alive(group)


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _wait(process: subprocess.Popen[Any], group: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None and not group_alive(group):
            return
        time.sleep(0.05)


def tail(stream: IO[bytes], limit: int = KEPT_OUTPUT) -> str:
    """The end of a file as text."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - limit))
    return stream.read(limit).decode("utf-8", "replace")
