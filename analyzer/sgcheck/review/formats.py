"""The formats of a review but text, by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

from sgcheck.review.model import Review

FORMATS: Mapping[str, str] = {
    "json": "sgcheck.review.document:render",
    "markdown": "sgcheck.review.markdown:render",
    "sarif": "sgcheck.review.sarif:render",
    "html": "sgcheck.review.html:render",
}
"""Format -> `module:function`; the function takes a `Review` and gives the whole text."""


def render_as(name: str, review: Review) -> str:
    """The review in one of `FORMATS`."""
    module, _, function = FORMATS[name].partition(":")
    renderer: Callable[[Review], str] = getattr(importlib.import_module(module), function)
    return renderer(review)
