"""Names that only the turns of a loop read, and names that something else reads too."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest

from sgcheck.syntax.liveness import Liveness


def turn_names(body: str) -> list[str]:
    """Of the first loop of a function with that body."""
    function = ast.parse("def f(rows, x=None):\n" + indent(body, "    ")).body[0]
    assert isinstance(function, ast.FunctionDef)
    loop = next(node for node in ast.walk(function) if isinstance(node, ast.For))
    return Liveness(function).turn_names(loop)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("for x in rows:\n    if x:\n        return x", ["x"]),
        ("for source, (x, y) in rows:\n    if x:\n        return y", ["source", "x", "y"]),
        ("for x in rows:\n    x += 1\n    print([y for y in rows if y == x])", ["x"]),
        ("for x in rows:\n    break\nreturn x", []),
        ("for x in rows:\n    break\nelse:\n    return x", []),
        ("for x in rows:\n    break\nx += 1", []),
        ("for x in rows:\n    break\ndel x", []),
        ("for x, y in rows:\n    break\nreturn x", ["y"]),
        ("for z in rows:\n    for x in x:\n        break\n    z = x", ["z"]),
        ("for x in rows:\n    rows.append(lambda: x)", []),
        ("for x in rows:\n    rows.append(y for y in rows if y == x)", []),
        ("for x in rows:\n    break\nreturn [y for y in rows if y == x]", []),
        ("def g():\n    return x\nfor x in rows:\n    break\nreturn g", []),
        ("for x in rows:\n    break\nreturn locals()", []),
        ("global x\nfor x in rows:\n    break", []),
        ("for rows[0] in rows:\n    break", []),
        ("for x, *y in rows:\n    break", []),
        ("for x in x:\n    break", []),
    ],
)
def test_names_of_a_turn(body: str, names: list[str]) -> None:
    assert turn_names(body) == names
