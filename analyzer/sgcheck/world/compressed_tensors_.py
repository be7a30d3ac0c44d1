"""compressed-tensors: the formats and the arguments of a checkpoint's quantization.

Names and defaults are those of compressed-tensors 0.20; a field that an older one lacks is one that
its checkpoints do not have.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from sgcheck.values.unknown import find_unknown
from sgcheck.world.facade import Facade, not_modelled


def _enum(name: str, **members: str) -> Any:
    making: Any = Enum
    return making(name, members, type=str, module="compressed_tensors")


CompressionFormat = _enum(
    "CompressionFormat",
    **{
        name: name.replace("_", "-")
        for name in (
            "dense", "sparse_bitmask", "sparse_24_bitmask", "int_quantized", "float_quantized", "naive_quantized", "pack_quantized",
            "marlin_24", "mixed_precision", "nvfp4_pack_quantized", "mxfp4_pack_quantized", "mxfp6_pack_quantized", "mxfp8_quantized",
        )
    },
)  # fmt: skip
QuantizationType = _enum("QuantizationType", INT="int", FLOAT="float")
QuantizationStrategy = _enum(
    "QuantizationStrategy",
    **{n.upper(): n for n in ("tensor", "channel", "group", "block", "token", "tensor_group", "attn_head")},
)  # fmt: skip
ActivationOrdering = _enum(
    "ActivationOrdering", **{n.upper(): n for n in ("group", "weight", "dynamic", "static")}
)
_DEFAULTS: dict[str, Any] = {
    "num_bits": 8, "type": "int", "symmetric": True, "group_size": None, "strategy": None, "block_structure": None, "dynamic": False,
    "actorder": None, "scale_dtype": None, "zp_dtype": None, "observer": None, "observer_kwargs": None,
}  # fmt: skip


class QuantizationArgs:
    """How weights or activations are quantized; a strategy that is not given follows from the group."""

    __module__ = "compressed_tensors.quantization"

    def __init__(self, **given: Any) -> None:
        values = {**_DEFAULTS, **given}
        for name in ("type", "strategy", "actorder"):
            value = values[name]
            if isinstance(value, str):
                values[name] = str(getattr(value, "value", value)).lower()
        if isinstance(values["block_structure"], str):
            values["block_structure"] = [int(part) for part in values["block_structure"].split("x")]
        if values["strategy"] is None:
            size = values["group_size"]
            values["strategy"] = "tensor" if size is None else "group" if size > 0 else "channel"
        self.__dict__.update(values)

    @classmethod
    def model_validate(cls, value: Any) -> Any:
        """Made of a dictionary."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict) or find_unknown(value, 3) is not None:
            return not_modelled("compressed_tensors.quantization.QuantizationArgs.model_validate()")
        return cls(**value)

    parse_obj = model_validate


def build() -> dict[str, Facade]:
    """Facades by module name."""
    quantization = {
        "QuantizationArgs": QuantizationArgs,
        "QuantizationStrategy": QuantizationStrategy,
        "QuantizationType": QuantizationType,
        "ActivationOrdering": ActivationOrdering,
    }
    arguments = Facade("compressed_tensors.quantization.quant_args", dict(quantization))
    return {
        "compressed_tensors": Facade(
            "compressed_tensors", {"CompressionFormat": CompressionFormat}
        ),
        "compressed_tensors.config": Facade(
            "compressed_tensors.config", {"CompressionFormat": CompressionFormat}
        ),
        "compressed_tensors.quantization": Facade(
            "compressed_tensors.quantization", {**quantization, "quant_args": arguments}
        ),
        "compressed_tensors.quantization.quant_args": arguments,
    }
