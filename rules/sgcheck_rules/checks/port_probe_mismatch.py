"""A probe or a service asks at another port than the server listens on.

## What it finds

The port of the launch (`--port`, or the release's default) against the ports of probes, services and
published ports around it.

## Why it matters

The server starts and is never ready: the probe fails, and the container is restarted while it loads.

## What to do

Use one port in all places.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck.scan.model import Port
from sgcheck_rules.checks.support import known_int

META = Meta(
    "port-probe-mismatch",
    "A probe or service asks at another port",
    "warning",
    "likely",
    needs_resolution=False,
    of_release=False,
)

_POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: llm}}
spec:
  containers:
  - name: srv
    image: lmsysorg/sglang:v0.5.23
    command: [python3, -m, sglang.launch_server, --model-path, Qwen/Qwen3-8B, --host, 0.0.0.0{flags}]
    readinessProbe:
      httpGet: {{path: /health, port: {port}}}
"""

BAD = (
    Example(
        "pod.yaml",
        _POD.format(flags=', --port, "8000"', port="«30000»"),
        expect=("listens on port 8000",),
    ),
)

GOOD = (Example("pod.yaml", _POD.format(flags="", port="30000")),)

WORDS = {"probe": "the probe asks", "service": "the service sends", "published": "the host sends"}


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per wrong port; none where several servers share the place."""
    port = known_int(subject, "port")
    if port is None or subject.table is None or _is_follower(subject):
        return
    expected = [p for p in subject.launch.ports if p.kind in WORDS and p.number is not None]
    by_kind: dict[str, list[Port]] = {}
    for each in expected:
        by_kind.setdefault(each.kind, []).append(each)
    for kind, ports in by_kind.items():
        if kind != "probe" and (port in {p.number for p in ports} or len(ports) > 1):
            continue
        for each in ports:
            if each.number == port or each.number in _other_ports(subject):
                continue
            if any(each.span == other.span for n in subject.neighbours for other in n.ports):
                continue  # several servers share the place, and another one may be meant
            use = subject.use_of("port")
            where = f"port {port}" if use is not None else f"its default port {port}"
            yield find.finding(
                f"{WORDS[kind]} at port {each.number}, but the server listens on {where}",
                at=each.span,
                key=(kind, str(each.number), str(port)),
                related=[(use.span, "the server's port")] if use is not None else (),
            )


def _is_follower(subject: Subject) -> bool:
    """Whether the launch is a rank that serves nothing itself."""
    rank = subject.use_of("node_rank")
    return subject.launch.role == "worker" or (rank is not None and rank.value not in ("0", None))


def _other_ports(subject: Subject) -> set[int | None]:
    """Ports of the same server that are not for requests."""
    names = ("metrics_port", "dist_init_port", "nccl_port", "disaggregation_bootstrap_port")
    return {known_int(subject, name) for name in names}
