"""`torch.dtype`, `torch.device` and the limits of the number formats."""

from __future__ import annotations

from typing import Any

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

    @property
    def is_signed(self) -> bool:
        return not self._name.startswith(("uint", "bool"))

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __deepcopy__(self, memo: Any) -> dtype:
        return self

    def __copy__(self) -> dtype:
        return self


DTYPES: dict[str, dtype] = {name: dtype(name, *facts) for name, facts in _DTYPES.items()}
DTYPES.update({alias: DTYPES[name] for alias, name in _ALIASES.items()})

FLOAT32, INT64, BOOL = DTYPES["float32"], DTYPES["int64"], DTYPES["bool"]
_RANK = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")


def promoted(left: dtype, right: dtype) -> dtype:
    """`torch.promote_types`."""
    if left is right:
        return left
    if left.is_floating_point != right.is_floating_point:
        return left if left.is_floating_point else right
    if left.is_floating_point:
        if left.is_complex or right.is_complex:
            return left if left.is_complex else right
        if left.itemsize == right.itemsize:
            return FLOAT32
        return left if left.itemsize > right.itemsize else right
    ranked = sorted((left._name, right._name), key=_RANK.index)
    if ranked == ["uint8", "int8"]:
        return DTYPES["int16"]
    return DTYPES[ranked[1]]


class device:
    """`torch.device`; entered as a context it is the default device."""

    __module__ = "torch"

    def __init__(self, kind: Any, index: int | None = None) -> None:
        if isinstance(kind, int) and not isinstance(kind, bool):
            kind, index = "cuda", kind
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

    def __enter__(self) -> device:
        DEFAULTS.devices.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        if DEFAULTS.devices:
            DEFAULTS.devices.pop()


class Defaults:
    """What a factory takes where it is given no dtype and no device."""

    def __init__(self) -> None:
        self.dtype = FLOAT32
        self.devices: list[device] = []

    def reset(self) -> None:
        """As a process starts."""
        self.dtype = FLOAT32
        self.devices.clear()

    @property
    def device(self) -> device:
        return self.devices[-1] if self.devices else CPU


DEFAULTS = Defaults()
CPU = device("cpu")
_KNOWN = {
    "cpu": CPU,
    "cuda": device("cuda", 0),
    "cuda:0": device("cuda", 0),
    "meta": device("meta"),
}


def device_of(value: Any) -> device:
    """The device that an argument names; a GPU without a number is the current one, 0."""
    if value is None:
        value = DEFAULTS.device
    if isinstance(value, int) and not isinstance(value, bool):
        return device("cuda", value)
    if isinstance(value, str):
        return _KNOWN.get(value) or device(value)
    if isinstance(value, device):
        return _KNOWN["cuda"] if value.type == "cuda" and value.index is None else value
    raise TypeError(f"device must be torch.device, not {type(value).__name__}")


class finfo:
    """`torch.finfo`."""

    __module__ = "torch"

    def __init__(self, kind: Any = None) -> None:
        name = (kind or FLOAT32)._name
        if name not in _LIMITS:
            raise TypeError(f"torch.finfo() requires a floating point input type, got {name}")
        self.max, self.tiny, self.eps, self.bits = _LIMITS[name]
        self.min, self.smallest_normal, self.dtype = -self.max, self.tiny, name


class iinfo:
    """`torch.iinfo`."""

    __module__ = "torch"

    def __init__(self, kind: Any) -> None:
        self.bits = _INT_LIMITS[kind._name]
        signed = not kind._name.startswith("u")
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -(2 ** (self.bits - 1)) if signed else 0
