"""The near end of a supervised server: on this host, over ssh, or in a container."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from sgcheck.confirm import processes
from sgcheck.confirm.interrupt import HeldInterrupt
from sgcheck.confirm.log_lines import is_news
from sgcheck.confirm.secrets import scrub
from sgcheck.errors import SourceError

SUPERVISOR = Path(__file__).parent / "worker" / "supervise.py"
PING_EVERY = 15.0
STOP_TIMEOUT = 30.0
MAX_WAITING = 100_000
"""Lines of the log that may wait to be read."""

BOOT = "import sys;i=sys.stdin.buffer;exec(compile(i.read(int(i.readline())),'supervise','exec'))"
"""What the far interpreter runs: it reads the supervisor's length and text, then becomes it."""


class LaunchRefused(SourceError):
    """The server was not started, or the way to it broke. One sentence."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the server; `status` 0 where there was none. Seconds as the far end measured."""

    status: int
    body: str = ""
    seconds: float = 0.0
    error: str = ""

    def json(self) -> Any:
        """The parsed body; None if it is no JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


@dataclass(slots=True)
class Facts:
    """What the supervisor said of its host and of the server's end."""

    machine: dict[str, Any] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    refused: str | None = None
    pid: int | None = None
    ended: bool = False
    code: int | None = None
    why: str = ""
    clean: bool = True


class Session:
    """A context manager: on leaving, the server and everything that it started have ended.

    Inside, Ctrl-C raises KeyboardInterrupt from the methods that wait (and from `check_interrupt`).
    `command` is the program that becomes the supervisor (an interpreter with `BOOT`, maybe behind
    ssh or docker); `name` says where it runs, `local` that it is on this host.
    """

    def __init__(
        self, command: Sequence[str], order: Mapping[str, Any], name: str, *, local: bool = False
    ) -> None:
        self._local = local
        self._listener: threading.Thread | None = None
        self.name = name
        self.facts = Facts()
        self.log: queue.Queue[str] = queue.Queue()
        self._command = list(command)
        self._order = dict(order)
        self._replies: dict[int, Reply] = {}
        self._news = threading.Condition()
        self._number = 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by stop)
        self._pinged = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._interrupt = HeldInterrupt()
        self.lost = False
        self.dropped_lines = 0

    def __enter__(self) -> Session:
        self._interrupt.hold()
        try:
            self._start()
        except BaseException:
            self.stop()
            self._interrupt.release()
            raise
        return self

    def _start(self) -> None:
        try:
            self._process = processes.start(
                self._command,
                None,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        except OSError as error:
            self._errors.close()
            raise LaunchRefused(
                f"{self._command[0]} cannot be run: {error.strerror or error}"
            ) from None
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        text = SUPERVISOR.read_bytes()
        self._write(str(len(text)).encode() + b"\n" + text)
        self._send({"start": self._order})

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        finally:
            came = self._interrupt.release()
        if came and kind is None:
            raise KeyboardInterrupt

    def check_interrupt(self) -> None:
        """Raises KeyboardInterrupt if Ctrl-C came; call it where the work may end."""
        self._interrupt.check()

    def stop(self) -> None:
        """End the server. Ctrl-C while it is ending does not stop that."""
        self._interrupt.final = True
        process = self._process
        if process is None:
            return
        if not self.over:
            self._send({"stop": 1})
            self._wait_until(lambda: self.over, time.monotonic() + STOP_TIMEOUT)
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5.0)
        processes.end_group(process, grace=2.0)
        self._end_orphan()
        if self._listener is not None:
            self._listener.join(5.0)
        process.stdout.close()
        self._process = None
        self._errors.close()

    def _end_orphan(self) -> None:
        """The supervisor on this host may have been killed; then its server is ours to end."""
        if self._local and self.facts.pid is not None and not self.facts.ended:
            with contextlib.suppress(OSError):
                os.killpg(self.facts.pid, signal.SIGKILL)

    def keep_alive(self) -> None:
        """Tell the far end that we are still here; call it at least every minute."""
        if time.monotonic() - self._pinged > PING_EVERY:
            self._pinged = time.monotonic()
            self._send({"ping": 1})

    def ask(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        timeout: float = 10.0,
        key: str | None = None,
    ) -> Reply:
        """Ask the server; a reply with status 0 if it does not answer in time (seconds)."""
        self._number += 1
        number = self._number
        self._send({"ask": number, "path": path, "body": body, "timeout": timeout, "key": key})
        end = time.monotonic() + timeout + 5.0
        while time.monotonic() < end and not self.over:
            self.check_interrupt()
            self.keep_alive()
            self._wait_until(
                lambda: number in self._replies or self.over, min(end, time.monotonic() + 0.5)
            )
            if number in self._replies:
                return self._replies.pop(number)
        return self._replies.pop(number, Reply(0, error="no answer"))

    @property
    def over(self) -> bool:
        """Whether nothing more can come."""
        return self.facts.ended or self.lost or self.facts.refused is not None

    def complaint(self) -> str:
        """The last line that the program in between (ssh, docker) wrote to its standard error."""
        if self._errors.closed:
            return ""
        lines = [line.strip() for line in processes.tail(self._errors).splitlines() if line.strip()]
        return scrub(lines[-1]) if lines else ""

    def _wait_until(self, condition: Any, end: float) -> None:
        with self._news:
            while not condition() and (left := end - time.monotonic()) > 0:
                self._news.wait(min(left, 0.5))

    def _send(self, order: Mapping[str, Any]) -> None:
        self._write(json.dumps(order).encode() + b"\n")

    def _write(self, data: bytes) -> None:
        process = self._process
        if process is None or process.stdin is None or process.stdin.closed:
            return
        try:
            process.stdin.write(data)
            process.stdin.flush()
        except OSError:
            self._lose()

    def _lose(self) -> None:
        with self._news:
            self.lost = self.lost or not (self.facts.ended or self.facts.refused is not None)
            self._news.notify_all()

    def _listen(self) -> None:
        process = self._process
        assert process is not None and process.stdout is not None
        for line in process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                # A login banner or the like; it is not ours.
                continue
            if isinstance(message, dict):
                with self._news:
                    self._take(message)
                    self._news.notify_all()
        self._lose()

    def _take_line(self, line: str) -> None:
        """Keep a line, unless so many wait already that only news may be added."""
        if self.log.qsize() > MAX_WAITING and not is_news(line.encode()):
            self.dropped_lines += 1
        else:
            self.log.put(line)

    def _take(self, message: dict[str, Any]) -> None:
        facts = self.facts
        if "log" in message:
            self._take_line(str(message["log"]))
        elif "reply" in message:
            self._replies[int(message["reply"])] = Reply(
                int(message.get("status", 0)),
                str(message.get("body", "")),
                float(message.get("seconds", 0.0)),
                str(message.get("error", "")),
            )
        elif "machine" in message:
            facts.machine, facts.dropped = message["machine"], list(message.get("dropped", ()))
        elif "refused" in message:
            facts.refused = str(message["refused"])
        elif "started" in message:
            facts.pid = int(message["started"])
        elif "exit" in message:
            facts.ended, facts.code = True, message["exit"]
            facts.why, facts.clean = str(message.get("why", "")), bool(message.get("clean", True))
