"""A machine of which something is not known: `--arch any`, `--gpu-count ?`, `--cuda ?`.

Such a target holds every machine that it may be. Each is a whole `TargetSpec`, so that facts that
belong together (an architecture's memory, its multiprocessors, its CUDA versions) stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from sgcheck.errors import UsageError
from sgcheck.world.target import TargetSpec, resolve_target, target_from_case
from sgcheck_rules import machines

ANY = "any"
OPEN_WORDS = ("?", ANY)
"""How a user says that a part of the machine is not known."""

MAX_OPEN_COUNT = 16
"""`--gpu-count ?` stands for 1 to this many GPUs: no machine that SGLang runs on holds more."""

_FIRST_CUDA = "12.4"
"""`--cuda ?` starts here: no release that can be read was built for an older one."""

_SHARED = ("capability", "gpu_name", "memory_mib", "count", "sms", "shared_memory", "integrated", "cuda", "cudnn")  # fmt: skip


def is_open(word: object) -> bool:
    """Whether a word says that a part of the machine is not known."""
    return isinstance(word, str) and word.strip().lower() in OPEN_WORDS


def open_target(
    arch: str | None,
    gpu: str | None,
    gpu_count: int | str | None = None,
    gpu_memory: int | None = None,
    cuda: str | None = None,
) -> TargetSpec:
    """As `resolve_target`; `arch`, `gpu_count` and `cuda` may be `?` (the architecture also `any`).

    With a GPU named, its architecture is known and `any` only repeats that. Raises UsageError as
    `resolve_target` does, and for a count that is neither a number nor `?`.
    """
    count = _count(gpu_count)
    if arch is not None and is_open(arch) and gpu is not None:
        arch = None
    known_count = None if is_open(gpu_count) else count
    return _assembled(
        arch,
        cuda,
        is_open(gpu_count),
        lambda name, version: resolve_target(name, gpu, known_count, gpu_memory, version),
    )


def open_target_from_case(case: Mapping[str, object]) -> TargetSpec:
    """As `target_from_case`; `arch`, `gpu.count` and `cuda` may be `"?"` (`arch` also `"any"`)."""
    gpu = case.get("gpu")
    count = gpu.get("count") if isinstance(gpu, Mapping) else None
    arch, cuda = case.get("arch"), case.get("cuda")
    if not any(map(is_open, (arch, cuda, count))):
        return target_from_case(case)
    if is_open(arch) and isinstance(gpu, Mapping) and gpu.get("name") is not None:
        arch = None
    base = {key: value for key, value in case.items() if key not in ("arch", "cuda", "gpu")}
    if isinstance(gpu, Mapping):
        base["gpu"] = {k: v for k, v in gpu.items() if k != "count" or not is_open(v)}
    return _assembled(
        arch if isinstance(arch, str) else None,
        cuda if isinstance(cuda, str) else None,
        is_open(count),
        lambda name, version: target_from_case({**base, "arch": name, "cuda": version}),
    )


def _count(text: int | str | None) -> int | None:
    if text is None or isinstance(text, int) or is_open(text):
        return None if isinstance(text, str) else text
    try:
        return int(text)
    except ValueError:
        raise UsageError(
            f"--gpu-count {text}: give a number, or ? where it is not known."
        ) from None


def _assembled(
    arch: str | None,
    cuda: str | None,
    open_count: bool,
    make: Callable[[str | None, str | None], TargetSpec],
) -> TargetSpec:
    open_arch, open_cuda = is_open(arch), is_open(cuda)
    names: tuple[str | None, ...] = machines.all_architectures() if open_arch else (arch,)
    found: list[TargetSpec] = []
    for name in names:
        if not open_cuda:
            found.append(make(name, cuda))
            continue
        plain = make(name, None)
        if not plain.modelled:
            found.append(plain)
            continue
        found.extend(make(name, version) for version in _versions(plain.arch))
    unknown = {
        word
        for word, is_unknown in (("arch", open_arch), ("cuda", open_cuda), ("count", open_count))
        if is_unknown
    }
    if open_count:
        found = [
            replace(machine, count=None, unknown=frozenset({"count"}))
            if machine.modelled
            else machine
            for machine in found
        ]
    if not unknown or not all(machine.modelled for machine in found):
        return found[0]
    return _union(found, frozenset(unknown))


def _versions(arch: str) -> list[str]:
    """CUDA versions that have code for an architecture, oldest first."""
    facts = machines.architectures()[arch]
    key = machines.version_key
    first = max(key(facts.min_cuda), key(_FIRST_CUDA))
    end = facts.removed_in_cuda
    return [
        version
        for version in machines.cuda_versions()
        if key(version) >= first and (end is None or key(version) < key(end))
    ]


def _union(found: list[TargetSpec], unknown: frozenset[str]) -> TargetSpec:
    first = found[0]
    shared: dict[str, Any] = {}
    for name in _SHARED:
        values = {getattr(machine, name) for machine in found}
        shared[name] = values.pop() if len(values) == 1 else None
    notes: list[str] = []
    if "arch" in unknown:
        names = ", ".join(dict.fromkeys(machine.arch for machine in found))
        notes.append(
            f"Any architecture stands for {names}, each with its usual GPU (docs/assumptions.md)."
        )
    if "cuda" in unknown:
        versions = sorted({m.cuda for m in found if m.cuda}, key=machines.version_key)
        notes.append(f"Any CUDA version stands for those from {versions[0]} to {versions[-1]} that have code for the GPU.")  # fmt: skip
    if "count" in unknown:
        notes.append(f"Any GPU count stands for 1 to {MAX_OPEN_COUNT}.")
    return replace(
        first,
        **shared,
        arch=ANY if "arch" in unknown else first.arch,
        origins=(),
        notes=tuple(notes),
        unknown=unknown,
        machines=tuple(found),
    )
