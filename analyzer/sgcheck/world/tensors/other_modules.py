"""Modules of torch that a start passes through: they decide nothing."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any


def _identity(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and callable(args[0]) and not kwargs:
        return args[0]
    return lambda function: function


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _context(*args: Any, **kwargs: Any) -> Any:
    return nullcontext()


def _passing(function: Any = None, **kwargs: Any) -> Any:
    return function if function is not None else lambda inner: inner


class _DecoratorContextManager:
    """A context that may decorate a function: the function itself is run."""

    __module__ = "torch.utils._contextlib"

    def __call__(self, function: Any) -> Any:
        return function

    def __enter__(self) -> Any:
        return None

    def __exit__(self, *exc: Any) -> None:
        return None

    def clone(self) -> Any:
        """Another one like it."""
        return type(self)()


class _Profiler:
    """`torch.profiler.profile`: nothing is measured."""

    __module__ = "torch.profiler"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> _Profiler:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None


MODULES: dict[str, dict[str, Any]] = {
    "torch._jit_internal": {"is_scripting": lambda: False},
    "torch.amp": {"custom_fwd": _passing, "custom_bwd": _passing, "autocast": _context, "is_autocast_available": lambda *a: True},
    "torch.cuda.amp": {"custom_fwd": _passing, "custom_bwd": _passing, "autocast": _context},
    "torch._utils": {"_element_size": lambda kind: kind.itemsize},
    "torch._dynamo": {"disable": _identity, "is_compiling": lambda: False, "mark_static": _nothing, "mark_dynamic": _nothing, "reset": _nothing},
    "torch.cuda.nvtx": {"range_push": _nothing, "range_pop": _nothing, "range": _context, "mark": _nothing},
    "torch.profiler": {"record_function": _context, "profile": _Profiler},
    "torch.autograd.profiler": {"record_function": _context},
    "torch.utils._contextlib": {"_DecoratorContextManager": _DecoratorContextManager, "_NoParamDecoratorContextManager": _DecoratorContextManager},
    "torch.random": {"manual_seed": _nothing, "fork_rng": _context},
}  # fmt: skip
"""What a module offers, by its name."""

NAMES: dict[str, Any] = {
    "manual_seed": _nothing, "seed": lambda: 0, "set_printoptions": _nothing, "set_float32_matmul_precision": _nothing, "use_deterministic_algorithms": _nothing,
    "is_grad_enabled": lambda: False, "is_inference_mode_enabled": lambda: True, "is_autocast_enabled": lambda *a: False, "autocast": _context, "get_num_threads": lambda: 1,
    "set_num_interop_threads": _nothing,
}  # fmt: skip
