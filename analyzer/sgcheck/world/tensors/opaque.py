"""Tensors of which not even the shape is known: what a library's layout function gave.

They are tensors (and parameters) for type tests; whatever else is asked of them is an unknown with
the reason for which they are not known.
"""

from __future__ import annotations

from typing import Any

from sgcheck.values.unknown import Unknown
from sgcheck.world.tensors.modules import Parameter
from sgcheck.world.tensors.storage import Storage
from sgcheck.world.tensors.tensor import Tensor

_KEPT = frozenset(
    {"data", "detach", "requires_grad_", "contiguous", "clone", "cuda", "pin_memory", "alias"}
)


def _property(name: str) -> property:
    return property(lambda self: Unknown(self._reason, f"tensor.{name}"))


def _method(name: str) -> Any:
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self if name in _KEPT else Unknown(self._reason, f"tensor.{name}()")

    run.__name__ = name
    return run


def _names() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for name, value in vars(Tensor).items():
        if isinstance(value, property) and name != "data":
            names[name] = _property(name)
        elif callable(value) and not name.startswith("__"):
            names[name] = _method(name)
    for slot in (
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "matmul",
        "getitem",
        "lt",
        "le",
        "gt",
        "ge",
        "eq",
        "ne",
        "neg",
    ):
        names[f"__{slot}__"] = _method(slot)
    for slot in ("setitem",):
        names[f"__{slot}__"] = lambda self, *a: None
    names["data"] = property(lambda self: self, Tensor.__dict__["data"].fset)
    names["__repr__"] = lambda self: "tensor(of unknown shape)"
    names["__module__"] = "torch"
    names["__hash__"] = Tensor.__hash__
    return names


OpaqueTensor: Any = type("Tensor", (Tensor,), _names())
OpaqueParameter: Any = type("Parameter", (Parameter,), {**_names(), "__module__": "torch.nn"})


def become_opaque(tensor: Tensor, reason: Any) -> None:
    """A tensor takes over content of which nothing is known."""
    kind = OpaqueParameter if isinstance(tensor, Parameter) else OpaqueTensor
    object.__setattr__(tensor, "__class__", kind)
    tensor.__dict__["_reason"] = reason


def opaque(cls: Any, reason: Any) -> Any:
    """A tensor, or a parameter, made of something of which nothing is known."""
    made: Any = object.__new__(cls)
    made.__dict__.update(_storage=Storage(0, False), _reason=reason, _known=None, _offset=0)
    return made
