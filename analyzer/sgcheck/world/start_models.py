"""Functions of the tree that a start does not run, by name: each with what it does instead.

They talk to other processes, to a tokenizer or to the driver, or capture what was built. None of
them decides what is built. Names that a release does not have are passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sgcheck.interp import guards
from sgcheck.values.signals import EngineSignal
from sgcheck.world.tensors.recorder import Leaf


class WorkersBuilt(EngineSignal):
    """The scheduler has built its workers: what a start decides is decided."""

    is_outcome = True


class Started:
    """What a start has built so far."""

    def __init__(self) -> None:
        self.runners: list[Any] = []
        self.scheduler: Any = None
        self.modelled: set[type] = set()
        """Classes of which some methods are not run: what those would set is not there."""

    def reset(self) -> None:
        """Before a start."""
        self.runners.clear()
        self.scheduler = None


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _no_weights(*args: Any, **kwargs: Any) -> Any:
    return iter(())


def _without_tokenizer(self: Any, *args: Any, **kwargs: Any) -> None:
    self.tokenizer = self.processor = None


def _no_communicator(self: Any, *args: Any, **kwargs: Any) -> None:
    self.disabled, self.available, self.world_size, self.max_size = True, False, 1, 0
    self.stream = self.device = None


def _own_data(data: Any, *args: Any, **kwargs: Any) -> Any:
    """Objects that the first rank hands to the others: rank 0 is the first."""
    return data


def _leaf_module(*args: Any, **kwargs: Any) -> Any:
    return Leaf("jit:" + ".".join(map(str, args)))


CLASSES: dict[str, dict[str, dict[str, Callable[..., Any]]]] = {
    "managers.scheduler": {
        "Scheduler": {
            **dict.fromkeys(
                ("init_metrics", "init_ipc_channels", "init_idle_sleeper", "init_metrics_collector", "init_soft_watchdog",
                 "init_startup_timing_begin", "init_all_cuda_graphs"), _nothing),
            "init_tokenizer": _without_tokenizer,
        }
    },
    "model_executor.model_runner": {
        "ModelRunner": dict.fromkeys(
            ("kernel_warmup", "init_device_graphs", "init_piecewise_cuda_graphs", "init_cuda_graphs", "init_decode_cuda_graph", "init_prefill_cuda_graph",
             "init_cublas", "prewarm_sampling", "post_capture_resize_kv_pool", "maybe_precompile_model_kernels_after_loading"), _nothing)
    },
    "model_loader.loader": {"DefaultModelLoader": dict.fromkeys(("_get_all_weights", "_get_weights_iterator"), _no_weights)},
    "device_communicators.custom_all_reduce": {"CustomAllreduce": {"__init__": _no_communicator}},
    "device_communicators.pynccl": {"PyNcclCommunicator": {"__init__": _no_communicator}},
    "device_communicators.torch_symm_mem": {"TorchSymmMemCommunicator": {"__init__": _no_communicator}},
    "device_communicators.shm_broadcast": {"MessageQueue": {"create_from_process_group": staticmethod(_nothing)}},
}  # fmt: skip
"""Methods by the end of the module's name and by class."""

FUNCTIONS: dict[str, dict[str, Callable[..., Any]]] = {
    "managers.tp_worker": dict.fromkeys(("get_tokenizer", "get_processor", "get_tokenizer_from_processor", "set_random_seed"), _nothing),
    "managers.scheduler": {"set_random_seed": _nothing},
    "utils.common": {"broadcast_pyobj": _own_data},
    "jit_kernel.utils": {"load_jit": _leaf_module},
    "jit.utils.compile.loader": {"load_jit": _leaf_module},
    "jit.utils.compile": {"load_jit": _leaf_module},
}  # fmt: skip
"""Functions by the end of the module's name."""


def adapt(module: str, space: dict[str, Any], started: Started) -> None:
    """Replace what is modelled of a module that has just run."""
    for ending, classes in CLASSES.items():
        if module.endswith(ending):
            for name, methods in classes.items():
                cls = space.get(name)
                if isinstance(cls, type):
                    started.modelled.add(cls)
                    for method, model in methods.items():
                        if hasattr(cls, method):
                            type.__setattr__(cls, method, model)
    for ending, functions in FUNCTIONS.items():
        if module.endswith(ending):
            for name, model in functions.items():
                if name in space:
                    space[name] = model
    if ".speculative." in module:
        for cls in [c for c in space.values() if isinstance(c, type)]:
            if "init_cuda_graphs" in cls.__dict__:
                type.__setattr__(cls, "init_cuda_graphs", _nothing)
    if module.endswith("model_executor.model_runner") and isinstance(
        space.get("ModelRunner"), type
    ):
        _watch(space["ModelRunner"], "__init__", started.runners.append)
    if module.endswith("managers.scheduler") and isinstance(space.get("Scheduler"), type):
        for name, value in (("enable_metrics", False), ("metrics_collector", None)):
            type.__setattr__(space["Scheduler"], name, value)  # as `init_metrics` sets them
        _stop_after(space["Scheduler"], "init_model_worker", started)


def _watch(cls: type, name: str, see: Callable[[Any], None]) -> None:
    original = getattr(cls, name)

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        see(self)
        return guards.call(original, self, *args, **kwargs)

    run.__wrapped__ = original  # type: ignore[attr-defined]
    type.__setattr__(cls, name, run)


def _stop_after(cls: type, name: str, started: Started) -> None:
    original = getattr(cls, name)

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        started.scheduler = self
        guards.call(original, self, *args, **kwargs)
        raise WorkersBuilt

    type.__setattr__(cls, name, run)
