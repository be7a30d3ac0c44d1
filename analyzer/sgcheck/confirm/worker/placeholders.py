"""Packages that are not there: modules of which every name exists, made when SGLang asks."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

_HERE = str(Path(__file__).resolve().parent)


class Placeholder:
    """Stands for anything in a package that is not there: every attribute, call, item exists."""

    def __init__(self, path: str) -> None:
        self.__dict__["_path"] = path

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" and name[-2:] == "__":
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Placeholder(self._path + "." + name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # As a decorator it leaves what it decorates alone.
        if len(args) == 1 and not kwargs and isinstance(args[0], (type, types.FunctionType)):
            return args[0]
        return Placeholder(self._path + "()")

    def __getitem__(self, _: Any) -> Any:
        return Placeholder(self._path + "[]")

    def __mro_entries__(self, _: Any) -> tuple[type, ...]:
        return (PlaceholderClass,)

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def __or__(self, _: Any) -> Any:
        return self

    __ror__ = __or__


class _PlaceholderType(type):
    def __getattr__(cls, name: str) -> Any:
        if name[:2] == "__" and name[-2:] == "__":
            raise AttributeError(name)
        return Placeholder(cls.__name__ + "." + name)

    def __getitem__(cls, _: Any) -> Any:
        return cls

    def __iter__(cls) -> Any:
        return iter(())

    def __len__(cls) -> int:
        return 0

    def __bool__(cls) -> bool:
        return True


class PlaceholderClass(metaclass=_PlaceholderType):
    """A class of a package that is not there; one may derive from it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" and name[-2:] == "__":
            raise AttributeError(name)
        return Placeholder(type(self).__name__ + "." + name)


class PlaceholderModule(types.ModuleType):
    """A module that is not there."""

    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return self.__dict__.get("_version", "0.0.0")
        if name[:2] == "__" and name[-2:] == "__":
            raise AttributeError(name)
        value: Any
        if name[0].isupper() and not name.isupper():
            value = _PlaceholderType(name, (PlaceholderClass,), {"__module__": self.__name__})
        else:
            value = Placeholder(self.__name__ + "." + name)
        setattr(self, name, value)
        return value


class PlaceholderFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes last, and answers only SGLang. Other libraries that look see what is really installed,
    until SGLang has asked for the same.
    """

    def __init__(self, versions: dict[str, str], tree: str) -> None:
        self.versions = versions
        self.tree = tree

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """A placeholder's spec, if SGLang asks."""
        if fullname.partition(".")[0] not in self.versions or not self._asked_by_sglang():
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        spec.submodule_search_locations = []
        return spec

    def create_module(self, spec: Any) -> types.ModuleType:
        """The module itself."""
        module = PlaceholderModule(spec.name)
        module.__dict__["_version"] = self.versions[spec.name.partition(".")[0]]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Give it a file name that says what it is."""
        module.__file__ = "<placeholder " + module.__name__ + ">"

    def _asked_by_sglang(self) -> bool:
        frame = sys._getframe(2)
        while frame is not None:
            name = frame.f_code.co_filename
            if not (name.startswith("<frozen importlib") or os.sep + "importlib" + os.sep in name):
                return name.startswith((self.tree, _HERE))
            frame = frame.f_back  # type: ignore[assignment]
        return False


def add_packages(packages: list[dict[str, Any]], tree: str) -> list[str]:
    """Make the packages of the request importable; the modules that had to be replaced."""
    versions: dict[str, str] = {}
    dists: dict[str, str] = {}
    for package in packages:
        if package.get("version"):
            dists[package["name"]] = package["version"]
        for module in package["modules"]:
            try:
                found = importlib.util.find_spec(module) is not None
            except (ImportError, ValueError):
                found = False
            if not found:
                versions[module] = package.get("version") or "0.0.0"
    sys.meta_path.append(PlaceholderFinder(versions, tree))
    real = importlib.metadata.version

    def version(name: str) -> str:
        try:
            return real(name)
        except importlib.metadata.PackageNotFoundError:
            known = dists.get(re.sub(r"[-_.]+", "-", name).lower())
            if known is None:
                raise
            return known

    cast(Any, importlib.metadata).version = version
    return sorted(versions)


def forgive_missing_operators(modules: list[str]) -> None:
    """Registering something for an operator that is not there does nothing.

    It is not there where its library is a placeholder, or is built for another torch.
    """
    torch: Any = importlib.import_module("torch")
    library = torch.library
    for name in ("register_fake", "impl_abstract", "impl", "register_kernel", "register_autograd"):
        if hasattr(library, name):
            setattr(library, name, _forgiving(getattr(library, name), {*modules, "_C"}))


def _forgiving(original: Callable[..., Any], namespaces: set[str]) -> Callable[..., Any]:
    def is_missing(op: Any, error: Exception) -> bool:
        if isinstance(op, Placeholder):
            return True
        name = op if isinstance(op, str) else str(getattr(op, "_qualname", ""))
        return name.partition("::")[0] in namespaces or "does not exist" in str(error)

    def register(op: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            result = original(op, *args, **kwargs)
        except Exception as error:
            if not is_missing(op, error):
                raise
            given = [arg for arg in args if callable(arg)]
            return given[-1] if given else (lambda function: function)
        if not callable(result) or isinstance(result, type):
            return result

        def decorate(function: Any) -> Any:
            try:
                return result(function)
            except Exception as error:
                if not is_missing(op, error):
                    raise
                return function

        return decorate

    return register
