"""What the engine raises through interpreted code. No handler of the tree catches these."""

from __future__ import annotations

from sgcheck.resolve.resolution import Reason


class EngineSignal(BaseException):
    """Base: translated `except` clauses let it pass."""

    is_outcome = False
    """Whether this is an answer about the launch, not a limit of the engine."""


class Escape(EngineSignal):
    """An unknown reached a place that needs a value and cannot branch. Carries the reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.code)
        self.reason = reason


class LimitReached(EngineSignal):
    """A bound on steps, time, depth or size was reached."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.reason = Reason(f"limit({what})")


class Refused(EngineSignal):
    """Code of the tree asked for something that is not allowed."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.reason = Reason(f"refused({what})")
