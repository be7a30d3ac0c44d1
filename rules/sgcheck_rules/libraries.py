"""What the packages around SGLang offer, by version: modules, names and their kinds.

`data/libraries/` holds one file for each recorded version, written by
`rules/tools/extract_libraries.py` from the wheel's source. Its first line lists the modules; each
further line is a module and a JSON object:

| key | what |
|---|---|
| `f`, `o`, `x` | names of functions, of objects known by name only, of what other packages bring |
| `s` | names with more: `[kind, data]`, see `Name` |
| `n` | names that are there if packages are installed: the packages (`?`: not known) to the names |
| `needs` | packages without which the import of the module fails |
| `open` | why the module may have more names than are recorded |

The line `@gates` has, by the function that refuses, what the package's own Python refuses: see `Gate`.
"""

from __future__ import annotations

import gzip
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

_FOLDER = Path(__file__).parent / "data" / "libraries"


class Name(Struct, frozen=True):
    """A name of a module.

    `kind`: `f` function, `c` class (`data`: line, bases, methods, and what
    its body makes of constants, if anything), `e` enumeration (line, base,
    members), `v` constant (its value), `a` a name of another module of the package
    (`module:name`), `m` a module (its name), `o` an object, `x` something of another package.
    `needs` are the packages that must be there for the name to be; None: not known which.
    """

    kind: str
    data: Any = None
    needs: tuple[str, ...] | None = ()


class Refusal(Struct, frozen=True):
    """A function raises on a device. `error` is a built-in exception or `module:name` of the package."""

    error: str
    place: str
    """File and line in the package."""


class Gate(Struct, frozen=True):
    """The compute capabilities that a function refuses, by the value of its parameter `backend`.

    `position` is that of the parameter (None: the function has none), `default` its default;
    `refuses` has the key `""` where there is none. Capabilities are major * 10 + minor.
    """

    function: str
    position: int | None
    default: str | None
    refuses: dict[str, dict[str, list[int]]]

    def of(self, capability: tuple[int, int], backend: str) -> Refusal | None:
        """What the function raises with this backend, None where nothing is certain."""
        number = capability[0] * 10 + capability[1]
        for key, refused in self.refuses.get(backend, {}).items():
            if number in refused:
                return Refusal(*key.rsplit(" ", 1))
        return None


class ModuleFacts:
    """The names of one module."""

    def __init__(self, recorded: dict[str, Any]) -> None:
        self.names: dict[str, Name] = {}
        self.open: str | None = recorded.get("open")
        self.needs: tuple[str, ...] = tuple(recorded.get("needs", "").split())
        needs: dict[str, tuple[str, ...] | None] = {}
        for key, names in recorded.get("n", {}).items():
            packages = None if key == "?" else tuple(key.split())
            needs.update(dict.fromkeys(names.split(), packages))
        for kind in ("f", "o", "x"):
            for name in recorded.get(kind, "").split():
                self.names[name] = Name(kind, None, needs.get(name, ()))
        for name, (kind, data) in recorded.get("s", {}).items():
            self.names[name] = Name(kind, data, needs.get(name, ()))


class LibraryFacts:
    """One version of one distribution."""

    def __init__(self, dist: str, version: str, text: str) -> None:
        head, *lines = text.splitlines()
        self.dist, self.version = dist, version
        self.modules = frozenset(json.loads(head)["modules"].split())
        """Every module, also those whose names are not recorded."""
        self._lines = dict(line.split(" ", 1) for line in lines)
        self._read: dict[str, ModuleFacts] = {}
        self._gates: dict[str, Gate] | None = None

    def module(self, name: str) -> ModuleFacts | None:
        """The names of a module; None: they are not recorded."""
        if name not in self._read:
            if name not in self._lines:
                return None
            self._read[name] = ModuleFacts(json.loads(self._lines[name]))
        return self._read[name]

    def gate(self, name: str) -> Gate | None:
        """What a function refuses, by a dotted name under which the package offers it."""
        if self._gates is None:
            self._gates = {}
            for function, recorded in json.loads(self._lines.get("@gates", "{}")).items():
                made = Gate(
                    function, recorded.get("backend"), recorded.get("default"), recorded["refuses"]
                )
                self._gates.update(dict.fromkeys(recorded["names"].split(), made))
        return self._gates.get(name)

    def exists(self, name: str) -> bool:
        """Whether the package has a module of that name."""
        return name in self.modules


@lru_cache(maxsize=1)
def _index() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = json.loads((_FOLDER / "index.json").read_text())
    return found


def distributions_of(top: str) -> list[str]:
    """The recorded distributions some version of which has the top-level module."""
    return [d for d, versions in _index().items() if any(top in t for t in versions.values())]


def versions_of(dist: str) -> list[str]:
    """The recorded versions of a distribution, by its normalised name."""
    return list(_index().get(dist, {}))


@lru_cache(maxsize=64)
def facts_of(dist: str, version: str) -> LibraryFacts | None:
    """The facts of a version; None: it is not recorded."""
    if version not in _index().get(dist, {}):
        return None
    data = (_FOLDER / f"{dist}-{version}.gz").read_bytes()
    return LibraryFacts(dist, version, gzip.decompress(data).decode())
