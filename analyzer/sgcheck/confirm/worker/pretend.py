"""A machine that is only pretended: torch, triton and NVML answer as the target's would."""

from __future__ import annotations

import importlib
import re
import socket
import types
from collections.abc import Callable
from typing import Any, cast


def pretend_machine(machine: dict[str, Any], torch_version: str | None) -> None:
    """Let torch, triton and NVML answer as the target's would."""
    torch: Any = importlib.import_module("torch")
    cuda: Any = torch.cuda
    state = {"initialised": False}
    total, free = machine["total_memory"], machine["free_memory"]
    capability = tuple(machine["capability"])
    properties = types.SimpleNamespace(
        name=machine["name"],
        major=capability[0],
        minor=capability[1],
        total_memory=total,
        multi_processor_count=machine["sms"],
        max_threads_per_multi_processor=machine["max_threads_per_multiprocessor"],
        shared_memory_per_block=48 * 1024,
        shared_memory_per_block_optin=machine["shared_memory_per_block_optin"],
        shared_memory_per_multiprocessor=machine["shared_memory_per_multiprocessor"],
        regs_per_multiprocessor=65536,
        warp_size=32,
        is_integrated=int(machine["integrated"]),
        is_multi_gpu_board=0,
        L2_cache_size=50 * 1024 * 1024,
        gcnArchName=machine["name"],
        uuid="00000000-0000-0000-0000-000000000000",
    )

    def asked(value: Any) -> Callable[..., Any]:
        """An answer for which CUDA has to be initialised."""

        def answer(*_: Any, **__: Any) -> Any:
            state["initialised"] = True
            return value

        return answer

    def constant(value: Any) -> Callable[..., Any]:
        return lambda *_, **__: value

    answers = {
        "is_available": constant(True),
        "device_count": constant(machine["count"]),
        "is_initialized": lambda: state["initialised"],
        "init": asked(None),
        "_lazy_init": asked(None),
        "_is_compiled": constant(True),
        "current_device": asked(0),
        "set_device": asked(None),
        "synchronize": constant(None),
        "empty_cache": constant(None),
        "get_device_capability": asked(capability),
        "get_device_name": asked(machine["name"]),
        "get_device_properties": asked(properties),
        "mem_get_info": asked((free, total)),
        "memory_allocated": constant(0),
        "memory_reserved": constant(0),
        "is_bf16_supported": constant(capability[0] >= 8),
        "can_device_access_peer": constant(True),
    }
    for name, answer in answers.items():
        setattr(cuda, name, answer)
    for holder, name in (
        (torch._C, "_cuda_getCurrentRawStream"),
        (torch._C, "_cuda_getDeviceCount"),
        (torch._C, "_cuda_getDevice"),
    ):
        if not hasattr(holder, name):
            setattr(holder, name, constant(0))
    cpu = getattr(torch._C, "_cpu", None)
    if cpu is not None and not hasattr(cpu, "_is_amx_tile_supported"):
        cpu._is_amx_tile_supported = constant(False)
    version: Any = torch.version
    version.cuda, version.hip = machine["cuda"], None
    if torch_version is not None:
        torch.__version__ = type(torch.__version__)(torch_version)
        version.__version__ = torch_version
    torch.backends.cudnn.version = constant(machine["cudnn"])
    torch.backends.cudnn.is_available = constant(True)
    torch.backends.cuda.is_built = constant(True)
    accelerator: Any = getattr(torch, "accelerator", None)
    if accelerator is not None:
        accelerator.is_available = constant(True)
        accelerator.device_count = constant(machine["count"])
        accelerator.current_accelerator = constant(torch.device("cuda"))
        accelerator.current_device_index = constant(0)
    _pretend_triton(machine, capability)
    _silence_nvml()


def _pretend_triton(machine: dict[str, Any], capability: tuple[int, ...]) -> None:
    try:
        torch: Any = importlib.import_module("torch")
        runtime: Any = importlib.import_module("triton.runtime")
        compiler: Any = importlib.import_module("triton.backends.compiler")
    except Exception:
        return
    facts = {
        "max_shared_mem": machine["shared_memory_per_block_optin"],
        "multiprocessor_count": machine["sms"],
    }
    facts.update(
        warpSize=32, max_num_regs=65536, sm_clock_rate=1, mem_clock_rate=1, mem_bus_width=1
    )
    target = compiler.GPUTarget("cuda", capability[0] * 10 + capability[1], 32)

    class Driver:
        """An active CUDA driver that never launches anything."""

        def get_current_target(self) -> Any:
            return target

        def get_current_device(self) -> int:
            return 0

        def get_current_stream(self, _: int = 0) -> int:
            return 0

        def get_active_torch_device(self) -> Any:
            return torch.device("cuda", 0)

        def get_device_interface(self) -> Any:
            return torch.cuda

        def is_active(self) -> bool:
            return True

        def map_python_to_cpp_type(self, kind: str) -> str:
            return kind

        def get_benchmarker(self) -> Any:
            return lambda *_, **__: 0.0

        utils = types.SimpleNamespace(get_device_properties=lambda *_: facts)

    runtime.driver.set_active(Driver())


def _silence_nvml() -> None:
    try:
        pynvml: Any = importlib.import_module("pynvml")
    except Exception:
        return

    def unavailable(*_: Any) -> Any:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    pynvml.nvmlInit = pynvml.nvmlInitWithFlags = unavailable


def close_network() -> None:
    """No connection leaves the host."""
    connect = socket.socket.connect

    def local_only(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = str(address[0])
            if not (host.startswith("127.") or host in ("::1", "localhost", "0.0.0.0")):
                raise OSError("a simulation has no network")
        return connect(self, address)

    cast(Any, socket.socket).connect = local_only
    lookup = socket.getaddrinfo

    def local_lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host not in (None, "", "localhost", socket.gethostname()) and not re.fullmatch(
            r"[\d.]+|[\da-fA-F:]+", str(host)
        ):
            raise socket.gaierror(socket.EAI_NONAME, "a simulation has no network")
        return lookup(host, *args, **kwargs)

    cast(Any, socket).getaddrinfo = local_lookup
