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
from typing import Any

SILENCE = 90.0
GRACE = 10.0
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


def descendants() -> list[int]:
    """Every process below this one."""
    try:
        listing = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, check=False
        ).stdout
    except OSError:
        return []
    children: dict[int, list[int]] = {}
    for line in listing.splitlines():
        with contextlib.suppress(ValueError):
            pid, parent = map(int, line.split())
            children.setdefault(parent, []).append(pid)
    found: list[int] = []
    pending = [os.getpid()]
    while pending:
        for pid in children.get(pending.pop(), []):
            found.append(pid)
            pending.append(pid)
    return found


def signal_all(group: int, number: int) -> None:
    """A signal to the server's group and to what has left the group."""
    with contextlib.suppress(OSError):
        os.killpg(group, number)
    for pid in descendants():
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def end(process: subprocess.Popen[bytes]) -> bool:
    """End the server and everything below it; True if nothing is left."""
    for number, seconds in ((signal.SIGTERM, GRACE), (signal.SIGKILL, 5.0)):
        signal_all(process.pid, number)
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            process.poll()
            reap(process)
            if not living(process):
                return True
            time.sleep(0.1)
    return not living(process)


def reap(process: subprocess.Popen[bytes]) -> None:
    """Take the dead orphans off the list of processes."""
    for pid in descendants():
        if pid != process.pid:
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)


def living(process: subprocess.Popen[bytes]) -> bool:
    """Whether the server or a process of its group is left."""
    if process.poll() is None:
        return True
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


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
    why = obey(process, wanted, orders, port)
    clean = end(process)
    log.join(5.0)
    say(exit=process.returncode, why=why, clean=clean)


def obey(
    process: subprocess.Popen[bytes],
    wanted: dict[str, Any],
    orders: queue.Queue[dict[str, Any]],
    port: int,
) -> str:
    """Follow orders; why the server has to end, empty if it ended itself."""
    limit = time.monotonic() + float(wanted["limit"])
    heard = time.monotonic()
    while True:
        if process.poll() is not None:
            return ""
        now = time.monotonic()
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
