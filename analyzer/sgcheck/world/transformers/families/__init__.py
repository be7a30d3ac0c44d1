"""Rules of model families that are more than recorded steps."""

from collections.abc import Callable
from typing import Any

from ..steps import Run

RULES: dict[str, Callable[[Run], None]] = {}
"""Rules by name, for the step ``["hand", name]``."""

MEMBERS: dict[tuple[str, str], Any] = {}
"""Methods and properties by class and name."""
