"""One launch to be predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sgcheck.world.model_facts import ModelFacts
from sgcheck.world.target import TargetSpec


@dataclass(frozen=True)
class Launch:
    """SGLang's own arguments (what follows `launch_server`), the machine, the model, the environment.

    An environment value of None says that the variable is certainly not set.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str | None] = field(default_factory=dict)
    target: TargetSpec = None  # type: ignore[assignment]
    model: ModelFacts = None  # type: ignore[assignment]
