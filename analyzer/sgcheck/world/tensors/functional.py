"""`torch.nn.functional`: shapes, and the products that are kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sgcheck.world.tensors import shapes
from sgcheck.world.tensors.dtypes import INT64
from sgcheck.world.tensors.operations import lifted
from sgcheck.world.tensors.operators import UNARY
from sgcheck.world.tensors.recorder import record
from sgcheck.world.tensors.tensor import Tensor, like, make


def linear(value: Tensor, /, weight: Tensor, bias: Any = None) -> Tensor:
    """`F.linear`: the product with the transposed weight."""
    if value._shape[-1] != weight._shape[-1]:
        shapes.multiplied(value._shape, tuple(reversed(weight._shape)))
    record("torch.nn.functional.linear", (value, weight), {})
    return like(value, (*value._shape[:-1], *weight._shape[:-1]))


def embedding(index: Tensor, /, weight: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`F.embedding`."""
    return make((*index._shape, weight._shape[-1]), weight._dtype, index._device)


def pad(value: Tensor, /, pads: Any, *args: Any, **kwargs: Any) -> Tensor:
    """`F.pad`."""
    shape = list(value._shape)
    amounts = list(pads)
    for index in range(len(amounts) // 2):
        shape[-1 - index] += amounts[2 * index] + amounts[2 * index + 1]
    return like(value, shape)


def one_hot(value: Tensor, /, num_classes: int = -1) -> Tensor:
    """`F.one_hot`."""
    return like(value, (*value._shape, num_classes), INT64)


def attention(query: Tensor, /, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`F.scaled_dot_product_attention`."""
    record("torch.nn.functional.scaled_dot_product_attention", (query, key, value), {})
    return like(query, (*query._shape[:-1], value._shape[-1]))


def same(name: str) -> Callable[..., Any]:
    """An operation whose result is like its input."""

    def run(value: Tensor, /, *args: Any, **kwargs: Any) -> Tensor:
        return like(value, kind=kwargs.get("dtype"))

    run.__name__ = name
    return run


NAMES: dict[str, Callable[..., Any]] = {
    **{name: UNARY[name] for name in ("softmax", "log_softmax", "relu", "sigmoid", "tanh", "softplus")},
    **{name: same(name) for name in ("silu", "gelu", "layer_norm", "rms_norm", "group_norm", "normalize", "dropout", "leaky_relu", "elu", "relu6",
                                     "hardswish", "logsigmoid", "selu", "mish", "hardtanh")},
    "linear": linear, "embedding": embedding, "pad": pad, "one_hot": one_hot, "scaled_dot_product_attention": attention,
}  # fmt: skip
NAMES = {name: lifted(function) for name, function in NAMES.items()}
