"""What has to be installed for a branch of a module's top level to run."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from library_reader import Library, Module

ASSUMED = {"torch", "numpy", "typing_extensions", *sys.stdlib_module_names}
"""Top-level modules that are there wherever SGLang runs."""

MAX_DEPTH = 8

PLATFORM = {
    "sys.platform == 'darwin'": False,
    "sys.platform == 'win32'": False,
    "sys.platform == 'linux'": True,
    "sys.platform.startswith('linux')": True,
    "os.name == 'nt'": False,
    "platform.system() == 'Windows'": False,
    "platform.system() == 'Linux'": True,
    "platform.machine() == 'arm64'": False,
    "torch.version.cuda is not None": True,
    "torch.version.cuda is None": False,
    "torch.version.hip is not None": False,
    "torch.version.hip is None": True,
    "TYPE_CHECKING": False,
    "typing.TYPE_CHECKING": False,
    "True": True,
    "False": False,
    "__debug__": True,
}
"""Tests that Linux and torch built for CUDA answer."""


class Conditions:
    """Reads conditions. A list of top-level modules that are needed; None in it: not known."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._known: dict[str, list[Any]] = {}

    def of(self, test: ast.expr, module: Module) -> bool | list[Any]:
        """A test: True, False, or what it needs."""
        text = ast.unparse(test)
        if text in PLATFORM:
            return PLATFORM[text]
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.of(test.operand, module)
            return not inner if isinstance(inner, bool) else [None]
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            parts = [self.of(value, module) for value in test.values]
            if False in parts:
                return False
            return [need for part in parts if isinstance(part, list) for need in part] or True
        if isinstance(test, ast.Compare) and text.endswith(" is not None"):
            return self.of(test.left, module)
        if isinstance(test, ast.Call):
            return self._call(test, module)
        if isinstance(test, ast.Name):
            return self._flag(test.id, module)
        return [None]

    def _call(self, call: ast.Call, module: Module) -> list[Any]:
        name = ast.unparse(call.func)
        if name.rpartition(".")[2] == "find_spec" and call.args:
            wanted = call.args[0]
            if isinstance(wanted, ast.Constant) and isinstance(wanted.value, str):
                top = wanted.value.partition(".")[0]
                return [] if self.library.exists(wanted.value) else [top]
            return [None]
        found = self._function(name, module)
        if found is None:
            return [None]
        body = [s for s in found[0].body if not _is_text(s)]
        if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
            answer = self.of(body[0].value, found[1])
            return answer if isinstance(answer, list) else [] if answer else [None]
        if body and isinstance(body[0], ast.Try) and _returns_truth(body[0]):
            return self.of_body(body[0].body, found[1])
        return [None]

    def _function(self, name: str, module: Module) -> tuple[ast.FunctionDef, Module] | None:
        fact = module.names.get(name)
        if fact is not None and fact[0] == "i" and self.library.owns(fact[1]):
            other = self.library.module(fact[1])
            return self._function(fact[2], other) if other is not None else None
        for node in module.tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node, module
        return None

    def _flag(self, name: str, module: Module) -> list[Any]:
        """A flag that one `try` at the top level sets to True when its imports succeed."""
        for node in module.tree.body:
            if isinstance(node, ast.Try):
                for statement in (*node.body, *node.orelse):
                    if _sets_true(statement, name):
                        return self.of_body(node.body, module)
            if (
                isinstance(node, ast.Assign)
                and _assigned(node) == name
                and isinstance(node.value, ast.Call)
            ):
                return self._call(node.value, module)
        fact = module.names.get(name)
        if fact is not None and fact[0] == "i" and self.library.owns(fact[1]):
            other = self.library.module(fact[1])
            if other is not None:
                return self._flag(fact[2], other)
        return [None]

    def of_body(self, body: list[ast.stmt], module: Module) -> list[Any]:
        """The packages that the imports of a `try` need."""
        needs: list[Any] = []
        for statement in body:
            for need in self._statement(statement, module, 0):
                if need not in needs:
                    needs.append(need)
        return needs

    def of_module(self, module: Module) -> list[str]:
        """The packages without which the import of a module fails for certain."""
        return sorted({need for need in self._module(module.name, 0) if need is not None})

    def _statement(self, node: ast.stmt, module: Module, depth: int) -> list[Any]:
        if isinstance(node, ast.Import):
            out: list[Any] = []
            for alias in node.names:
                out += self._imported(alias.name, "", depth)
            return out
        if isinstance(node, ast.ImportFrom):
            source = module.absolute(node.module, node.level)
            out = []
            for alias in node.names:
                out += self._imported(source, alias.name, depth)
            return out
        if isinstance(node, ast.Assign | ast.AnnAssign):
            safe = isinstance(node.value, ast.Constant | ast.Name)
            return [] if safe or depth else [None]
        if isinstance(node, ast.Raise | ast.Assert) and not depth:
            return [None]
        return []

    def _imported(self, source: str, name: str, depth: int) -> list[Any]:
        top = source.partition(".")[0]
        if not self.library.owns(source):
            return [] if top in ASSUMED else [top]
        target = f"{source}.{name}" if name and self.library.exists(f"{source}.{name}") else source
        if not self.library.exists(target):
            return [None]
        out: list[Any] = []
        parts = target.split(".")
        for index in range(1, len(parts) + 1):
            out += self._module(".".join(parts[:index]), depth + 1)
        return out

    def _module(self, name: str, depth: int) -> list[Any]:
        """What the import of a whole module of the package needs."""
        if name in self._known:
            return self._known[name]
        self._known[name] = []
        found = self.library.module(name)
        if found is None or depth > MAX_DEPTH:
            return []
        needs: list[Any] = []
        for statement in found.tree.body:
            for need in self._statement(statement, found, depth):
                if need not in needs:
                    needs.append(need)
        self._known[name] = needs
        return needs


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr | ast.Import | ast.ImportFrom) and not isinstance(
        getattr(node, "value", None), ast.Call
    )


def _returns_truth(node: ast.Try) -> bool:
    last = node.body[-1]
    return isinstance(last, ast.Return) and ast.unparse(last) == "return True"


def _assigned(node: ast.Assign) -> str:
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _sets_true(node: ast.stmt, name: str) -> bool:
    return (
        isinstance(node, ast.Assign)
        and _assigned(node) == name
        and isinstance(node.value, ast.Constant)
        and node.value.value is True
    )
