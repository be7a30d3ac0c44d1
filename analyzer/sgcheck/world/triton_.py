"""triton: kernels are leaves, a launch is recorded with the line that makes it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.unknown import Unknown
from sgcheck.world.facade import Facade
from sgcheck.world.tensors.recorder import record
from sgcheck.world.tensors.tensor import Tensor, written

_VERSIONS = {
    "2.6": "3.2.0", "2.7": "3.3.1", "2.8": "3.4.0", "2.9.0": "3.5.0", "2.9": "3.5.1", "2.10": "3.6.0", "2.11": "3.6.0", "2.13": "3.7.1", "2.14": "3.8.0",
}  # fmt: skip
"""The triton that a release of torch requires for Linux on x86-64, from its wheel's metadata."""


def version_for(torch: str) -> Any:
    """The version of triton beside a torch, or an unknown."""
    release = torch.partition("+")[0]
    for known in (release, ".".join(release.split(".")[:2])):
        if known in _VERSIONS:
            return _VERSIONS[known]
    return Unknown(Reason("package-version-not-known(triton)"), "triton.__version__")


class Kernel:
    """A function under `@triton.jit`, and what autotuning and heuristics make of it."""

    def __init__(self, function: Any) -> None:
        inner: Any = function
        while isinstance(inner, Kernel):
            inner = inner.fn
        function = inner
        self.fn: Any = inner
        self.__name__ = getattr(function, "__name__", "kernel")
        self.__qualname__ = self.__name__
        self.__module__ = getattr(function, "__module__", "triton")
        self.__doc__ = None

    def __getitem__(self, grid: Any) -> Any:
        return self.run

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """A launch: what it writes to is not known any more."""
        record(f"triton:{self.__module__}.{self.__name__}", args, kwargs)
        for value in (*args, *kwargs.values()):
            if isinstance(value, Tensor):
                written(value)
        return Unknown(Reason("not-modelled(triton launch)"), "a compiled kernel")

    def warmup(self, *args: Any, **kwargs: Any) -> Any:
        """Compiles only."""
        return Unknown(Reason("not-modelled(triton launch)"), "a compiled kernel")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")

    def __repr__(self) -> str:
        return f"JITFunction({self.__module__}:{self.__name__})"


class Config:
    """`triton.Config`."""

    __module__ = "triton"

    def __init__(self, kwargs: Any, num_warps: int = 4, num_stages: int = 3, **other: Any) -> None:
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages
        self.__dict__.update(other)


class _Constexpr:
    """`tl.constexpr`: a value of the compiler."""

    __module__ = "triton.language"

    def __init__(self, value: Any = None) -> None:
        self.value = value


def _jit(*args: Any, **kwargs: Any) -> Any:
    if args and callable(args[0]):
        return Kernel(args[0])
    return Kernel


def _decorator(*args: Any, **kwargs: Any) -> Any:
    return Kernel


def build(capability: tuple[int, int] | None, version: Any) -> dict[str, Facade]:
    """Facades by module name."""
    major, minor = capability or (0, 0)
    target = SimpleNamespace(backend="cuda", arch=major * 10 + minor, warp_size=32)
    active = SimpleNamespace(
        get_current_target=lambda: target, get_current_device=lambda: 0, utils=None
    )
    driver = SimpleNamespace(active=active)
    jit = Facade("triton.runtime.jit", {"JITFunction": Kernel, "KernelInterface": Kernel})
    runtime = Facade("triton.runtime", {"driver": driver, "jit": jit, "Autotuner": Kernel})
    language = Facade("triton.language", {"constexpr": _Constexpr})
    names = {
        "__version__": version, "jit": _jit, "autotune": _decorator, "heuristics": _decorator, "Config": Config, "JITFunction": Kernel,
        "language": language, "runtime": runtime, "set_allocator": lambda *a: None, "cdiv": lambda a, b: -(-a // b),
        "next_power_of_2": lambda n: 1 << (n - 1).bit_length() if n > 0 else 1,
    }  # fmt: skip
    return {
        "triton": Facade("triton", names),
        "triton.language": language,
        "triton.runtime": runtime,
        "triton.runtime.jit": jit,
    }
