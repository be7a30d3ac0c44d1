"""From outcomes to levels, and from levels to exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sgcheck.resolve.resolution import OutcomeStatus

EXIT_OK, EXIT_FINDINGS, EXIT_FAULT, EXIT_NOTHING = 0, 1, 2, 3
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

LEVELS = ("note", "warning", "error")

# A launch that fails in some cases, or of which nothing can be said, is a warning: it is not proved
# that this launch fails.
_LEVEL: dict[OutcomeStatus, str | None] = {
    "ok": None,
    "startup_error": "error",
    "cli_error": "error",
    "conditional": "warning",
    "unknown": "warning",
}


def level_of(status: OutcomeStatus) -> str | None:
    """The level of an outcome, None for a launch that starts."""
    return _LEVEL[status]


def exit_code(levels: Iterable[str | None], fail_on: str, exit_zero: bool = False) -> int:
    """1 if any level is at or above `fail_on` (`never` is above all), else 0."""
    if exit_zero or fail_on == "never":
        return EXIT_OK
    threshold = LEVELS.index(fail_on)
    reached = any(level is not None and LEVELS.index(level) >= threshold for level in levels)
    return EXIT_FINDINGS if reached else EXIT_OK
