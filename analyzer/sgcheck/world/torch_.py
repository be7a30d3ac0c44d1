"""torch: the probes that SGLang asks, answered as the target machine would."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from sgcheck.interp import guards
from sgcheck.world.facade import Facade, ForeignObject, UnmodelledMeta, not_modelled
from sgcheck.world.target import TargetSpec
from sgcheck.world.tensors import (
    device_memory,
    factories,
    functional,
    operators,
    other_modules,
    torch_layers,
)
from sgcheck.world.tensors.distributed import PROCESSES
from sgcheck.world.tensors.dtypes import DEFAULTS, DTYPES, device, dtype, finfo, iinfo
from sgcheck.world.tensors.shapes import Size
from sgcheck.world.tensors.tensor import Tensor, written
from sgcheck.world.unknown_inputs import gpu_count


class Version(str):
    """`torch.__version__`: a string that compares as a version."""

    __slots__ = ()


class _PlaceholderMeta(UnmodelledMeta):
    """What a class of torch has besides its name is not known; the tree's own subclasses are."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_") or "_placeholder" not in cls.__dict__:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return not_modelled(f"torch.{cls.__name__}.{name}")


def _placeholder(name: str, kind: type[type] = _PlaceholderMeta) -> type:
    """A class that the tree may subclass or name in a type test; nothing here is an instance of it.

    `kind` is `type` for classes that the tree's own inherit together with others.
    """

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        return None

    return kind(
        name,
        (),
        {
            "__module__": "torch",
            "_placeholder": True,
            "__init__": init,
            "__init_subclass__": classmethod(lambda cls, **k: None),
        },
    )


def _identity_decorator(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and callable(args[0]) and not kwargs:
        return args[0]
    return lambda function: function


class _NoGrad:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, function: Any) -> Any:
        return function

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        return None


class _OpNamespace:
    """`torch.ops.<namespace>`: the operators that were registered there."""

    def __init__(self, name: str, complete: bool) -> None:
        self.__dict__["_name"], self.__dict__["_complete"] = name, complete

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or (
            self._complete and (self._name != "sgl_kernel" or "cpu" in name)
        ):
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        if self._complete:
            return ForeignObject(f"{self._name}.{name}", overloads=True)
        return not_modelled(f"torch.ops.{self._name}.{name}")


class TreeOperator:
    """An operator whose body the tree brings: called, the body runs."""

    def __init__(self, name: str, body: Any) -> None:
        self.__name__, self._body = name, body

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return guards.call(self._body, *args, **kwargs)

    @property
    def default(self) -> TreeOperator:
        return self


class _Ops:
    """`torch.ops`. The tree's own namespace holds what it registers; no other kernel has CPU operators here."""

    def __init__(self) -> None:
        self.__dict__["_spaces"] = {}

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        spaces: dict[str, _OpNamespace] = self.__dict__["_spaces"]
        if name not in spaces:
            spaces[name] = _OpNamespace(name, name in ("sglang", "sgl_kernel"))
        return spaces[name]

    def register(self, namespace: str, operator: str, body: Any = None) -> None:
        space = getattr(self, namespace).__dict__
        if body is not None:
            space[operator] = TreeOperator(operator, body)
        else:
            space.setdefault(operator, ForeignObject(f"torch.ops.{namespace}.{operator}"))


class CudaState:
    """`torch.cuda.is_initialized()` turns true with the first question to a device.

    A module's body is run once for all paths: it sees no initialization that only some have done.
    """

    def __init__(self) -> None:
        self.initialized: Any = False

    def seen(self) -> Any:
        """What `is_initialized()` answers."""
        from sgcheck.interp.runtime import RUNTIME as R

        return self.initialized is True if R.journal is None else self.initialized


def _cuda(target: TargetSpec) -> dict[str, Any]:
    from sgcheck.interp.runtime import RUNTIME as R

    state = CudaState()

    def touch(function: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            # Compared, not asked: whether other paths have touched it before is no matter here.
            if state.initialized is not True:
                if R.journal is not None:
                    R.journal.attr(state, "initialized")
                state.initialized = True
            return function(*args, **kwargs)

        return run

    props = target.cuda_properties()
    assert target.capability is not None
    properties = SimpleNamespace(
        name=props.name,
        major=props.capability[0],
        minor=props.capability[1],
        total_memory=props.total_memory,
        multi_processor_count=props.sms,
        warp_size=32,
        is_integrated=int(props.integrated),
        is_multi_gpu_board=0,
        max_threads_per_multi_processor=props.max_threads_per_multiprocessor,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=props.shared_memory_per_block_optin,
        shared_memory_per_multiprocessor=props.shared_memory_per_multiprocessor,
        L2_cache_size=50 * 1024 * 1024,
        gcnArchName=props.name,
        uuid="00000000-0000-0000-0000-000000000000",
    )
    memory = device_memory.names(props.free_memory, props.total_memory)
    return {
        **memory,
        "is_available": lambda: True,
        "device_count": lambda: gpu_count(target),
        "is_initialized": state.seen,
        "init": touch(lambda: None),
        "current_device": touch(lambda: 0),
        "_get_nvml_device_index": lambda device: device,
        "set_device": touch(lambda d: None),
        "synchronize": lambda *a, **k: None,
        "empty_cache": lambda: None,
        "get_device_capability": touch(lambda *a, **k: target.capability),
        "get_device_name": touch(lambda *a, **k: props.name),
        "get_device_properties": touch(lambda *a, **k: properties),
        "mem_get_info": touch(memory["mem_get_info"]),
        "get_arch_list": lambda: ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"],
        "is_bf16_supported": lambda *a, **k: props.capability[0] >= 8,
        "can_device_access_peer": lambda *a, **k: True,
        "CUDAGraph": _placeholder("CUDAGraph"),
        "Device": _placeholder("Device"),
        "OutOfMemoryError": type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"}),
        "nccl": Facade("torch.cuda.nccl", {"version": lambda: (2, 27, 5)}),
    }


def _absent(name: str) -> Facade:
    return Facade(
        name,
        {"is_available": lambda: False, "device_count": lambda: 0, "is_built": lambda: False},
        closed=False,
    )


def _defaults() -> dict[str, Any]:
    """The dtype and the device that factories take."""

    def set_default_dtype(kind: Any) -> None:
        DEFAULTS.dtype = kind

    def set_default_device(where: Any) -> None:
        DEFAULTS.devices[:] = [] if where is None else [device(where)]

    return {
        "get_default_dtype": lambda: DEFAULTS.dtype,
        "set_default_dtype": set_default_dtype,
        "get_default_device": lambda: DEFAULTS.device,
        "set_default_device": set_default_device,
    }


def _initializers() -> dict[str, Any]:
    """`torch.nn.init`: they change values only."""
    names = ("kaiming_uniform_", "kaiming_normal_", "normal_", "uniform_", "zeros_", "ones_", "xavier_uniform_", "xavier_normal_",
             "constant_", "trunc_normal_", "orthogonal_", "eye_")  # fmt: skip

    def change(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(tensor, Tensor):
            written(tensor)
        return tensor

    def fans(tensor: Any) -> tuple[int, int]:
        receptive = math.prod(tensor.shape[2:])
        return tensor.shape[1] * receptive, tensor.shape[0] * receptive

    return {
        **dict.fromkeys(names, change),
        "_calculate_fan_in_and_fan_out": fans,
        "_calculate_correct_fan": lambda tensor, mode: fans(tensor)[mode.lower() == "fan_out"],
        "calculate_gain": lambda kind, param=None: 1.0,
    }


def build(target: TargetSpec, version: str) -> dict[str, Facade]:
    """Facades of torch's modules; `version` is the release's pin."""

    nn_functional = Facade("torch.nn.functional", dict(functional.NAMES))
    layers = torch_layers.LAYERS
    parameter = Facade(
        "torch.nn.parameter",
        {name: layers[name] for name in ("Parameter", "UninitializedParameter")},
    )
    nn_init = Facade("torch.nn.init", _initializers())
    nn = Facade(
        "torch.nn",
        {**layers, "functional": nn_functional, "parameter": parameter, "init": nn_init},
    )
    ops = _Ops()
    library = _library(ops)
    compiler = Facade(
        "torch.compiler", {"disable": _identity_decorator, "is_compiling": lambda: False}
    )
    distributed = Facade(
        "torch.distributed",
        {
            **PROCESSES.names(),
            "Store": _placeholder("Store"),
            "TCPStore": _placeholder("TCPStore"),
        },
    )
    cuda = Facade("torch.cuda", _cuda(target))
    backends = Facade(
        "torch.backends",
        {"cudnn": Facade("torch.backends.cudnn", {"version": lambda: target.cudnn, "is_available": lambda: True, "enabled": True}),
         "cuda": Facade("torch.backends.cuda", {"is_built": lambda: True, "matmul": SimpleNamespace(allow_tf32=False)}),
         "mps": _absent("torch.backends.mps")},
    )  # fmt: skip
    torch_version = Facade(
        "torch.version",
        {
            "cuda": target.cuda,
            "hip": None,
            "musa": None,
            "xpu": None,
            "__version__": version,
            "git_version": "",
            "debug": False,
        },
        closed=True,
    )
    cpu = Facade(
        "torch.cpu", {"is_available": lambda: True, "_is_amx_tile_supported": lambda: False}
    )
    c_module = Facade(
        "torch._C",
        {
            "_cpu": Facade("torch._C._cpu", {"_is_amx_tile_supported": lambda: False}),
            "_is_mps_available": lambda: False,
            "_len_torch_dispatch_stack": lambda: 0,
            "_is_torch_function_mode_enabled": lambda: False,
            "_len_torch_function_stack": lambda: 0,
            "_autograd": Facade("torch._C._autograd", {"_profiler_enabled": lambda: False}),
        },
    )
    names: dict[str, Any] = {
        **DTYPES,
        "dtype": dtype, "device": device, "finfo": finfo, "iinfo": iinfo, "__version__": Version(version),
        "Tensor": Tensor, "Generator": _placeholder("Generator"), "Size": Size, "Stream": device_memory.Stream, "Event": device_memory.Event, "SymInt": _placeholder("SymInt"),
        "no_grad": _NoGrad, "inference_mode": _NoGrad, "enable_grad": _NoGrad, "set_grad_enabled": _NoGrad,
        "compile": _identity_decorator, "nn": nn, "cuda": cuda, "version": torch_version, "backends": backends, "library": library,
        "compiler": compiler, "distributed": distributed, "ops": ops, "cpu": cpu, "_C": c_module,
        "xpu": _absent("torch.xpu"), "mps": _absent("torch.mps"),
        "jit": Facade("torch.jit", {"script": _identity_decorator, "ignore": _identity_decorator, "is_scripting": lambda: False}),
        "fx": Facade("torch.fx", {}), "utils": Facade("torch.utils", {}), "autograd": Facade("torch.autograd", {"Function": _placeholder("Function"), "_profiler_enabled": lambda: False}),
        **factories.FACTORIES, **operators.FUNCTIONS, **factories.TYPES, **_defaults(), **other_modules.NAMES, "set_num_threads": lambda n: None,
        "accelerator": Facade("torch.accelerator", {"is_available": lambda: True, "device_count": lambda: gpu_count(target),
                                                   "current_accelerator": lambda *a, **k: device("cuda"), "current_device_index": lambda *a: 0}),
        "get_device_module": lambda *a: cuda,
    }  # fmt: skip
    torch = Facade("torch", names)
    # torch has no such attributes on a CUDA machine: reading them is an AttributeError, not an unknown.
    for missing in ("npu", "hpu", "musa", "privateuseone"):
        torch.__dict__.setdefault("_missing", set()).add(missing)
    modules = {
        "torch": torch, "torch.nn": nn, "torch.nn.functional": nn_functional, "torch.nn.parameter": parameter, "torch.nn.init": nn_init,
        "torch.cuda": cuda, "torch.version": torch_version, "torch.backends": backends, "torch.backends.cudnn": backends.cudnn,
        "torch.backends.cuda": backends.cuda, "torch.backends.mps": backends.mps, "torch.library": library, "torch.compiler": compiler,
        "torch.distributed": distributed, "torch.ops": ops, "torch.cpu": cpu, "torch._C": c_module, "torch.xpu": names["xpu"],
        "torch.mps": names["mps"], "torch.jit": names["jit"], "torch.fx": names["fx"], "torch.utils": names["utils"],
        "torch.autograd": names["autograd"], "torch.accelerator": names["accelerator"], "torch.cuda.nccl": cuda.nccl,
    }  # fmt: skip
    for name, content in other_modules.MODULES.items():
        modules[name] = Facade(name, dict(content))
        modules[name.rpartition(".")[0]].__dict__.setdefault(name.rpartition(".")[2], modules[name])
    return modules


class _LibraryFragment:
    """`torch.library.Library`: defining an operator makes it an attribute of `torch.ops`."""

    def __init__(self, ops: _Ops, namespace: str) -> None:
        self._ops, self.ns = ops, namespace

    def define(self, schema: str, *args: Any, **kwargs: Any) -> str:
        name = schema.split("(", maxsplit=1)[0].strip()
        self._ops.register(self.ns, name.rpartition("::")[2])
        return name

    def impl(self, name: Any, body: Any = None, *args: Any, **kwargs: Any) -> None:
        if isinstance(name, str) and callable(body):
            self._ops.register(self.ns, name.rpartition("::")[2], body)

    def _register_fake(self, *args: Any, **kwargs: Any) -> None:
        return None

    fallback = _register_fake

    @property
    def m(self) -> Any:
        return SimpleNamespace(name=self.ns)


def _library(ops: _Ops) -> Facade:
    def register(qualified: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(qualified, str) and "::" in qualified:
            namespace, _, name = qualified.partition("::")
            operator = name.split("(")[0]
            ops.register(namespace, operator)
            if not args:

                def bind(body: Any) -> Any:
                    ops.register(namespace, operator, body)
                    return body

                return bind
            ops.register(namespace, operator, args[0] if callable(args[0]) else None)
        return _identity_decorator(*args, **kwargs)

    return Facade(
        "torch.library",
        {
            "Library": lambda namespace, *a, **k: _LibraryFragment(ops, namespace),
            "custom_op": register,
            "triton_op": register,
            "define": register,
            "register_fake": lambda *a, **k: _identity_decorator(*a[1:]),
            "register_kernel": lambda *a, **k: _identity_decorator(*a[2:]),
            "impl_abstract": lambda *a, **k: _identity_decorator(*a[1:]),
            "impl": lambda *a, **k: _identity_decorator,
            "infer_schema": lambda *a, **k: "() -> ()",
            "wrap_triton": lambda f: f,
        },
    )
