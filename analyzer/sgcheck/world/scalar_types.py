"""`sgl_kernel.scalar_type`: the quantized number formats of the kernels, from their recorded parts."""

from __future__ import annotations

from typing import Any

from sgcheck.world.facade import Facade, not_modelled


class ScalarType:
    """One format: bits of exponent and mantissa, sign, and the bias that is stored with integers."""

    __module__ = "sgl_kernel.scalar_type"

    def __init__(
        self,
        exponent: int,
        mantissa: int,
        signed: bool,
        bias: int = 0,
        finite_values_only: bool = False,
        nan_repr: str = "IEEE_754",
    ) -> None:
        self.exponent, self.mantissa, self.signed, self.bias = exponent, mantissa, signed, bias
        self._finite_values_only, self._nans = finite_values_only, nan_repr

    @property
    def size_bits(self) -> int:
        return self.exponent + self.mantissa + int(self.signed)

    def has_bias(self) -> bool:
        return self.bias != 0

    def is_signed(self) -> bool:
        return self.signed

    def is_floating_point(self) -> bool:
        return self.exponent != 0

    def is_integer(self) -> bool:
        return self.exponent == 0

    def has_infs(self) -> bool:
        return not self._finite_values_only

    def has_nans(self) -> bool:
        return self._nans != "NONE"

    def is_ieee_754(self) -> bool:
        return self._nans == "IEEE_754" and not self._finite_values_only

    def __str__(self) -> str:
        if self.is_floating_point():
            text = f"float{self.size_bits}_e{self.exponent}m{self.mantissa}"
            if not self.is_ieee_754():
                text += "f" * self._finite_values_only + "n" * self.has_nans()
            return text
        return f"{'int' if self.signed else 'uint'}{self.size_bits}" + (
            f"b{self.bias}" if self.bias else ""
        )

    def __repr__(self) -> str:
        return f"ScalarType.{self}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return not_modelled(f"sgl_kernel.scalar_type.ScalarType.{name}")

    def _parts(self) -> tuple[Any, ...]:
        # Integers have neither infinities nor another use of the codes for NaN.
        return (
            self.exponent,
            self.mantissa,
            self.signed,
            self.bias,
            self._finite_values_only,
            self._nans,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScalarType) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())


def _made(constructor: str, *values: Any) -> ScalarType | None:
    if constructor == "int_":
        return ScalarType(0, values[0] - 1, True, values[1] or 0)
    if constructor == "uint":
        return ScalarType(0, values[0], False, values[1] or 0)
    if constructor == "float_IEEE754":
        return ScalarType(values[0], values[1], True)
    if constructor == "float_":
        return ScalarType(values[0], values[1], True, 0, values[2], values[3])
    return None


def formats(name: str, recorded: dict[str, Any]) -> Facade:
    """The class `scalar_types`: its formats, as `[constructor, *arguments]` or the name of another."""
    names: dict[str, Any] = {}
    for key, value in recorded.items():
        if isinstance(value, str):
            names[key] = names[value]
            continue
        made = _made(*value)
        names[key] = made if made is not None else not_modelled(f"{name}.{key}")
    return Facade(name, names, closed=True)
