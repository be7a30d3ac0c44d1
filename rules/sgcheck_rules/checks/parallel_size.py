"""Parallel sizes that do not fit the GPUs and nodes that the file asks for.

## What it finds

The GPUs that one node of the launch needs (tensor × pipeline size over the nodes, times the data-parallel
replicas where attention is not data-parallel) against the GPUs that the file gives it: resource limits,
`--gpus`, device lists, accelerator counts. Needing more is an error, using fewer a note. A `--nnodes` that
contradicts the size of the group of pods is a warning.

## Why it matters

With too few GPUs the workers die at once; on several nodes the others wait for them until a time-out.

## What to do

Change the sizes or the request, so that both say the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck.scan.model import SLURM_NODES, SLURM_TOTAL
from sgcheck_rules.checks.support import known_int

META = Meta(
    "parallel-size",
    "Parallel sizes do not fit the GPUs",
    "error",
    "proved",
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
    command: [python3, -m, sglang.launch_server, --model-path, Qwen/Qwen3-8B, {flags}]
    resources:
      limits:
        nvidia.com/gpu: {gpus}
"""

BAD = (
    Example(
        "pod.yaml", _POD.format(flags='«--tp, "8"»', gpus="4"), expect=("needs 8 GPUs a node",)
    ),
)

GOOD = (Example("pod.yaml", _POD.format(flags='--tp, "4"', gpus="4")),)


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """At most one finding about GPUs and one about nodes."""
    if subject.table is None or subject.launch.role == "router":
        return
    yield from _nodes(subject, find)
    yield from _gpus(subject, find)


def _nodes(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    use, stated = subject.use_of("nnodes"), subject.launch.nodes
    nodes = known_int(subject, "nnodes")
    if use is None or nodes is None or stated is None or stated.value in (None, nodes):
        return
    if stated.source == SLURM_NODES and stated.value is not None and nodes < stated.value:
        return  # a job may hold several servers
    yield find.finding(
        f"--nnodes is {nodes}, but {stated.source} gives {stated.value}",
        at=use.span,
        key=("nodes", str(nodes), str(stated.value)),
        severity="warning",
        related=[(stated.span, f"{stated.source}: {stated.value}")],
    )


def _gpus(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    stated = subject.launch.gpus
    if stated is not None and stated.source == SLURM_TOTAL and _several_nodes(subject):
        return
    needed = gpus_per_node(subject)
    if stated is None or not stated.value or needed is None or needed == stated.value:
        return
    uses = [subject.use_of(dest) for dest in ("tp_size", "pp_size", "dp_size", "nnodes")]
    spans = [use.span for use in uses if use is not None]
    more = needed > stated.value
    gpus = "GPU" if needed == 1 else "GPUs"
    message = (
        f"the launch needs {needed} {gpus} a node, but {stated.source} gives {stated.value}"
        if more
        else f"the launch uses {needed} of the {stated.value} GPUs that {stated.source} gives"
    )
    yield find.finding(
        message,
        at=spans[0] if spans else subject.head,
        key=("gpus", str(needed), str(stated.value)),
        severity="error" if more else "note",
        confidence="proved" if not subject.command.open else "likely",
        related=[(stated.span, f"{stated.source}: {stated.value}")],
    )


def _several_nodes(subject: Subject) -> bool:
    stated = subject.launch.nodes
    own = known_int(subject, "nnodes")
    return own != 1 or (stated is not None and stated.value != 1)


def gpus_per_node(subject: Subject) -> int | None:
    """The GPUs that each node needs; None where a size is known only at run time."""
    if subject.command.open:
        return None
    tp, pp, dp = (known_int(subject, name) for name in ("tp_size", "pp_size", "dp_size"))
    if tp is None or pp is None or dp is None:
        return None
    nodes: int | None = known_int(subject, "nnodes")
    stated = subject.launch.nodes
    if subject.use_of("nnodes") is None or nodes is None:
        # A launcher may add the flag itself: then only a number of nodes in the file tells.
        if stated is not None:
            nodes = stated.value
        elif subject.launch.gpus is not None and "per_node" in subject.launch.gpus.source:
            nodes = None
    if not nodes:
        return None
    ranks = tp * pp
    if dp > 1 and not _attention_is_parallel(subject):
        ranks *= dp
    return -(-ranks // nodes) + (known_int(subject, "base_gpu_id") or 0)


def _attention_is_parallel(subject: Subject) -> bool:
    """Whether data parallelism happens inside of the tensor-parallel group."""
    if subject.decided("enable_dp_attention") is True:
        return True
    names = ("--enable-dp-attention", "--attn-dp-size", "--attention-data-parallel-size")
    return bool(subject.command.of(*names))
