"""Modules of installed packages whose names are recorded for the version that is installed.

A name that the version lacks raises as Python does; functions and classes are leaves; constants
and enumerations have their values. Versions that are not recorded stay as `installed_` has them.
"""

from __future__ import annotations

import builtins
import enum
from collections.abc import Callable
from typing import Any, Protocol

from sgcheck.world import scalar_types
from sgcheck.world.facade import Facade, ForeignObject, not_modelled, unmodelled_class
from sgcheck_rules import libraries
from sgcheck_rules.libraries import Gate, LibraryFacts, Name

_ENUMS: dict[str, Any] = {
    "Enum": enum.Enum,
    "IntEnum": enum.IntEnum,
    "StrEnum": enum.StrEnum,
    "Flag": enum.Flag,
    "IntFlag": enum.IntFlag,
}
_LINKS = 12


class Packages(Protocol):
    """What is installed beside SGLang."""

    def has_module(self, top: str) -> bool | None: ...

    def version(self, dist: str) -> str | None: ...


class GatedFunction(ForeignObject):
    """A function that its package refuses on some devices: calling it there raises."""

    __slots__ = ("_gate", "_library")

    def __init__(self, name: str, gate: Gate, library: Library) -> None:
        super().__init__(name)
        self._gate, self._library = gate, library

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        answer = super().__call__(*args, **kwargs)
        refusal = self._library.refusal(self._gate, args, kwargs)
        if refusal is not None:
            raise refusal
        return answer


class LibraryModule(Facade):
    """A module of a recorded version: it has the recorded names and no others."""

    def __init__(self, name: str, library: Library) -> None:
        super().__init__(name, {})
        self.__dict__["_library"] = library

    def __getattr__(self, name: str) -> Any:
        library: Library = self.__dict__["_library"]
        found = library.value(self.__name__, name)
        if found is not _MISSING:
            self.__dict__[name] = found
            return found
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        facts = library.facts.module(self.__name__)
        if facts is None or facts.open is not None:
            return super().__getattr__(name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class Library:
    """One installed package, and the objects that were made of its facts."""

    def __init__(
        self,
        facts: LibraryFacts,
        packages: Packages,
        load: Callable[[str], Any],
        capability: tuple[int, int] | None,
    ) -> None:
        self.facts, self._packages, self._load = facts, packages, load
        self._capability = capability
        self._made: dict[tuple[str, str], Any] = {}

    def module(self, name: str) -> LibraryModule:
        """A module of the package. ModuleNotFoundError: it has none of that name, or needs another."""
        if not self.facts.exists(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        known = self.facts.module(name)
        for need in known.needs if known is not None else ():
            if self._packages.has_module(need) is False:
                raise ModuleNotFoundError(f"No module named {need!r}", name=need)
        return LibraryModule(name, self)

    def value(self, module: str, name: str, links: int = 0) -> Any:
        """What a module binds to a name, `_MISSING` where nothing."""
        facts = self.facts.module(module)
        found = facts.names.get(name) if facts is not None else None
        if found is None or not self._is_there(found):
            full = f"{module}.{name}"
            return self._load(full) if self.facts.exists(full) else _MISSING
        key = module, name
        if key not in self._made:
            self._made[key] = self._make(module, name, found, links)
        return self._made[key]

    def _exception(self, module: str, name: str, found: Name) -> type | None:
        """A class of exceptions; None: it is none."""
        for base in found.data[1]:
            kind = getattr(builtins, base, None) or (
                self.value(module, base) if base.isidentifier() else None
            )
            if isinstance(kind, type) and issubclass(kind, Exception):
                return type(name, (kind,), {"__module__": module})
        return None

    def refusal(self, gate: Gate, args: Any, kwargs: Any) -> Exception | None:
        """The exception that a call of a gated function raises on this device; None: not for certain."""
        if self._capability is None:
            return None
        backend: Any = ""
        if gate.position is not None:
            given = args[gate.position] if 0 <= gate.position < len(args) else gate.default
            backend = kwargs.get("backend", given)
        if not isinstance(backend, str):
            return None
        found = gate.of(self._capability, backend)
        if found is None:
            return None
        module, _, name = found.error.rpartition(":")
        if module and kwargs.get("skip_check") is not None:
            # Only the package's own check of a call can be skipped.
            return None
        kind = self.value(module, name) if module else getattr(builtins, name, None)
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            return None
        function = gate.function.rpartition(":")[2]
        number = "{}.{}".format(*self._capability)
        how = f" with backend {backend!r}" if backend else ""
        return kind(
            f"{function}{how} of {self.facts.dist} {self.facts.version} refuses compute capability "
            f"{number} ({found.place})"
        )

    def _is_there(self, name: Name) -> bool:
        """False only where a package that the name needs is absent."""
        return not any(self._packages.has_module(need) is False for need in name.needs or ())

    def _make(self, module: str, name: str, found: Name, links: int) -> Any:
        full = f"{module}.{name}"
        if found.kind == "v":
            return found.data
        if found.kind == "m":
            return self._load(found.data)
        if found.kind == "a":
            source, _, wanted = found.data.partition(":")
            value = self.value(source, wanted, links + 1) if links < _LINKS else _MISSING
            if value is _MISSING:
                return not_modelled(full)
            return ForeignObject(full) if type(value) is ForeignObject else value
        if found.kind == "e":
            return _enumeration(module, name, *found.data[1:])
        if found.kind == "c":
            if full == "sgl_kernel.scalar_type.scalar_types" and len(found.data) > 3:
                return scalar_types.formats(full, found.data[3])
            return self._exception(module, name, found) or unmodelled_class(full)
        if found.kind == "f":
            gate = self.facts.gate(full)
            return GatedFunction(full, gate, self) if gate is not None else ForeignObject(full)
        if found.kind == "o" and not name.startswith("__"):
            # What it is, the spelling says.
            return getattr(Facade(module, {}), name)
        return not_modelled(full)


def _enumeration(module: str, name: str, base: str, members: dict[str, Any]) -> Any:
    made = _ENUMS[base](name, members)
    made.__module__ = module
    made.__qualname__ = name
    return made


_MISSING = object()


class Libraries:
    """The recorded packages of one world."""

    def __init__(
        self,
        packages: Packages,
        load: Callable[[str], Any],
        capability: tuple[int, int] | None,
    ) -> None:
        self._packages, self._load, self._capability = packages, load, capability
        self._tops: dict[str, Library | None] = {}
        self._dists: dict[str, Library] = {}

    def of(self, top: str) -> Library | None:
        """The package that brings a top-level module; None: its version is not recorded."""
        if top not in self._tops:
            self._tops[top] = self._find(top)
        return self._tops[top]

    def _find(self, top: str) -> Library | None:
        for dist in libraries.distributions_of(top):
            version = self._packages.version(dist)
            facts = libraries.facts_of(dist, version) if version is not None else None
            if facts is not None and facts.exists(top):
                if dist not in self._dists:
                    self._dists[dist] = Library(facts, self._packages, self._load, self._capability)
                return self._dists[dist]
        return None
