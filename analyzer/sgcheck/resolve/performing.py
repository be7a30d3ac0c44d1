"""What the commands need of a predictor: the tree's code may run in this process or in another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sgcheck.resolve.resolution import Outcome, Reason, Resolution, TreeInfo

if TYPE_CHECKING:
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.predict import Depth
    from sgcheck.source.tree import Tree

T = TypeVar("T")


class Performs(Protocol):
    """`resolve.predict.Predictor` here, `sandbox.predictor.SandboxedPredictor` behind walls."""

    @property
    def tree(self) -> Tree: ...

    @property
    def info(self) -> TreeInfo: ...

    def check(
        self,
        launch: Launch,
        *,
        trace: bool = True,
        explore: bool = True,
        depth: Depth = "arguments",
    ) -> Resolution: ...

    def perform(self, operation: Callable[..., T], *arguments: Any) -> T: ...


def nothing(info: TreeInfo, launch: Launch, reason: Reason) -> Resolution:
    """The answer for a launch of which nothing can be said."""
    target, model = launch.target.to_target(), launch.model.info()
    return Resolution(info, target, model, tuple(launch.argv), Outcome("unknown", reason=reason))
