"""What every part of the translator needs: scopes, places in the text, calls of guards."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TypeVar

from sgcheck.syntax.names import PREFIX, RESERVED_NAMES, guard

# Calls that must stay plain calls: the interpreter looks at the calling frame.
FRAME_CALLS = frozenset({"super", "locals", "globals", "vars", "dir"})

_T = TypeVar("_T", bound=ast.AST)


class TranslationRefused(Exception):
    """The source cannot be run under guard; `line` says where."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(slots=True)
class Scope:
    kind: str  # "module" | "class" | "function" | "comprehension"
    bound: frozenset[str]
    globals: frozenset[str] = frozenset()
    nonlocals: frozenset[str] = frozenset()
    class_name: str | None = None
    joined: set[str] = field(default_factory=set)
    calls: bool = False
    """Whether functions are called here without a guard that counts."""


class Base(ast.NodeTransformer):
    """State and helpers. `name` is the module's dotted name; `package` the one that it belongs to."""

    def __init__(
        self, name: str, is_package: bool, *, eager: bool = False, branching: bool = False
    ) -> None:
        self.name = name
        self.package = name if is_package else name.rpartition(".")[0]
        self.eager = eager
        self.branching = branching
        self.plain_text = False
        """Whether no identifier of the source can be reserved (set by who has the text)."""
        self.scopes: list[Scope] = []
        self.lazy: set[str] = set()
        self.functions: frozenset[str] = frozenset()
        """Names that most likely stand for functions of the tree."""
        self.quoted_annotations = False
        self._in_try = 0
        self._temporary = 0

    # -- helpers -------------------------------------------------------------------

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    def _function_depth(self) -> bool:
        return any(s.kind == "function" for s in self.scopes)

    def _load(self, name: str, at: ast.AST) -> ast.Name:
        return self._at(ast.Name(guard(name), ast.Load()), at)

    @staticmethod
    def _at(node: _T, at: ast.AST) -> _T:
        return ast.copy_location(node, at)

    def _guard(self, name: str, at: ast.AST, *args: ast.expr) -> ast.Call:
        return self._at(ast.Call(self._load(name, at), list(args), []), at)

    def _text(self, value: object, at: ast.AST) -> ast.Constant:
        return self._at(ast.Constant(value), at)  # type: ignore[arg-type]

    def _fresh(self) -> str:
        self._temporary += 1
        return f"{PREFIX}{self._temporary}"

    def _is_module_name(self, name: str) -> bool:
        """Whether `name`, read here, is the module's (or a builtin), not a local."""
        for scope in reversed(self.scopes):
            if scope.kind == "module":
                return True
            if name in scope.globals:
                return True
            if scope.kind == "class" and scope is not self.scopes[-1]:
                continue
            if name in scope.bound or name in scope.nonlocals:
                return False
        return True

    def _mangle(self, name: str) -> str:
        if name.startswith("__") and not name.endswith("__"):
            for scope in reversed(self.scopes):
                if scope.kind == "class" and scope.class_name:
                    stripped = scope.class_name.lstrip("_")
                    return f"_{stripped}{name}" if stripped else name
        return name

    def _check_name(self, name: str, node: ast.AST) -> None:
        if PREFIX in name or name in RESERVED_NAMES:
            raise TranslationRefused(
                f"the identifier {name!r} is reserved", getattr(node, "lineno", None)
            )

    def _body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in statements:
            result = self.visit(statement)
            if isinstance(result, list):
                out.extend(result)
            elif result is not None:
                out.append(result)
        return out

    def _thunk(self, body: ast.expr) -> ast.Lambda:
        # The parameter marks a lambda that the source does not have.
        marker = self._at(ast.arg(PREFIX), body)
        nothing = ast.arguments(
            posonlyargs=[],
            args=[marker],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[self._text(None, body)],
        )
        return self._at(ast.Lambda(nothing, body), body)

    def _may_be_delayed(self, node: ast.expr) -> bool:
        """Whether `lambda: node` means the same as `node` here."""
        if self.scope.kind == "class":
            return False
        return not any(
            isinstance(n, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await)
            or (isinstance(n, ast.Name) and n.id in FRAME_CALLS)
            for n in ast.walk(node)
        )
