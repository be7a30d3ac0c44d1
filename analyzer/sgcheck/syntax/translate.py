"""Guarded translation: a module of the tree becomes restricted Python that CPython runs.

Everything that can meet an unknown, reach something foreign or change an object goes through a
guard (see `interp/guards.py`); all the rest stays as it is written, with its own line numbers, so
that tracebacks, log calls and field writes report the tree's lines. Relative imports are made
absolute, and `from m import a` at module level binds a lazy name, so that an import that is never
used does not cost its module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sgcheck.syntax import scopes
from sgcheck.syntax.translate_base import Scope, TranslationRefused
from sgcheck.syntax.translate_statements import Statements
from sgcheck.syntax.version import VERSION

__all__ = ["VERSION", "TranslationRefused", "Translator", "translate"]


class Translator(Statements):
    """Rewrites one module; see `Base` for the parameters."""

    # -- module --------------------------------------------------------------------

    def module(self, tree: ast.Module) -> ast.Module:
        """Translate a whole module (in place)."""
        if not self.plain_text:
            self._check_names(tree)
        self.quoted_annotations = any(
            isinstance(s, ast.ImportFrom)
            and s.module == "__future__"
            and any(a.name == "annotations" for a in s.names)
            for s in tree.body
        )
        self.scopes.append(Scope("module", frozenset()))
        if not self.eager:
            self._find_lazy(tree.body)
        if not self.branching:
            self.functions = frozenset(self._likely_functions(tree))
        tree.body = self._body(tree.body)
        self.scopes.pop()
        return tree

    def _check_names(self, tree: ast.AST) -> None:
        """Refuse identifiers that could shadow a guard."""
        for node in ast.walk(tree):
            for attribute in ("id", "arg", "attr", "name", "asname", "rest"):
                value = getattr(node, attribute, None)
                if isinstance(value, str):
                    self._check_name(value, node)

    def expression(self, node: ast.expr) -> ast.expr:
        """Translate one expression of the module's namespace (a string annotation)."""
        for child in ast.walk(node):
            for attribute in ("id", "arg", "attr"):
                value = getattr(child, attribute, None)
                if isinstance(value, str):
                    self._check_name(value, child)
        self.scopes.append(Scope("module", frozenset()))
        self.eager = True
        result: ast.expr = self.visit(node)
        self.scopes.pop()
        ast.fix_missing_locations(result)
        return result

    def _find_lazy(self, body: list[ast.stmt]) -> None:
        """Names that only lazy imports bind: a name bound in another way as well is not lazy."""
        from_imports: set[str] = set()
        other: set[str] = set()
        stack: list[ast.stmt] = list(body)
        binder = scopes._Binder()
        while stack:
            statement = stack.pop()
            if isinstance(statement, ast.ImportFrom):
                if self._may_be_lazy(statement):
                    from_imports.update(a.asname or a.name for a in statement.names)
                else:
                    other.update(a.asname or a.name for a in statement.names)
            elif isinstance(statement, ast.If):
                stack.extend(statement.body)
                stack.extend(statement.orelse)
                binder.visit(statement.test)
            else:
                binder.visit(statement)
        self.lazy = from_imports - other - binder.bound

    def _likely_functions(self, tree: ast.Module) -> Iterator[str]:
        """Names of the module's functions, and of those that it imports from the tree."""
        root = self.name.split(".")[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                yield node.name
            elif isinstance(node, ast.ImportFrom) and self._absolute(node).split(".")[0] == root:
                names = (alias.asname or alias.name for alias in node.names)
                yield from (name for name in names if name.lstrip("_")[:1].islower())

    def _may_be_lazy(self, node: ast.ImportFrom) -> bool:
        if any(a.name == "*" for a in node.names):
            return False
        module = self._absolute(node)
        root = self.name.split(".")[0]
        if module == "__future__" or module.split(".")[0] != root:
            return False
        # A package that imports its own submodules does so to register what they define.
        return not (
            self.package == self.name
            and (module == self.name or module.startswith(self.name + "."))
        )

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        base = self.package.split(".")
        if node.level - 1 > len(base) - 1:
            return "." * node.level + (node.module or "")
        base = base[: len(base) - (node.level - 1)]
        return ".".join([*base, node.module] if node.module else base)

    # -- imports -------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for alias in node.names:
            bound = alias.asname or alias.name.split(".")[0]
            whole = self._text(alias.asname is not None, node)
            value = self._guard("imp", node, self._text(alias.name, node), whole)
            out.extend(self._store_name(bound, value, node))
        return out

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | list[ast.stmt]:
        module = self._absolute(node)
        if module == "__future__":
            return []
        if node.names[0].name == "*":
            return self._at(ast.Expr(self._guard("star", node, self._text(module, node))), node)
        at_module = all(s.kind == "module" for s in self.scopes) and not self._in_try
        lazy = at_module and not self.eager and self._may_be_lazy(node)
        out: list[ast.stmt] = []
        plain: list[ast.alias] = []
        for alias in node.names:
            bound = alias.asname or alias.name
            if lazy and bound in self.lazy:
                value = self._guard(
                    "lz",
                    node,
                    self._text(module, node),
                    self._text(alias.name, node),
                    self._text(bound, node),
                )
                out.extend(self._store_name(bound, value, node))
            else:
                plain.append(alias)
        if plain:
            names = self._text(tuple(a.name for a in plain), node)
            value = self._guard("from", node, self._text(module, node), names)
            targets: ast.expr = self._at(
                ast.Tuple(
                    [self._at(ast.Name(a.asname or a.name, ast.Store()), node) for a in plain],
                    ast.Store(),
                ),
                node,
            )
            out.extend(self._store(targets, value, node))
        return out

    def visit_TypeAlias(self, node: ast.stmt) -> ast.stmt:
        return node


def translate(
    source: bytes | str, name: str, path: str, *, is_package: bool, eager: bool = False
) -> ast.Module:
    """Parse and translate one module. Raises SyntaxError, ValueError or TranslationRefused."""
    tree = ast.parse(source, filename=path)
    return Translator(name, is_package, eager=eager).module(tree)
