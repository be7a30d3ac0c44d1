"""Integers and conditions of a script, as far as they are decided by what the file says."""

from __future__ import annotations

import operator
from collections.abc import Callable

from tree_sitter import Node

from sgcheck.scan.shell_state import State
from sgcheck.scan.shell_tree import Script
from sgcheck.scan.words import Field

_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "||": lambda a, b: int(bool(a) or bool(b)),
}
_LIMIT = 2**63


def to_int(text: str) -> int | None:
    """A decimal integer, or None."""
    text = text.strip()
    digits = text[1:] if text[:1] in "+-" else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def arithmetic(script: Script, node: Node, state: State, depth: int = 0) -> int | None:
    """The value of an arithmetic node, or None when it depends on something unknown."""
    if depth > 50:
        return None
    kind = node.type
    if kind == "number":
        return to_int(script.source(node))
    if kind in ("variable_name", "word", "simple_expansion", "expansion"):
        name = script.source(node).lstrip("$").strip("{}")
        if (number := to_int(name)) is not None and kind == "word":
            return number
        value = state.values.get(name)
        return to_int(value.text) if isinstance(value, Field) else None
    inner = [c for c in node.children if c.type not in ("$((", "))", "((", "(", ")", "$[", "]")]
    if kind in ("arithmetic_expansion", "parenthesized_expression", "test_command"):
        return arithmetic(script, inner[0], state, depth + 1) if len(inner) == 1 else None
    if kind == "unary_expression" and len(inner) == 2:
        number = arithmetic(script, inner[1], state, depth + 1)
        if number is None:
            return None
        sign = script.source(inner[0])
        return -number if sign == "-" else number if sign == "+" else int(not number)
    if kind == "ternary_expression" and len(inner) == 5:
        chosen = arithmetic(script, inner[0], state, depth + 1)
        if chosen is None:
            return None
        return arithmetic(script, inner[2 if chosen else 4], state, depth + 1)
    if kind == "binary_expression" and len(inner) == 3:
        left = arithmetic(script, inner[0], state, depth + 1)
        right = arithmetic(script, inner[2], state, depth + 1)
        if left is None or right is None:
            return None
        return _compute(script.source(inner[1]).strip(), left, right)
    return None


def _compute(sign: str, left: int, right: int) -> int | None:
    if sign in ("/", "%"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if sign == "/" else left - quotient * right
    if sign == "**":
        return left**right if 0 <= right < 64 and abs(left) < 1000 else None
    if sign in ("<<", ">>"):
        return (left << right if sign == "<<" else left >> right) if 0 <= right < 63 else None
    found = _BINARY.get(sign)
    if found is None:
        return None
    result = found(left, right)
    return result if abs(result) < _LIMIT else None


def compare(sign: str, left: str, right: str, *, glob: bool) -> bool | None:
    """A string or number comparison of `[ … ]` and `[[ … ]]` on known texts; None if not understood."""
    if sign in ("=", "==", "!="):
        if glob and any(c in right for c in "*?["):
            import fnmatch

            equal = fnmatch.fnmatchcase(left, right)
        else:
            equal = left == right
        return equal if sign != "!=" else not equal
    numbers = {"-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}
    if sign in numbers:
        a, b = to_int(left), to_int(right)
        return None if a is None or b is None else bool(_BINARY[numbers[sign]](a, b))
    return None
