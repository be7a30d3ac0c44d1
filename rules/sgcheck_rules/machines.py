"""Architectures, GPUs and CUDA versions: the facts in `data/`, typed.

Memory is in MiB as `nvidia-smi --query-gpu=memory.total` prints it (where that prints
`[N/A]`, as `torch.cuda.mem_get_info` reports it), shared memory in bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct

_DATA = Path(__file__).parent / "data"

Platform: TypeAlias = Literal["cuda", "rocm", "cpu", "npu", "xpu", "hpu", "musa", "mps"]


class Architecture(Struct, frozen=True):
    """One CUDA architecture. `removed_in_cuda` is the first CUDA version without code for it."""

    name: str
    family: str
    capability: tuple[int, int]
    sms: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    max_threads_per_multiprocessor: int
    integrated: bool
    min_cuda: str
    removed_in_cuda: str | None
    default_gpu: str
    source: str


class GpuModel(Struct, frozen=True):
    """One GPU product. `device_name` is what the CUDA runtime, and so torch, calls it.

    `count` is how many of them one usual machine holds; `host` is the processor of the machine
    it comes with (`None`: an x86-64 one or not fixed).
    """

    key: str
    device_name: str
    arch: str
    memory_mib: int
    memory_from: str
    sms: int
    count: int
    host: str | None
    aliases: tuple[str, ...]
    source: str


class OtherPlatform(Struct, frozen=True):
    """A target that is not CUDA: named so that it can be answered with `target-not-modelled`."""

    name: str
    platform: Platform


class CudaVersion(Struct, frozen=True):
    """One CUDA toolkit version and the cuBLAS that torch's wheels for it pin (None: not known)."""

    name: str
    cublas: str | None
    cublas_dist: str


def squeeze(name: str) -> str:
    """The spelling-free form in which names are compared: lower-case letters and digits only."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def version_key(version: str) -> tuple[int, ...]:
    """`"12.9"` -> `(12, 9)`, for comparing CUDA versions."""
    return tuple(int(part) for part in version.split("."))


def _read(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((_DATA / name).read_text(encoding="utf-8"))
    return loaded


@lru_cache(maxsize=1)
def _architecture_file() -> dict[str, Any]:
    return _read("architectures.json")


@lru_cache(maxsize=1)
def architectures() -> Mapping[str, Architecture]:
    """Every CUDA architecture that can be a target, by name, oldest first."""
    return {
        name: Architecture(
            name=name,
            family=facts["family"],
            capability=(facts["capability"][0], facts["capability"][1]),
            sms=facts["sms"],
            shared_memory_per_block_optin=facts["shared_memory_per_block_optin"],
            shared_memory_per_multiprocessor=facts["shared_memory_per_multiprocessor"],
            max_threads_per_multiprocessor=facts["max_threads_per_multiprocessor"],
            integrated=facts["integrated"],
            min_cuda=facts["min_cuda"],
            removed_in_cuda=facts.get("removed_in_cuda"),
            default_gpu=facts["default_gpu"],
            source=facts["source"],
        )
        for name, facts in _architecture_file()["architectures"].items()
    }


@lru_cache(maxsize=1)
def all_architectures() -> tuple[str, ...]:
    """What `--arch all` stands for: the architectures that current SGLang releases run on."""
    return tuple(_architecture_file()["all"])


@lru_cache(maxsize=1)
def families() -> Mapping[str, tuple[str, ...]]:
    """Squeezed family name (`hopper`, `blackwell`) -> its architectures."""
    return {name: tuple(archs) for name, archs in _architecture_file()["families"].items()}


@lru_cache(maxsize=1)
def refused_architectures() -> Mapping[str, str]:
    """Architectures that exist but cannot be a target -> why."""
    return dict(_architecture_file()["refused"])


@lru_cache(maxsize=1)
def other_platforms() -> Mapping[str, OtherPlatform]:
    """Squeezed name or alias -> a platform that is not CUDA."""
    found: dict[str, OtherPlatform] = {}
    for name, facts in _architecture_file()["other_platforms"].items():
        platform = OtherPlatform(name, facts["platform"])
        for spelling in (name, *facts["aliases"]):
            found[squeeze(spelling)] = platform
    return found


@lru_cache(maxsize=1)
def gpus() -> Mapping[str, GpuModel]:
    """Every GPU known by name."""
    return {
        key: GpuModel(
            key=key,
            device_name=facts["device_name"],
            arch=facts["arch"],
            memory_mib=facts["memory_mib"],
            memory_from=facts.get("memory_from", "nvidia-smi"),
            sms=facts["sms"],
            count=facts["count"],
            host=facts.get("host"),
            aliases=tuple(facts["aliases"]),
            source=facts["source"],
        )
        for key, facts in _read("gpus.json")["gpus"].items()
    }


_MAKER = re.compile(r"^(nvidia)?(geforce|tesla)?")


def _gpu_key(name: str) -> str:
    squeezed = squeeze(name)
    return _MAKER.sub("", squeezed) or squeezed


@lru_cache(maxsize=1)
def _gpu_index() -> Mapping[str, str]:
    index: dict[str, str] = {}
    for gpu in gpus().values():
        for spelling in (gpu.key, gpu.device_name, *gpu.aliases):
            index[_gpu_key(spelling)] = gpu.key
    return index


def find_gpu(name: str) -> GpuModel | None:
    """The GPU of that name, whatever its case, spaces, hyphens and maker's prefix."""
    key = _gpu_index().get(_gpu_key(name))
    return gpus()[key] if key is not None else None


@lru_cache(maxsize=1)
def cuda_versions() -> Mapping[str, CudaVersion]:
    """Every CUDA version known, oldest first."""
    return {
        name: CudaVersion(
            name, facts.get("cublas"), facts.get("cublas_dist", _cublas_dist(version_key(name)[0]))
        )
        for name, facts in _read("cuda.json")["versions"].items()
    }


def _cublas_dist(cuda_major: int) -> str:
    return "nvidia-cublas" if cuda_major >= 13 else f"nvidia-cublas-cu{cuda_major}"


@lru_cache(maxsize=1)
def default_cuda() -> str:
    """The CUDA version assumed when none is given."""
    return str(_read("cuda.json")["default"])


@lru_cache(maxsize=1)
def default_cudnn() -> int:
    """The cuDNN version assumed when none is given, as `torch.backends.cudnn.version()` says it."""
    return int(_read("cuda.json")["default_cudnn"])
