"""Layers of torch itself: parameters as torch makes them; called, most give the shape of their input."""

from __future__ import annotations

from functools import partial
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.unknown import Unknown
from sgcheck.world.tensors.containers import ModuleDict, ModuleList, ParameterList, Sequential
from sgcheck.world.tensors.dtypes import DEFAULTS, DTYPES
from sgcheck.world.tensors.modules import Module, Parameter, UninitializedParameter
from sgcheck.world.tensors.recorder import record
from sgcheck.world.tensors.tensor import Tensor, make


class Layer(Module):
    """A layer of torch: parameters as torch makes them; called, it gives a tensor like its input."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._place = {k: kwargs[k] for k in ("dtype", "device") if kwargs.get(k) is not None}

    def _parameter(self, name: str, *shape: int) -> None:
        kind = self._place.get("dtype") or DEFAULTS.dtype
        setattr(self, name, Parameter(make(shape, kind, self._place.get("device"))))

    def forward(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The shape of the input."""
        return value


class Linear(Layer):
    """`torch.nn.Linear`."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.in_features, self.out_features = in_features, out_features
        self._parameter("weight", out_features, in_features)
        if bias:
            self._parameter("bias", out_features)
        else:
            self.register_parameter("bias", None)

    def forward(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        from sgcheck.world.tensors.functional import linear

        return linear(value, self.weight, self.bias)


class Embedding(Layer):
    """`torch.nn.Embedding`."""

    def __init__(self, num_embeddings: int, embedding_dim: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self._parameter("weight", num_embeddings, embedding_dim)

    def forward(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return make((*value._shape, self.embedding_dim), self.weight._dtype, value._device)


class _Norm(Layer):
    def __init__(
        self,
        normalized_shape: Any,
        eps: Any = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        shape = (
            normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        )
        self.normalized_shape, self.eps = tuple(shape), eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self._parameter("weight", *shape)
            if bias and self.with_bias:
                self._parameter("bias", *shape)

    with_bias = True


class LayerNorm(_Norm):
    """`torch.nn.LayerNorm`."""


class RMSNorm(_Norm):
    """`torch.nn.RMSNorm`."""

    with_bias = False


class GroupNorm(Layer):
    """`torch.nn.GroupNorm`."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: Any = 1e-5,
        affine: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if affine:
            self._parameter("weight", num_channels)
            self._parameter("bias", num_channels)


class _Convolution(Layer):
    rank = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        size = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size,) * self.rank
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.padding = tuple(size), stride, padding
        self._parameter("weight", out_channels, in_channels // groups, *size)
        if bias:
            self._parameter("bias", out_channels)
        else:
            self.register_parameter("bias", None)

    def forward(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        record(f"torch.nn.functional.conv{self.rank}d", (value, self.weight), {})
        return Unknown(Reason(f"not-modelled(torch.nn.Conv{self.rank}d())"), "convolution")


class Conv1d(_Convolution):
    """`torch.nn.Conv1d`."""


class Conv2d(_Convolution):
    """`torch.nn.Conv2d`."""

    rank = 2


class Conv3d(_Convolution):
    """`torch.nn.Conv3d`."""

    rank = 3


LAYERS: dict[str, type] = {
    cls.__name__: cls
    for cls in (Module, ModuleList, ModuleDict, Sequential, ParameterList, Parameter, UninitializedParameter, Linear, Embedding,
                LayerNorm, RMSNorm, GroupNorm, Conv1d, Conv2d, Conv3d)
}  # fmt: skip
LAYERS["Buffer"] = Parameter
LAYERS.update(
    {
        name: type(name, (Layer,), {"__module__": "torch.nn"})
        for name in ("Identity", "GELU", "SiLU", "ReLU", "ReLU6", "LeakyReLU", "Dropout", "Softmax", "Sigmoid", "Tanh", "Softplus", "ELU", "Mish", "Hardswish",
                     "AvgPool1d", "AvgPool2d", "MaxPool2d", "AdaptiveAvgPool2d", "AdaptiveAvgPool1d", "Upsample", "PixelShuffle", "ZeroPad2d", "Flatten", "Unfold")
    }
)  # fmt: skip
for _cls in LAYERS.values():
    if not issubclass(_cls, Tensor):
        type.__setattr__(_cls, "__module__", "torch.nn")


class Activations:
    """`transformers.activations.ACT2FN`: an activation by the name that configurations give it."""

    __module__ = "transformers.activations"
    NAMES = frozenset(
        ("gelu", "gelu_10", "gelu_accurate", "gelu_fast", "gelu_new", "gelu_python", "gelu_pytorch_tanh", "gelu_python_tanh", "laplace",
         "leaky_relu", "linear", "mish", "prelu", "quick_gelu", "relu", "relu2", "relu6", "sigmoid", "silu", "swish", "tanh")
    )  # fmt: skip

    def __getitem__(self, name: str) -> Module:
        if name not in self.NAMES:
            raise KeyError(name)
        return Layer()

    def __contains__(self, name: object) -> bool:
        return name in self.NAMES


class PreTrainedModel(Module):
    """`transformers.PreTrainedModel`: a module that keeps its configuration."""

    __module__ = "transformers.modeling_utils"
    config_class: Any = None
    base_model_prefix = ""
    supports_gradient_checkpointing = False

    def __init__(self, config: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.config = config
        self.name_or_path = getattr(config, "name_or_path", "")

    def post_init(self) -> None:
        """Values only."""

    def _init_weights(self, module: Any) -> None:
        """Values only."""

    def tie_weights(self, *args: Any, **kwargs: Any) -> None:
        """Values only."""

    @property
    def device(self) -> Any:
        return next(iter(self.parameters())).device

    @property
    def dtype(self) -> Any:
        return next(iter(self.parameters())).dtype


class RopeFunctions:
    """`transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS`: frequencies, and a scale of attention."""

    __module__ = "transformers.modeling_rope_utils"
    NAMES = frozenset(
        ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional")
    )

    def __getitem__(self, name: str) -> Any:
        if name not in self.NAMES:
            raise KeyError(name)
        return partial(_frequencies, name in ("yarn", "longrope"))

    def __contains__(self, name: object) -> bool:
        return name in self.NAMES


def _frequencies(
    scaled: bool, config: Any, device: Any = None, *args: Any, **kwargs: Any
) -> tuple[Any, Any]:
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    share = getattr(config, "partial_rotary_factor", 1.0) or 1.0
    count = int(width * share) // 2
    scale: Any = 1.0
    if scaled:
        scale = Unknown(Reason("not-modelled(ROPE_INIT_FUNCTIONS scale)"), "attention scaling")
    return make((count,), DTYPES["float32"], device), scale
