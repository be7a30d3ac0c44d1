"""The operation that nearly every command asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.resolution import Resolution

if TYPE_CHECKING:
    from sgcheck.resolve.predict import Predictor


def check(
    predictor: Predictor,
    launch: Launch,
    trace: bool,
    explore: bool,
    depth: Literal["arguments", "kernels"],
) -> Resolution:
    """What `Predictor.check` says of a launch."""
    return predictor.check(launch, trace=trace, explore=explore, depth=depth)
