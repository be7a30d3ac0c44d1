"""Small faces of packages that are there only if they are installed: NVML, the kernel package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sgcheck.world.facade import Facade, ForeignObject, not_modelled
from sgcheck.world.target import TargetSpec
from sgcheck.world.unknown_inputs import gpu_count

_SCALAR_TYPES = (
    "int4", "uint4", "int8", "uint8", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
    "float16_e8m7", "float16_e5m10", "float6_e3m2f", "float6_e2m3f", "float4_e2m1f",
    "uint2b2", "uint3b4", "uint4b8", "uint8b128",
)  # fmt: skip
_SCALAR_ALIASES = {"bfloat16": "float16_e8m7", "float16": "float16_e5m10"}


class NVMLError(Exception):
    """`pynvml.NVMLError`."""

    __module__ = "pynvml"


class NVMLErrorNotSupported(NVMLError):
    """`pynvml.NVMLError_NotSupported`."""

    __module__ = "pynvml"


class ConfidentialSettings:
    """`pynvml.c_nvmlSystemConfComputeSettings_v1_t` of a machine without confidential computing."""

    __module__ = "pynvml"
    ccFeature = multiGpuMode = devToolsMode = environment = 0


def _pynvml(target: TargetSpec) -> Facade:
    """NVML as a machine with a driver answers: handles are the numbers of the devices."""

    def handle(index: int) -> int:
        if target.count is not None and not 0 <= index < target.count:
            raise NVMLError("Invalid Argument")
        return index

    def capability(device: int) -> Any:
        if target.capability is None:
            return not_modelled("pynvml.nvmlDeviceGetCudaComputeCapability()")
        return target.capability

    return Facade(
        "pynvml",
        {
            "NVMLError": NVMLError,
            "NVMLError_NotSupported": NVMLErrorNotSupported,
            # Confidential computing is off.
            "c_nvmlSystemConfComputeSettings_v1_t": ConfidentialSettings,
            "nvmlSystemGetConfComputeSettings": lambda settings: 0,
            "_nvmlCheckReturn": lambda code: None,
            "NVML_CC_SYSTEM_FEATURE_ENABLED": 1,
            "NVML_CC_SYSTEM_MULTIGPU_PROTECTED_PCIE": 1,
            "nvmlInit": lambda: None,
            "nvmlShutdown": lambda: None,
            "nvmlDeviceGetCount": lambda: gpu_count(target),
            "nvmlDeviceGetHandleByIndex": handle,
            "nvmlDeviceGetCudaComputeCapability": capability,
        },
    )


def _scalar_type(target: TargetSpec) -> Facade:
    """The quantized number formats of the kernels: objects that differ, and that can be looked up."""
    name = "sgl_kernel.scalar_type"
    formats = {n: ForeignObject(f"{name}.scalar_types.{n}") for n in _SCALAR_TYPES}
    formats.update({alias: formats[n] for alias, n in _SCALAR_ALIASES.items()})
    return Facade(name, {"scalar_types": Facade(f"{name}.scalar_types", dict(formats))})


_MAKERS: dict[str, Callable[[TargetSpec], Facade]] = {
    "pynvml": _pynvml,
    "sgl_kernel.scalar_type": _scalar_type,
}


def build(name: str, target: TargetSpec) -> Facade:
    """The module `name` of an installed package: modelled, or one of which nothing is known."""
    maker = _MAKERS.get(name)
    if maker is not None:
        return maker(target)
    return Facade(name, names_of(name, target))


def names_of(name: str, target: TargetSpec) -> dict[str, Any]:
    """Names of a module that are modelled, whatever else it has."""
    if name == "deep_gemm":
        return {"get_num_sms": lambda: target.sms, "set_num_sms": lambda count: None}
    return {}
