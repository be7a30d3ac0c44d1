"""Parsing what others wrote: Python's warnings about it are none of the user's business."""

from __future__ import annotations

import ast
import warnings


def parse_quietly(source: str | bytes, path: str = "<unknown>") -> ast.Module:
    """The syntax tree of a module. Raises what `ast.parse` raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source, path)


def parsed(source: bytes) -> ast.Module | None:
    """The syntax tree of a module, None for one that is not understood."""
    try:
        return parse_quietly(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
