"""The tree's registry of model classes, filled as its classes are looked up.

SGLang imports every module of `sglang.srt.models` to find the classes that its `EntryClass` names;
a launch needs one or two of them. Which module has which class is read from the source, and the
module runs when somebody asks for the class. A module that cannot be imported has none, as there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from sgcheck.source.tree import Tree

_ENTRY = re.compile(rb"^EntryClass\s*(?::[^=\n]*)?=\s*(\[[^\]]*\]|[\w.]+)", re.MULTILINE)
_NAME = re.compile(rb"[A-Za-z_]\w*")


def architectures(tree: Tree, package: str) -> dict[str, str]:
    """Names of model classes and the modules that enter them; `?MODULE` where no name can be read."""
    folder = package.replace(".", "/")
    found: dict[str, str] = {}
    for entry in sorted(tree.listdir(folder)):
        if not entry.endswith(".py") or entry == "__init__.py":
            continue
        source = tree.read(f"{folder}/{entry}")
        if b"EntryClass" not in source:
            continue
        module = f"{package}.{entry.removesuffix('.py')}"
        names = [
            name.decode()
            for match in _ENTRY.finditer(source)
            for name in _NAME.findall(re.sub(rb"#[^\n]*", b"", match[1]))
        ]
        for name in names or [f"?{module}"]:
            found.setdefault(name, module)
    return found


class ModelClasses(MutableMapping[str, Any]):
    """Model classes by architecture; each module is imported when one of its classes is wanted."""

    __module__ = "builtins"

    def __init__(self, where: dict[str, str], load: Callable[[str], Any]) -> None:
        self._where = where
        self._load = load
        self._own: dict[str, Any] = {}

    def _find(self, name: str) -> Any:
        if name in self._own:
            return self._own[name]
        modules = [self._where[name]] if name in self._where else []
        modules += [m for n, m in self._where.items() if n.startswith("?")] if not modules else []
        for module in modules:
            for cls in self._entries(module):
                self._own.setdefault(cls.__name__, cls)
        return self._own.get(name)

    def _entries(self, module: str) -> list[Any]:
        try:
            entry = getattr(self._load(module), "EntryClass", [])
        except Exception:
            return []
        return list(entry) if isinstance(entry, (list, tuple)) else [entry]

    def __getitem__(self, name: str) -> Any:
        found = self._find(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    def __setitem__(self, name: str, cls: Any) -> None:
        self._own[name] = cls

    def __delitem__(self, name: str) -> None:
        self._own.pop(name, None)
        self._where.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter([n for n in dict.fromkeys([*self._own, *self._where]) if not n.startswith("?")])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __or__(self, other: Any) -> ModelClasses:
        made = ModelClasses(dict(self._where), self._load)
        made._own = {**self._own, **dict(other)}
        return made


def binding(tree: Tree, load: Callable[[str], Any]) -> Callable[[str, Any], Any]:
    """What a registry's module binds: its functions that import every model are modelled."""

    def import_model_classes(package_name: str, strict: bool = False) -> Any:
        return ModelClasses(architectures(tree, package_name), load)

    def register(
        self: Any, package_name: str, overwrite: bool = False, strict: bool = False
    ) -> None:
        self.models = import_model_classes(package_name) | self.models

    def bound(name: str, value: Any) -> Any:
        if name == "import_model_classes":
            return import_model_classes
        if name == "_ModelRegistry" and isinstance(value, type):
            type.__setattr__(value, "register", register)
        return value

    return bound
