"""Patterns of `match`: they read attributes by name, so their classes and names go through guards.

`case C(x)` makes Python read the attributes that `C.__match_args__` names. A stand-in takes the
place of `C`, whose `__match_args__` are checked; it asks for the class when the pattern is tried.
"""

from __future__ import annotations

import ast

from sgcheck.syntax.names import FORBIDDEN_ATTRIBUTES
from sgcheck.syntax.translate_base import TranslationRefused
from sgcheck.syntax.translate_expressions import Expressions

_SELF_MATCHING = frozenset(
    {
        "bool",
        "bytearray",
        "bytes",
        "dict",
        "float",
        "frozenset",
        "int",
        "list",
        "set",
        "str",
        "tuple",
    }
)
"""Builtin classes whose pattern's only argument is the value itself."""


class Patterns(Expressions):
    """The translation of patterns."""

    def _pattern(self, pattern: ast.pattern) -> list[ast.stmt]:
        """Translate a pattern in place; statements that must run before the `match`."""
        before: list[ast.stmt] = []
        for node in ast.walk(pattern):
            if isinstance(node, ast.MatchClass):
                before.extend(self._class_pattern(node))
            elif isinstance(node, ast.MatchValue):
                before.extend(self._value_pattern(node.value))
            elif isinstance(node, ast.MatchMapping):
                for key in node.keys:
                    before.extend(self._value_pattern(key))
        return before

    def _class_pattern(self, node: ast.MatchClass) -> list[ast.stmt]:
        for name in node.kwd_attrs:
            self._check_attribute(name, node)
        if isinstance(node.cls, ast.Name) and node.cls.id in _SELF_MATCHING:
            made = self._guard("mb", node.cls, self.visit(node.cls))
        elif self.scope.kind == "class":
            raise TranslationRefused("a class pattern in a class body is not modelled", node.lineno)
        else:
            made = self._guard("mc", node.cls, self._thunk(self.visit(node.cls)))
        name = self._fresh()
        node.cls = self._at(ast.Name(name, ast.Load()), node.cls)
        return [self._at(ast.Assign([self._at(ast.Name(name, ast.Store()), node)], made), node)]

    def _value_pattern(self, value: ast.expr) -> list[ast.stmt]:
        root = value
        while isinstance(root, ast.Attribute):
            self._check_attribute(root.attr, root)
            root = root.value
        if isinstance(root, ast.Name) and root.id in self.lazy and self._is_module_name(root.id):
            # The pattern reads the name itself: the lazy import behind it is made first.
            return [self._at(ast.Expr(self._lazy_load(root)), root)]
        return []

    def _check_attribute(self, name: str, node: ast.expr | ast.pattern) -> None:
        if name in FORBIDDEN_ATTRIBUTES or (name.startswith("__") and name.endswith("__")):
            raise TranslationRefused(f"the attribute {name!r} in a pattern", node.lineno)
