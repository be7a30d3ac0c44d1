"""The formats of `check`, each loaded when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from sgcheck.report.document import Selection
from sgcheck.report.terminal import Terminal
from sgcheck.resolve.resolution import Resolution

if TYPE_CHECKING:
    from sgcheck.source import Tree


class Report(Struct, frozen=True):
    """What is to be written: one result per target. `tree` is the source that was read."""

    results: Sequence[Resolution]
    selection: Selection
    verbose: bool
    terminal: Terminal
    tree: Tree | None = None


FORMATS: Mapping[str, str] = {
    "text": "sgcheck.report.text:render",
    "json": "sgcheck.report.document:render",
    "html": "sgcheck.report.html.check:render",
}
"""Format -> `module:function`; the function takes a `Report` and gives the whole text."""


def render(name: str, report: Report) -> str:
    """The report in one of `FORMATS`."""
    module, _, function = FORMATS[name].partition(":")
    renderer: Callable[[Report], str] = getattr(importlib.import_module(module), function)
    return renderer(report)
