"""torch: the probes that SGLang asks, answered as the target machine would."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sgcheck.world.facade import Facade, ForeignObject, UnmodelledMeta, not_modelled
from sgcheck.world.target import TargetSpec
from sgcheck.world.unknown_inputs import gpu_count

_DTYPES = {
    "float32": (True, 4), "float64": (True, 8), "float16": (True, 2), "bfloat16": (True, 2),
    "float8_e4m3fn": (True, 1), "float8_e5m2": (True, 1), "float8_e4m3fnuz": (True, 1), "float8_e5m2fnuz": (True, 1),
    "float8_e8m0fnu": (True, 1), "float4_e2m1fn_x2": (True, 1),
    "int8": (False, 1), "uint8": (False, 1), "int16": (False, 2), "int32": (False, 4), "int64": (False, 8), "bool": (False, 1),
    "uint16": (False, 2), "uint32": (False, 4), "uint64": (False, 8), "complex64": (True, 8), "complex128": (True, 16),
}  # fmt: skip
_ALIASES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
}
_LIMITS = {
    "float32": (3.4028234663852886e38, 1.1754943508222875e-38, 1.1920928955078125e-07, 32),
    "float64": (1.7976931348623157e308, 2.2250738585072014e-308, 2.220446049250313e-16, 64),
    "float16": (65504.0, 6.103515625e-05, 0.0009765625, 16),
    "bfloat16": (3.3895313892515355e38, 1.1754943508222875e-38, 0.0078125, 16),
    "float8_e4m3fn": (448.0, 0.015625, 0.125, 8),
    "float8_e5m2": (57344.0, 6.103515625e-05, 0.25, 8),
    "float8_e4m3fnuz": (240.0, 0.0078125, 0.125, 8),
    "float8_e5m2fnuz": (57344.0, 3.0517578125e-05, 0.25, 8),
}
_INT_LIMITS = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32, "int64": 64}


class dtype:
    """`torch.dtype`: one object a type."""

    __module__ = "torch"
    __slots__ = ("_name", "is_complex", "is_floating_point", "itemsize")

    def __init__(self, name: str, floating: bool, size: int) -> None:
        self._name, self.is_floating_point, self.itemsize = name, floating, size
        self.is_complex = name.startswith("complex")

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __deepcopy__(self, memo: Any) -> dtype:
        return self

    def __copy__(self) -> dtype:
        return self


DTYPES: dict[str, dtype] = {name: dtype(name, *facts) for name, facts in _DTYPES.items()}
DTYPES.update({alias: DTYPES[name] for alias, name in _ALIASES.items()})


class device:
    """`torch.device`."""

    __module__ = "torch"

    def __init__(self, kind: Any, index: int | None = None) -> None:
        text = str(kind)
        self.type, _, number = text.partition(":")
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')"
            if self.index is None
            else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


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
        if name.startswith("__") or self._complete:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        return not_modelled(f"torch.ops.{self._name}.{name}")


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

    def register(self, namespace: str, operator: str) -> None:
        getattr(self, namespace).__dict__.setdefault(
            operator, ForeignObject(f"torch.ops.{namespace}.{operator}")
        )


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
    return {
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
        "mem_get_info": touch(lambda *a, **k: (props.free_memory, props.total_memory)),
        "memory_allocated": lambda *a, **k: 0,
        "memory_reserved": lambda *a, **k: 0,
        "get_arch_list": lambda: ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"],
        "is_bf16_supported": lambda *a, **k: props.capability[0] >= 8,
        "can_device_access_peer": lambda *a, **k: True,
        "Stream": _placeholder("Stream"),
        "Event": _placeholder("Event"),
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


def build(target: TargetSpec, version: str) -> dict[str, Facade]:
    """Facades of torch's modules; `version` is the release's pin."""

    class finfo:
        __module__ = "torch"

        def __init__(self, kind: Any = None) -> None:
            name = (kind or DTYPES["float32"])._name
            if name not in _LIMITS:
                raise TypeError(f"torch.finfo() requires a floating point input type, got {name}")
            self.max, self.tiny, self.eps, self.bits = _LIMITS[name]
            self.min, self.smallest_normal, self.dtype = -self.max, self.tiny, name

    class iinfo:
        __module__ = "torch"

        def __init__(self, kind: Any) -> None:
            self.bits = _INT_LIMITS[kind._name]
            signed = not kind._name.startswith("u")
            self.max = 2 ** (self.bits - signed) - 1
            self.min = -(2 ** (self.bits - 1)) if signed else 0

    nn_functional = Facade("torch.nn.functional", {})
    parameter = Facade(
        "torch.nn.parameter",
        {
            "Parameter": _placeholder("Parameter"),
            "UninitializedParameter": _placeholder("UninitializedParameter"),
        },
    )
    nn_init = Facade("torch.nn.init", {})
    module = _placeholder("Module", type)
    nn = Facade(
        "torch.nn",
        {"Module": module, "ModuleList": _placeholder("ModuleList"), "Parameter": parameter.Parameter, "functional": nn_functional,
         "parameter": parameter, "init": nn_init, **{n: type(n, (module,), {"__module__": "torch.nn"}) for n in ("Linear", "Embedding", "LayerNorm", "Sequential", "Identity", "Conv1d", "Conv2d", "Conv3d", "GELU", "SiLU", "ReLU")}},
    )  # fmt: skip
    ops = _Ops()
    library = _library(ops)
    compiler = Facade(
        "torch.compiler", {"disable": _identity_decorator, "is_compiling": lambda: False}
    )
    process_group = _placeholder("ProcessGroup")
    distributed = Facade(
        "torch.distributed",
        {"is_available": lambda: True, "is_initialized": lambda: False, "is_nccl_available": lambda: True,
         "ProcessGroup": process_group, "Backend": _placeholder("Backend"), "ReduceOp": _placeholder("ReduceOp"), "Work": _placeholder("Work"),
         "Store": _placeholder("Store"), "TCPStore": _placeholder("TCPStore")},
    )  # fmt: skip
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
        },
    )
    tensor = _placeholder("Tensor")
    names: dict[str, Any] = {
        **DTYPES,
        "dtype": dtype, "device": device, "finfo": finfo, "iinfo": iinfo, "__version__": Version(version),
        "Tensor": tensor, "Generator": _placeholder("Generator"), "Size": tuple, "SymInt": _placeholder("SymInt"),
        "no_grad": _NoGrad, "inference_mode": _NoGrad, "enable_grad": _NoGrad, "set_grad_enabled": _NoGrad,
        "compile": _identity_decorator, "nn": nn, "cuda": cuda, "version": torch_version, "backends": backends, "library": library,
        "compiler": compiler, "distributed": distributed, "ops": ops, "cpu": cpu, "_C": c_module,
        "xpu": _absent("torch.xpu"), "mps": _absent("torch.mps"),
        "jit": Facade("torch.jit", {"script": _identity_decorator, "ignore": _identity_decorator, "is_scripting": lambda: False}),
        "fx": Facade("torch.fx", {}), "utils": Facade("torch.utils", {}), "autograd": Facade("torch.autograd", {"Function": _placeholder("Function")}),
        "get_default_dtype": lambda: DTYPES["float32"], "set_num_threads": lambda n: None,
        "is_tensor": lambda value: False,
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
    return modules  # noqa: RET504


class _LibraryFragment:
    """`torch.library.Library`: defining an operator makes it an attribute of `torch.ops`."""

    def __init__(self, ops: _Ops, namespace: str) -> None:
        self._ops, self.ns = ops, namespace

    def define(self, schema: str, *args: Any, **kwargs: Any) -> str:
        name = schema.split("(", maxsplit=1)[0].strip()
        self._ops.register(self.ns, name.rpartition("::")[2])
        return name

    def impl(self, *args: Any, **kwargs: Any) -> None:
        return None

    fallback = _register_fake = impl


def _library(ops: _Ops) -> Facade:
    def register(qualified: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(qualified, str) and "::" in qualified:
            namespace, _, name = qualified.partition("::")
            ops.register(namespace, name.split("(")[0])
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
