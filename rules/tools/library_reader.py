"""Reads what the modules of an unpacked wheel bind at their top level, without importing them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from library_conditions import Conditions

ENUMS = {"Enum", "IntEnum", "StrEnum", "IntFlag", "Flag"}


class Module:
    """One module of the package: what its top level binds."""

    def __init__(self, name: str, path: Path, is_package: bool) -> None:
        self.name, self.path, self.is_package = name, path, is_package
        self.names: dict[str, list[Any]] = {}
        self.stars: list[str] = []
        self.exported: list[str] | None = None
        self.open = ""
        self.tree = ast.parse(path.read_bytes())
        self.rebound = {
            name
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Global)
            for name in node.names
        }
        """Names that functions of the module set anew."""
        self.functions = {
            node.lineno: node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)
        }

    def absolute(self, module: str | None, level: int) -> str:
        """The module that an import statement names."""
        if not level:
            return module or ""
        parts = self.name.split(".")
        parts = parts[: len(parts) - level + self.is_package]
        return ".".join([*parts, *([module] if module else [])])


class Library:
    """A distribution, unpacked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths = dict(self._find())
        self.compiled = sorted(set(self._compiled()) - self.paths.keys())
        self.all = {*self.paths, *self.compiled}
        for name in (*self.paths, *self.compiled):
            parts = name.split(".")
            self.all |= {".".join(parts[:i]) for i in range(1, len(parts))}
        self.tops = {name.partition(".")[0] for name in self.all}
        self._modules: dict[str, Module] = {}
        self.conditions = Conditions(self)

    def _find(self) -> Iterator[tuple[str, tuple[Path, bool]]]:
        for path in sorted(self.folder.rglob("*.py")):
            parts = path.relative_to(self.folder).with_suffix("").parts
            if any(not part.isidentifier() for part in parts) or parts[0].startswith("build_"):
                continue
            package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if package else parts)
            if name:
                yield name, (path, package)

    def _compiled(self) -> Iterator[str]:
        listing = self.folder / "LIST"
        for line in listing.read_text().splitlines() if listing.exists() else ():
            path = line.rpartition(" ")[2]
            stem, dot, tail = path.partition(".")
            if dot and tail.endswith("so") and all(p.isidentifier() for p in stem.split("/")):
                yield stem.replace("/", ".")

    def exists(self, name: str) -> bool:
        return name in self.all

    def owns(self, name: str) -> bool:
        return name.partition(".")[0] in self.tops

    def module(self, name: str) -> Module | None:
        """A module with its names, read once."""
        if name not in self._modules:
            if name not in self.paths:
                return None
            made = self._modules[name] = Module(name, *self.paths[name])
            Reader(self, made).read()
        return self._modules[name]


class Reader:
    """Reads the top level of one module."""

    def __init__(self, library: Library, module: Module) -> None:
        self.library, self.module = library, module

    def read(self) -> None:
        self._body(self.module.tree.body, [])
        self._expand_stars()

    def _bind(self, name: str, fact: list[Any], needs: list[Any]) -> None:
        """`needs`: what must be installed for the binding to happen; None in it: not known."""
        known = self.module.names.get(name)
        if needs:
            if known is not None and not known[-1]:
                # There in any case; which of the two it is, is not known.
                if known[:-1] != fact:
                    self.module.names[name] = ["o", 0, []]
                return
            if known is not None and known[-1] != needs:
                # Bound in several branches: there if any is; which one, is not known.
                self.module.names[name] = ["o", *known[1:-1], _either(known[-1], needs)]
                return
        self.module.names[name] = [*fact, needs]

    def _body(self, body: list[ast.stmt], needs: list[Any]) -> None:
        for statement in body:
            self._statement(statement, needs)

    def _statement(self, node: ast.stmt, needs: list[Any]) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name == "__getattr__":
                self._dynamic(node)
            else:
                self._bind(node.name, ["f", node.lineno], needs)
        elif isinstance(node, ast.ClassDef):
            self._bind(node.name, self._class(node), needs)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                source = alias.name if alias.asname else alias.name.partition(".")[0]
                self._bind(alias.asname or source, ["i", source, ""], needs)
        elif isinstance(node, ast.ImportFrom):
            self._import_from(node, needs)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._assign(node, needs)
        elif isinstance(node, ast.If):
            self._if(node, needs)
        elif isinstance(node, ast.Try):
            self._try(node, needs)
        elif isinstance(node, ast.With):
            self._body(node.body, needs)
        elif isinstance(node, ast.For | ast.While):
            self._loop(node)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.module.names.pop(target.id, None)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = ast.unparse(node.value.func)
            if "globals()" in ast.unparse(node.value) or called in ("exec", "setattr", "install"):
                self.module.open = f"line {node.lineno} binds names"

    def _loop(self, node: ast.For | ast.While) -> None:
        text = ast.unparse(node)
        if isinstance(node, ast.For) and "globals()" in ast.unparse(node.iter):
            # Goes over the names that are there.
            text = text.replace("globals()", "")
        inner = node.body[0] if len(node.body) == 1 else None
        if isinstance(inner, ast.If) and ast.unparse(inner.test).endswith(" in globals()"):
            text = text.replace("globals()", "")
        if any(word in text for word in ("globals()", "setattr(", "exec(")):
            self.module.open = f"line {node.lineno} binds names"

    def _dynamic(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A module's `__getattr__`: the names in its tables are there, others are not known."""
        text = {
            n.value
            for n in ast.walk(node)
            if isinstance(n, ast.Constant) and isinstance(n.value, str)
        }
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        for other in self.module.tree.body:
            targets = _targets(other)
            if targets & used:
                text |= {
                    n.value
                    for n in ast.walk(other)
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                }
        for name in sorted(text):
            if name.isidentifier() and not name.startswith("__"):
                self.module.names.setdefault(name, ["o", node.lineno, [None]])
        if not self._closed(node):
            self.module.open = f"line {node.lineno}: __getattr__"

    def _closed(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether it answers the names of tables of the same module and refuses all others."""
        ends = [s for s in node.body if not isinstance(s, ast.Expr)]
        refuses = ends[-1]
        if isinstance(ends[0], ast.If) and " not in " in ast.unparse(ends[0].test):
            refuses = ends[0].body[-1]
        if not (isinstance(refuses, ast.Raise) and "AttributeError" in ast.unparse(refuses)):
            return False
        own = set().union(*map(_targets, self.module.tree.body))
        for part in ast.walk(node):
            if isinstance(part, ast.Compare) and isinstance(part.left, ast.Name):
                for other in part.comparators:
                    if isinstance(other, ast.Name) and other.id not in own:
                        return False
        return True

    def _import_from(self, node: ast.ImportFrom, needs: list[Any]) -> None:
        source = self.module.absolute(node.module, node.level)
        for alias in node.names:
            if alias.name == "*":
                self.module.stars.append(source)
            else:
                self._bind(alias.asname or alias.name, ["i", source, alias.name], needs)

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, needs: list[Any]) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is None:
            return
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            for part in parts:
                if not isinstance(part, ast.Name):
                    if isinstance(part, ast.Subscript) and "globals()" in ast.unparse(part):
                        self.module.open = f"line {node.lineno} binds names"
                    continue
                if part.id == "__all__":
                    self._all(node)
                    continue
                fact: list[Any] = ["o", node.lineno]
                if parts[0] is target and not isinstance(node, ast.AugAssign):
                    fact = self._value(part.id, node.value, node.lineno)
                self._bind(part.id, fact, needs)

    def _all(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        try:
            found = list(ast.literal_eval(node.value))  # type: ignore[arg-type]
        except (ValueError, TypeError):
            return
        if isinstance(node, ast.AugAssign):
            found = [*(self.module.exported or []), *found]
        self.module.exported = found

    def _value(self, name: str, value: ast.expr, line: int) -> list[Any]:
        if (
            isinstance(value, ast.Constant)
            and name not in self.module.rebound
            and isinstance(value.value, int | float | str | bool | None)
        ):
            if not isinstance(value.value, str) or len(value.value) <= 40:
                return ["v", value.value]
            return ["o", line]
        if isinstance(value, ast.Name) and value.id in self.module.names:
            return list(self.module.names[value.id][:-1])
        return ["o", line]

    def _class(self, node: ast.ClassDef) -> list[Any]:
        bases = [ast.unparse(base) for base in node.bases]
        if {b.rpartition(".")[2] for b in bases} & ENUMS:
            members = _members(node)
            if members is not None:
                kind = next(b.rpartition(".")[2] for b in bases if b.rpartition(".")[2] in ENUMS)
                return ["e", node.lineno, kind, members]
        methods = sorted(
            {
                n.name
                for n in node.body
                if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
                and not (n.name.startswith("__") and n.name != "__getattr__")
            }
        )
        made = _attributes(node)
        return ["c", node.lineno, bases, " ".join(methods), *([made] if made else [])]

    def _if(self, node: ast.If, needs: list[Any]) -> None:
        test = self.library.conditions.of(node.test, self.module)
        if test is True:
            self._body(node.body, needs)
        elif test is False:
            self._body(node.orelse, needs)
        else:
            own = test if isinstance(test, list) else [None]
            self._both(node.body, own, node.orelse, needs)

    def _try(self, node: ast.Try, needs: list[Any]) -> None:
        own = self.library.conditions.of_body(node.body, self.module)
        other = [s for handler in node.handlers for s in handler.body]
        if own:
            self._both([*node.body, *node.orelse], own, other, needs)
        else:
            self._body([*node.body, *node.orelse], needs)
        self._body(node.finalbody, needs)

    def _both(
        self, body: list[ast.stmt], own: list[Any], other: list[ast.stmt], needs: list[Any]
    ) -> None:
        """Two branches: what both bind is there; what one binds, where its needs are met."""
        common = set().union(*map(_bound, body)) & set().union(*map(_bound, other))
        before = {name: self.module.names.get(name) for name in common}
        self._body(body, [*needs, *(n for n in own if n not in needs)])
        first = {name: self.module.names.get(name) for name in common}
        for name in common:
            if before[name] is None:
                self.module.names.pop(name, None)
            else:
                self.module.names[name] = before[name]  # type: ignore[assignment]
        self._body(other, [*needs, None])
        for name in common:
            fact = first[name]
            if fact is None or fact == before[name]:
                continue
            second = self.module.names.get(name)
            same = second is not None and second[:-1] == fact[:-1]
            self.module.names[name] = [*(fact[:-1] if same else ["o", *fact[1:-1]]), list(needs)]
            if not same:
                self.module.names[name] = ["o", 0, list(needs)]

    def _expand_stars(self) -> None:
        for source in self.module.stars:
            other = self.library.module(source) if self.library.owns(source) else None
            if other is None:
                self.module.open = f"from {source} import *"
                continue
            if other.open and other.exported is None:
                self.module.open = f"from {source} import *"
            public = other.exported
            if public is None:
                public = [n for n in other.names if not n.startswith("_")]
            for name in public:
                if name in other.names:
                    self.module.names.setdefault(name, ["i", source, name, other.names[name][-1]])


def _either(left: list[Any], right: list[Any]) -> list[Any]:
    return left if left == right else [None]


def _targets(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.Assign):
        return {t.id for t in node.targets if isinstance(t, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    return set()


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement of a branch binds for certain."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return {node.name}
    if isinstance(node, ast.Import):
        return {a.asname or a.name.partition(".")[0] for a in node.names}
    if isinstance(node, ast.ImportFrom):
        return {a.asname or a.name for a in node.names}
    return _targets(node)


def _attributes(node: ast.ClassDef) -> dict[str, Any]:
    """Attributes that a class body makes of constants: `[constructor, *arguments]`, or another's name."""
    out: dict[str, Any] = {}
    for statement in node.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        name, value = statement.targets[0].id, statement.value
        if isinstance(value, ast.Name) and value.id in out:
            out[name] = value.id
        elif isinstance(value, ast.Call) and not value.keywords:
            parts = [
                ast.unparse(a).rpartition(".")[2]
                if isinstance(a, ast.Attribute)
                else getattr(a, "value", ...)
                for a in value.args
            ]
            if all(p is None or isinstance(p, str | int) for p in parts):
                out[name] = [ast.unparse(value.func).rpartition(".")[2], *parts]
    return out


def _members(node: ast.ClassDef) -> dict[str, Any] | None:
    """The members of an enumeration, None where a value is no constant."""
    out: dict[str, Any] = {}
    for statement in node.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        if not isinstance(target, ast.Name):
            return None
        if isinstance(value, ast.Call) and ast.unparse(value.func) in ("auto", "enum.auto"):
            numbers = [v for v in out.values() if isinstance(v, int)]
            out[target.id] = max(numbers, default=0) + 1
            continue
        if isinstance(value, ast.Tuple) and len(value.elts) == 1:
            value = value.elts[0]
        try:
            found = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError):
            if isinstance(value, ast.Name) and value.id in out:
                found = out[value.id]
            else:
                return None
        if not isinstance(found, int | str):
            return None
        out[target.id] = found
    return out or None
