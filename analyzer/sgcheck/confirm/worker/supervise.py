"""Start one server, watch it, ask it, and end it with all that it started.

Runs on the host of the server, in the interpreter that starts it; it is sent there over standard
input, so nothing has to be installed. It takes orders as JSON lines on standard input and answers
with JSON lines on standard output:

    {"start": {"command": [...], "env": {...}, "drop": ["SGLANG_"], "port": N, "limit": S}}
    {"ask": N, "path": "/health", "body": null, "timeout": S, "key": "..."}
    {"ping": 1}
    {"stop": 1}

The server ends when it is told so, when the orders end (the connection is lost), when no order has
come for `SILENCE` seconds, and at the time limit.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.metadata
import importlib.util
import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

SILENCE = 90.0
GRACE = 10.0
LOOK_EVERY = 5.0
MAX_BODY = 32 << 20
MAX_LINE = 1 << 20

_out = threading.Lock()


def say(**message: Any) -> None:
    """One line of answer."""
    data = json.dumps(message).encode() + b"\n"
    with _out, contextlib.suppress(OSError, ValueError):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def adopt_orphans() -> None:
    """On Linux: processes whose parent dies become ours, so that none is lost."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


class Row(NamedTuple):
    """One process as the system lists it. `start` tells it from a later one with its number."""

    parent: int
    start: str
    dead: bool


def listing() -> dict[int, Row]:
    """All processes by number; empty where the system does not tell."""
    if Path("/proc/self/stat").exists():
        return dict(filter(None, map(_row_of_proc, Path("/proc").glob("[0-9]*/stat"))))
    found: dict[int, Row] = {}
    with contextlib.suppress(OSError):
        done = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,stat=,lstart="],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        for line in done.stdout.decode("utf-8", "replace").splitlines():
            with contextlib.suppress(ValueError):
                pid, parent, state, start = line.split(None, 3)
                found[int(pid)] = Row(int(parent), start.strip(), state.startswith("Z"))
    return found


def _row_of_proc(path: Path) -> tuple[int, Row] | None:
    try:
        cells = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return int(path.parent.name), Row(int(cells[1]), cells[19], cells[0] == "Z")
    except (OSError, ValueError, IndexError):
        # It has ended meanwhile.
        return None


class Family:
    """The server and all that it has started, also what has left its group.

    A process that was seen below us is remembered: where the system does not hand orphans to us
    (anything but Linux), it is then known although its parent has died.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._known: dict[int, str] = {}

    def living(self) -> list[int]:
        """The processes that are left."""
        self._reap()
        rows = listing()
        below = {os.getpid()}
        while fresh := {pid for pid, row in rows.items() if row.parent in below} - below:
            below |= fresh
        below.discard(os.getpid())
        self._known.update({pid: rows[pid].start for pid in below})
        left = {
            pid
            for pid, start in self._known.items()
            if pid in rows and rows[pid].start == start and not rows[pid].dead
        }
        if self.process.poll() is None:
            left.add(self.process.pid)
        return sorted(left)

    def group_lives(self) -> bool:
        """Whether a process of the server's group is left that the listing does not show."""
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass
        return True

    def signal(self, number: int) -> None:
        """A signal to the server's group and to what has left the group."""
        left = self.living()
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, number)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, number)

    def _reap(self) -> None:
        """Take the dead orphans off the list of processes."""
        self.process.poll()
        for pid, row in listing().items():
            if row.parent == os.getpid() and row.dead and pid != self.process.pid:
                with contextlib.suppress(OSError):
                    os.waitpid(pid, os.WNOHANG)


def end(family: Family) -> bool:
    """End the server and everything below it; True if nothing is left."""
    for number, seconds in ((signal.SIGTERM, GRACE), (signal.SIGKILL, 5.0)):
        family.signal(number)
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if not family.living() and not family.group_lives():
                return True
            time.sleep(0.1)
    return not family.living()


def port_in_use(port: int) -> bool:
    """Whether something listens on the port already."""
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.settimeout(1.0)
            if probe.connect_ex((host, port)) == 0:
                return True
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("0.0.0.0", port))
        except OSError:
            return True
    return False


def torch_cuda() -> str:
    """The CUDA version that torch is built for, as its version file says; torch is not imported."""
    with contextlib.suppress(Exception):
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.origin is not None:
            text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
            match = re.search(r"^cuda[^=\n]*= *['\"]([\d.]+)['\"]", text, re.MULTILINE)
            return match.group(1) if match else ""
    return ""


def machine() -> dict[str, Any]:
    """GPU and versions of this host; what cannot be told is left out."""
    found: dict[str, Any] = {"python": sys.version.split()[0], "versions": {}}
    for name in (
        "sglang",
        "torch",
        "transformers",
        "flashinfer-python",
        "sglang-kernel",
        "sgl-kernel",
    ):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found["versions"][name] = importlib.metadata.version(name)
    cuda = torch_cuda()
    if cuda:
        found["cuda"] = cuda
    query = [
        "nvidia-smi",
        "--query-gpu=name,compute_cap,memory.total",
        "--format=csv,noheader,nounits",
    ]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return found
    rows = [
        [cell.strip() for cell in line.split(",")]
        for line in done.stdout.splitlines()
        if line.strip()
    ]
    if done.returncode == 0 and rows and len(rows[0]) == 3:
        found["gpus"] = rows
    return found


def ask(order: dict[str, Any], port: int) -> None:
    """One request to the server, and its answer."""
    body = order.get("body")
    headers = {"Content-Type": "application/json"}
    if order.get("key"):
        headers["Authorization"] = "Bearer " + order["key"]
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{order['path']}", data, headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    began = time.monotonic()
    try:
        with opener.open(request, timeout=order.get("timeout", 10.0)) as answer:
            text = answer.read(MAX_BODY + 1)
            status = answer.status
    except urllib.error.HTTPError as error:
        with error:
            status, text = error.code, b""
    except (OSError, ValueError) as error:
        say(reply=order["ask"], status=0, error=str(error))
        return
    except Exception as error:
        say(reply=order["ask"], status=0, error=type(error).__name__ + ": " + str(error))
        return
    if len(text) > MAX_BODY:
        say(reply=order["ask"], status=0, error="the answer is too long")
        return
    seconds = time.monotonic() - began
    say(reply=order["ask"], status=status, body=text.decode("utf-8", "replace"), seconds=seconds)


def copy_log(process: subprocess.Popen[bytes]) -> None:
    """Every line of the server's output."""
    assert process.stdout is not None
    while line := process.stdout.readline(MAX_LINE):
        say(log=line.decode("utf-8", "replace"))


def read_orders(orders: queue.Queue[dict[str, Any]]) -> None:
    """Orders until the connection ends."""
    for line in sys.stdin.buffer:
        with contextlib.suppress(ValueError):
            orders.put(json.loads(line))
    orders.put({"stop": 1, "why": "the connection was lost"})


def environment(wanted: dict[str, Any]) -> dict[str, str]:
    """This host's environment without what the prediction does not know of."""
    drop = tuple(wanted.get("drop", ()))
    env = {k: v for k, v in os.environ.items() if not (drop and k.startswith(drop))}
    for name, value in wanted.get("env", {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def supervise(wanted: dict[str, Any], orders: queue.Queue[dict[str, Any]]) -> None:
    """Start the server and follow orders until it has ended."""
    drop = tuple(wanted.get("drop", ()))
    dropped = sorted(name for name in os.environ if drop and name.startswith(drop))
    say(machine=machine(), dropped=[n for n in dropped if n not in wanted.get("env", {})])
    port = int(wanted["port"])
    if port_in_use(port):
        say(refused=f"port {port} is in use")
        return
    if not any(name in wanted.get("env", {}) for name in ("PYTHONPATH", "PYTHONHOME")):
        module = wanted["command"][2]
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            say(refused="SGLang is not installed for " + wanted["command"][0])
            return
    try:
        process = subprocess.Popen(
            wanted["command"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(wanted),
            start_new_session=True,
        )
    except OSError as error:
        say(refused="the server cannot be started: " + str(error.strerror or error))
        return
    say(started=process.pid)
    log = threading.Thread(target=copy_log, args=(process,), daemon=True)
    log.start()
    family = Family(process)
    why = obey(family, wanted, orders, port)
    clean = end(family)
    log.join(5.0)
    say(exit=process.returncode, why=why, clean=clean)


def obey(
    family: Family,
    wanted: dict[str, Any],
    orders: queue.Queue[dict[str, Any]],
    port: int,
) -> str:
    """Follow orders; why the server has to end, empty if it ended itself."""
    limit = time.monotonic() + float(wanted["limit"])
    heard = looked = time.monotonic()
    while True:
        if family.process.poll() is not None:
            return ""
        now = time.monotonic()
        if now - looked > LOOK_EVERY:
            looked = now
            family.living()
        if now > limit:
            return "the time limit"
        if now - heard > SILENCE:
            return "no order came any more"
        try:
            order = orders.get(timeout=0.2)
        except queue.Empty:
            continue
        heard = time.monotonic()
        if "stop" in order:
            return str(order.get("why", "told to"))
        if "ask" in order:
            threading.Thread(target=ask, args=(order, port), daemon=True).start()


def main() -> None:
    """The first order starts the server; all signals that end us end it too."""
    adopt_orphans()
    orders: queue.Queue[dict[str, Any]] = queue.Queue()

    def stop(*_: Any) -> None:
        orders.put({"stop": 1, "why": "a signal"})

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, stop)
    threading.Thread(target=read_orders, args=(orders,), daemon=True).start()
    try:
        first = orders.get(timeout=SILENCE)
    except queue.Empty:
        return
    if "start" in first:
        supervise(first["start"], orders)
    os._exit(0)


main()
