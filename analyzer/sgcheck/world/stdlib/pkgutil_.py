"""pkgutil: the modules of the tree's own packages."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

from sgcheck.interp import guards
from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape
from sgcheck.values.unknown import find_unknown
from sgcheck.world.facade import Facade
from sgcheck.world.files import SITE, Files


def _modules(files: Files, folder: str) -> Iterator[tuple[str, bool]]:
    """Names of the modules in a folder and whether each is a package, in Python's order."""
    seen = {"__init__"}
    for entry in sorted(files.listdir(folder)):
        name = inspect.getmodulename(entry)
        package = False
        if not name and "." not in entry and files.isdir(f"{folder}/{entry}"):
            inner = files.listdir(f"{folder}/{entry}")
            package = any(inspect.getmodulename(file) == "__init__" for file in inner)
            name = entry if package else None
        if name and "." not in name and name not in seen:
            seen.add(name)
            yield name, package


def build(load: Callable[[str], Any], files: Files) -> Facade:
    """The module `pkgutil`; `load` imports by name."""

    def iter_modules(path: Any = None, prefix: str = "") -> Iterator[Any]:
        unknown = find_unknown([path, prefix])
        if unknown is not None:
            raise Escape(unknown.reason)
        if path is None:
            raise Escape(Reason("not-modelled(pkgutil.iter_modules() of everything installed)"))
        for folder in path:
            if not str(folder).startswith(f"{SITE}/"):
                raise Escape(Reason("not-modelled(pkgutil.iter_modules())", detail=str(folder)))
            for name, package in _modules(files, str(folder)):
                guards.tick()
                yield pkgutil.ModuleInfo(None, prefix + name, package)  # type: ignore[arg-type]

    def resolve_name(name: Any) -> Any:
        unknown = find_unknown(name)
        if unknown is not None:
            raise Escape(unknown.reason)
        module, colon, rest = str(name).partition(":")
        if not all(part.isidentifier() for part in module.split(".")):
            raise ValueError(f"invalid format: {name!r}")
        found, parts = None, rest.split(".") if rest else []
        if colon:
            found = load(module)
        else:
            first, *others = module.split(".")
            found, path = load(first), first
            while others:
                path = f"{path}.{others[0]}"
                try:
                    found = load(path)
                except ImportError:
                    break
                others.pop(0)
            parts = others
        for part in parts:
            found = guards.attribute(found, part)
        return found

    names = {"ModuleInfo": pkgutil.ModuleInfo, "iter_modules": iter_modules}
    return Facade("pkgutil", {**names, "resolve_name": resolve_name})
