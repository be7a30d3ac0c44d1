"""The server listens on 127.0.0.1 only, but something outside of it is to reach it.

## What it finds

Launches without `--host` (the default is the loopback address) or with a loopback address, in a container
that has an HTTP probe, a service or a published port.

## Why it matters

Probes and services come from outside of the container's loopback interface: the server is up and nobody can
reach it.

## What to do

Add `--host 0.0.0.0`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject

META = Meta(
    "loopback-only",
    "The server cannot be reached from outside",
    "warning",
    "likely",
    needs_resolution=False,
    of_release=False,
)

BAD = (
    Example(
        "run.sh",
        """\
docker run --gpus all -p «30000:30000» lmsysorg/sglang:v0.5.23 \\
  python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --port 30000
""",
        expect=("--host",),
    ),
)

GOOD = (
    Example(
        "run.sh",
        """\
docker run --gpus all -p 30000:30000 lmsysorg/sglang:v0.5.23 \\
  python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --port 30000 --host 0.0.0.0
""",
    ),
)

LOOPBACK = ("127.0.0.1", "localhost", "::1")
FROM_OUTSIDE = ("probe", "service", "published")


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """At most one finding."""
    ports = [port for port in subject.launch.ports if port.kind in FROM_OUTSIDE]
    if not ports or subject.table is None or subject.command.open:
        return
    if subject.launch.role == "worker":
        return
    use = subject.use_of("host")
    flags = subject.table.of_dest("host")
    host = use.value if use is not None else (flags[0].default if flags else None)
    if host not in LOOPBACK:
        return
    said = f"--host is {host}" if use is not None else f"without --host the address is {host}"
    yield find.finding(
        f"{said}: the server cannot be reached at this port from outside of its container",
        at=use.span if use is not None else ports[0].span,
        key=("host", str(host)),
        related=[(ports[0].span, f"{ports[0].kind} port")] if use is not None else (),
        tip="add --host 0.0.0.0",
    )
