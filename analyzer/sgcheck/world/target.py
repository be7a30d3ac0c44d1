"""The machine predicted for: from the user's options, or from a case object, to a `TargetSpec`.

Each value says where it came from (`TargetSpec.origin`): the option that gave it, the GPU or the
architecture whose default it is. Nothing of the machine that sgcheck itself runs on enters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, overload

from msgspec import Struct

from sgcheck.errors import UsageError
from sgcheck.resolve.resolution import Gpu, Target
from sgcheck.world import target_names
from sgcheck_rules import machines

_MAX_COUNT = 1024
_MIN_MEMORY_MIB = 1024
_MAX_MEMORY_MIB = 4 * 1024 * 1024
_MIB = 1024 * 1024

FREE_MEMORY_SHARE = 0.993
"""Share of the memory that an idle GPU reports as free; the rest is the driver's."""


class CudaProperties(Struct, frozen=True):
    """What the CUDA runtime says of one device of the target. Memory sizes in bytes."""

    capability: tuple[int, int]
    name: str
    total_memory: int
    free_memory: int
    sms: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    max_threads_per_multiprocessor: int
    integrated: bool


class TargetSpec(Struct, frozen=True):
    """One machine.

    `arch` is `sm120`, `gfx942`, `cpu`, …; everything from `capability` on is None where the
    platform is not CUDA (`modelled` is False then: every answer is unknown(target-not-modelled)).
    `memory_mib` is MiB per GPU, `shared_memory` the opt-in bytes per block, `cudnn` the number
    that `torch.backends.cudnn.version()` returns. `notes` are sentences for the user.
    `unknown` names what is not known of it (`arch`, `cuda`, `count`); `machines` then are all the
    machines that it may be (empty where only the count is unknown), and a field on which they
    differ is None.
    """

    arch: str
    platform: machines.Platform
    modelled: bool
    capability: tuple[int, int] | None = None
    gpu_name: str | None = None
    memory_mib: int | None = None
    count: int | None = None
    sms: int | None = None
    shared_memory: int | None = None
    integrated: bool | None = None
    cuda: str | None = None
    cudnn: int | None = None
    origins: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    unknown: frozenset[str] = frozenset()
    machines: tuple[TargetSpec, ...] = ()

    def origin(self, field: str) -> str | None:
        """Where a field's value came from: `option --gpu`, `default for sm120`, …"""
        return dict(self.origins).get(field)

    @property
    def nvidia_smi_memory(self) -> str | None:
        """What `nvidia-smi --query-gpu=memory.total` prints per GPU, without the unit."""
        if self.memory_mib is None:
            return None
        return "[N/A]" if self.integrated else str(self.memory_mib)

    def cuda_properties(self) -> CudaProperties:
        """The device properties of a CUDA target; UsageError for any other."""
        if (
            self.capability is None
            or self.gpu_name is None
            or self.memory_mib is None
            or self.sms is None
        ):
            raise UsageError(f"`{self.arch}` is no CUDA target: it has no CUDA device properties.")
        arch = machines.architectures()[self.arch]
        total = self.memory_mib * _MIB
        return CudaProperties(
            capability=self.capability,
            name=self.gpu_name,
            total_memory=total,
            free_memory=int(total * FREE_MEMORY_SHARE),
            sms=self.sms,
            shared_memory_per_block_optin=arch.shared_memory_per_block_optin,
            shared_memory_per_multiprocessor=arch.shared_memory_per_multiprocessor,
            max_threads_per_multiprocessor=arch.max_threads_per_multiprocessor,
            integrated=arch.integrated,
        )

    def to_target(self) -> Target:
        """The part that is reported with every answer; a value that is not known is empty or 0."""
        gpu = Gpu(self.gpu_name or "", self.memory_mib or 0, self.count or 0)
        return Target(self.arch, gpu, self.cuda or "", tuple(sorted(self.unknown)))


@overload
def resolve_target(
    arch: str | None,
    gpu: str | None,
    gpu_count: int | None = ...,
    gpu_memory: int | None = ...,
    cuda: str | None = ...,
    *,
    cudnn: int | None = ...,
    required: Literal[True] = ...,
) -> TargetSpec: ...


@overload
def resolve_target(
    arch: str | None,
    gpu: str | None,
    gpu_count: int | None = ...,
    gpu_memory: int | None = ...,
    cuda: str | None = ...,
    *,
    cudnn: int | None = ...,
    required: bool,
) -> TargetSpec | None: ...


def resolve_target(
    arch: str | None,
    gpu: str | None,
    gpu_count: int | None = None,
    gpu_memory: int | None = None,
    cuda: str | None = None,
    *,
    cudnn: int | None = None,
    required: bool = True,
) -> TargetSpec | None:
    """The target of `--arch --gpu --gpu-count --gpu-memory --cuda`; `gpu_memory` in MiB.

    `required=False` gives None where no option at all was given (for commands that can go
    without a target). Raises UsageError for unknown names, conflicts and impossible numbers.
    """
    if arch is None and gpu is None:
        given = _first_given(
            (("--gpu-count", gpu_count), ("--gpu-memory", gpu_memory), ("--cuda", cuda))
        )
        if given is not None:
            raise UsageError(f"{given} needs a machine: add --gpu NAME or --arch NAME.")
        if not required:
            return None
        raise UsageError(
            "No machine to predict for: say --gpu NAME (such as rtx-pro-6000, b200, h200) or --arch"
            " NAME (such as sm120, sm100, sm90)."
        )
    other = _other_platform(arch, gpu)
    if other is not None:
        return _not_modelled(other, gpu, gpu_count, gpu_memory, cuda)
    model = target_names.gpu_named(gpu) if gpu is not None else None
    name = target_names.architecture_named(arch) if arch is not None else None
    _check_pair(name, model, "--arch", "--gpu")
    origins = {"arch": "option --arch" if name is not None else "option --gpu"}
    return _build(
        arch=name or (model.arch if model else ""),
        model=model,
        model_origin="option --gpu",
        gpu_name=None,
        memory=(gpu_memory, "option --gpu-memory"),
        count=(gpu_count, "option --gpu-count"),
        cuda=(cuda, "option --cuda"),
        cudnn=(cudnn, "option --cudnn"),
        sms=(None, ""),
        origins=origins,
    )


def target_from_case(case: Mapping[str, object]) -> TargetSpec:
    """The target of one batch object: `arch`, `gpu` {`name`, `memory_mib`, `count`}, `cuda`, `cudnn`.

    A GPU name that sgcheck does not know is taken as given when the case names the
    architecture; the name is always passed on as written, since SGLang compares it as text.
    Raises UsageError where a value has the wrong type, is impossible or contradicts another.
    """
    gpu = case.get("gpu")
    if gpu is None:
        gpu = {}
    if not isinstance(gpu, Mapping):
        raise UsageError(
            '"gpu" in the case must be an object such as {"name": …, "memory_mib": …, "count": …}.'
        )
    arch = _text(case, "arch")
    name = _text(gpu, "name")
    cuda = _text(case, "cuda")
    if arch is None and name is None:
        raise UsageError('The case names no machine: add "arch" or "gpu" {"name": …}.')
    other = _other_platform(arch, name)
    memory, count = _number(gpu, "memory_mib"), _number(gpu, "count")
    if other is not None:
        return _not_modelled(other, name, count, memory, cuda)
    known = machines.find_gpu(name) if name is not None else None
    if arch is None:
        known = target_names.gpu_named(name or "")
    canonical = target_names.architecture_named(arch) if arch is not None else None
    _check_pair(canonical, known, '"arch"', '"gpu"')
    return _build(
        arch=canonical or (known.arch if known else ""),
        model=known,
        model_origin="case",
        gpu_name=name,
        memory=(memory, "case"),
        count=(count, "case"),
        cuda=(cuda, "case"),
        cudnn=(_number(case, "cudnn"), "case"),
        sms=(_number(gpu, "sms"), "case"),
        origins={"arch": "case"},
    )


def parse_arch_list(text: str) -> tuple[str, ...]:
    """`sm90,sm120` -> canonical names without repeats; `all` -> every current one.

    `any` (one answer for an architecture that is not known) is no part of a list.

    Families stand for one architecture only where they have one (`hopper`); names of platforms
    that are not modelled (`gfx942`, `cpu`) stay in the list.
    """
    names: list[str] = []
    for part in text.split(","):
        word = part.strip()
        if not word:
            raise UsageError(f"`{text}` has an empty place: write --arch sm90,sm120.")
        if word.lower() in ("any", "?"):
            raise UsageError(
                f"`{text}`: {word} stands for an architecture that is not known, so it stands alone;"
                " `all` gives one answer for each."
            )
        if word.lower() == "all":
            names.extend(machines.all_architectures())
            continue
        other = machines.other_platforms().get(machines.squeeze(word))
        names.append(other.name if other else target_names.architecture_named(word))
    return tuple(dict.fromkeys(names))


_Given: TypeAlias = tuple[int | None, str]


def _build(
    *,
    arch: str,
    model: machines.GpuModel | None,
    model_origin: str,
    gpu_name: str | None,
    memory: _Given,
    count: _Given,
    cuda: tuple[str | None, str],
    cudnn: _Given,
    sms: _Given,
    origins: dict[str, str],
) -> TargetSpec:
    facts = machines.architectures()[arch]
    stated = model is not None or gpu_name is not None
    card = model or machines.gpus()[facts.default_gpu]
    of_card = f"default for {card.key}" if model is not None else f"default for {arch}"
    origins["gpu_name"] = model_origin if stated else f"default for {arch}"
    version, cuda_origin, notes = _cuda(facts, *cuda)
    origins["cuda"] = cuda_origin
    values = {
        "memory_mib": _check_memory(memory[0]),
        "count": _check_count(count[0]),
        "sms": _check_positive(sms[0], "sms"),
        "cudnn": _check_positive(cudnn[0], "cudnn"),
    }
    given = {"memory_mib": memory, "count": count, "sms": sms, "cudnn": cudnn}
    defaults = {
        "memory_mib": card.memory_mib,
        "count": card.count,
        # A card that is not in the table has the multiprocessors of its architecture's profile.
        "sms": card.sms if model is not None or not stated else facts.sms,
        "cudnn": machines.default_cudnn(),
    }
    chosen: dict[str, int] = {}
    for field, value in values.items():
        chosen[field] = defaults[field] if value is None else value
        default_origin = "default" if field == "cudnn" else of_card
        origins[field] = default_origin if value is None else given[field][1]
    if card.host is not None and (model is not None or not stated):
        notes.append(
            f"{card.device_name} comes with an {card.host} host; the installed packages are taken"
            " as on x86-64."
        )
    return TargetSpec(
        arch=arch,
        platform="cuda",
        modelled=True,
        capability=facts.capability,
        gpu_name=gpu_name if gpu_name is not None else card.device_name,
        memory_mib=chosen["memory_mib"],
        count=chosen["count"],
        sms=chosen["sms"],
        shared_memory=facts.shared_memory_per_block_optin,
        integrated=facts.integrated,
        cuda=version,
        cudnn=chosen["cudnn"],
        origins=tuple(sorted(origins.items())),
        notes=tuple(notes),
    )


def _cuda(
    facts: machines.Architecture, given: str | None, origin: str
) -> tuple[str, str, list[str]]:
    """The CUDA version, where it came from, and what is to be said about it."""
    if given is None:
        version = machines.default_cuda()
        removed = facts.removed_in_cuda
        if removed is not None and machines.version_key(version) >= machines.version_key(removed):
            older = [
                name
                for name in machines.cuda_versions()
                if machines.version_key(name) < machines.version_key(removed)
            ]
            return older[-1], f"default for {facts.name}", []
        return version, "default", []
    version = target_names.cuda_named(given)
    key = machines.version_key(version)
    notes: list[str] = []
    if version not in machines.cuda_versions():
        newest = list(machines.cuda_versions())[-1]
        notes.append(f"CUDA {version} is newer than {newest}, the newest that sgcheck knows.")
    if key < machines.version_key(facts.min_cuda):
        notes.append(
            f"CUDA {version} has no code for {facts.name}: {facts.min_cuda} is the first that has."
            " The prediction is what SGLang would do there."
        )
    removed = facts.removed_in_cuda
    if removed is not None and key >= machines.version_key(removed):
        notes.append(f"CUDA {version} has no code for {facts.name} any more: {removed} removed it.")
    return version, origin, notes


def _other_platform(arch: str | None, gpu: str | None) -> machines.OtherPlatform | None:
    """The platform that is not CUDA, if one is named; UsageError if only one of two names is so."""
    of_arch = machines.other_platforms().get(machines.squeeze(arch)) if arch is not None else None
    of_gpu = machines.other_platforms().get(machines.squeeze(gpu)) if gpu is not None else None
    nvidia = machines.find_gpu(gpu) if gpu is not None else None
    if of_arch is not None:
        clash = nvidia is not None or (of_gpu is not None and of_gpu.platform != of_arch.platform)
    else:
        clash = of_gpu is not None and arch is not None
    if clash:
        what = f"`{gpu}` ({nvidia.arch})" if nvidia is not None else f"`{gpu}`"
        raise UsageError(f"{what} and `{arch}` contradict each other: leave one of the two out.")
    if of_arch is not None and of_gpu is not None:
        # `rocm` with `mi300x`: the more exact of the two.
        return of_gpu if of_arch.name == of_arch.platform else of_arch
    return of_arch or of_gpu


def _not_modelled(
    other: machines.OtherPlatform,
    gpu: str | None,
    count: int | None,
    memory: int | None,
    cuda: str | None,
) -> TargetSpec:
    if cuda is not None:
        raise UsageError(f"`{other.name}` runs no CUDA: leave the CUDA version out.")
    return TargetSpec(
        arch=other.name,
        platform=other.platform,
        modelled=False,
        gpu_name=gpu,
        memory_mib=_check_memory(memory),
        count=_check_count(count),
        notes=(f"`{other.name}` is not modelled: only CUDA targets are predicted.",),
    )


def _check_pair(
    arch: str | None, gpu: machines.GpuModel | None, arch_word: str, gpu_word: str
) -> None:
    if arch is not None and gpu is not None and gpu.arch != arch:
        raise UsageError(
            f"{gpu_word} {gpu.device_name} is {gpu.arch}, but {arch_word} says {arch}:"
            " leave one of the two out."
        )


def _check_count(count: int | None) -> int | None:
    if count is not None and not 1 <= count <= _MAX_COUNT:
        raise UsageError(f"A machine has 1 to {_MAX_COUNT} GPUs, not {count}.")
    return count


def _check_memory(memory: int | None) -> int | None:
    if memory is None or _MIN_MEMORY_MIB <= memory <= _MAX_MEMORY_MIB:
        return memory
    hint = f" ({memory} GiB is {memory * 1024} MiB)" if 0 < memory < _MIN_MEMORY_MIB else ""
    raise UsageError(
        f"GPU memory is given in MiB, {_MIN_MEMORY_MIB} to {_MAX_MEMORY_MIB}, not {memory}{hint}."
    )


def _check_positive(value: int | None, what: str) -> int | None:
    if value is not None and value <= 0:
        raise UsageError(f"{what} must be a positive number, not {value}.")
    return value


def _first_given(options: tuple[tuple[str, object], ...]) -> str | None:
    return next((name for name, value in options if value is not None), None)


def _text(source: Mapping[str, object], key: str) -> str | None:
    value = source.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f'"{key}" in the case must be text, not {value!r}.')
    return value


def _number(source: Mapping[str, object], key: str) -> int | None:
    value = source.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f'"{key}" in the case must be a whole number, not {value!r}.')
    return value
