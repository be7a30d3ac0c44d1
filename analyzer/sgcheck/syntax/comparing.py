"""What a comparison of two plain values gives."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

BY_VALUE: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def compared(sign: ast.cmpop, left: Any, right: Any) -> bool | None:
    """The truth of a comparison by value; None for any other, and for values that have no order."""
    compare = BY_VALUE.get(type(sign))
    try:
        return None if compare is None else bool(compare(left, right))
    except TypeError:
        return None
