"""Record which modules and names the kernel packages offer, from their source, without importing it.

Usage, for the unpacked wheel of one distribution (its `METADATA` names it):

    python rules/tools/extract_libraries.py FOLDER rules/sgcheck_rules/data/libraries

It writes `<distribution>-<version>.gz` there: a line for each module, with the names that it
binds, what kind each is, and the module and line that define it (see `sgcheck_rules.libraries`
for the form). Facts only: no text of the package is copied.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

from library_gates import gates_of
from library_reader import Library, Module

MAX_DEPTH = 3
"""Modules below this many names in a row are listed, and read only where a shallower one needs them."""

SKIPPED = re.compile(
    r"(^|\.)(tests?|testing|data|benchmarks?|examples?|3rdparty|include|experimental)(\.|$)"
)


def modules_of(library: Library) -> list[str]:
    """Every module of the package, but for tests and the like below its first levels."""
    return sorted(n for n in library.all if n.count(".") < MAX_DEPTH or not SKIPPED.search(n))


def definition(library: Library, module: str, name: str, depth: int = 0) -> list[Any] | None:
    """What a name of the package is in the end: `[module, name, fact]`; None: not the package's."""
    found = library.module(module)
    fact = found.names.get(name) if found is not None else None
    if fact is None or depth > 12:
        return None
    if fact[0] != "i":
        return [module, name, fact]
    source, wanted = fact[1], fact[2]
    if not wanted or (library.exists(f"{source}.{wanted}") and not _binds(library, source, wanted)):
        return None
    return definition(library, source, wanted, depth + 1)


def _binds(library: Library, module: str, name: str) -> bool:
    """Whether a module binds the name otherwise than as its own submodule."""
    found = library.module(module)
    fact = found.names.get(name) if found is not None else None
    return fact is not None and fact[:3] not in (["i", module, name], ["i", f"{module}.{name}", ""])


def facts(library: Library, module: Module) -> dict[str, Any]:
    """The facts of one module in the form of `sgcheck_rules.libraries`."""
    kinds: dict[str, list[str]] = {}
    special: dict[str, Any] = {}
    wanted: dict[str, list[str]] = {}
    for name, fact in sorted(module.names.items()):
        needs = fact[-1]
        kind, payload = _written(library, module, name, fact)
        if kind is None:
            continue
        if payload is None:
            kinds.setdefault(kind, []).append(name)
        else:
            special[name] = [kind, payload]
        if needs:
            key = "?" if None in needs else " ".join(sorted(set(needs)))
            wanted.setdefault(key, []).append(name)
    out: dict[str, Any] = {kind: " ".join(names) for kind, names in kinds.items()}
    if special:
        out["s"] = special
    if wanted:
        out["n"] = {key: " ".join(names) for key, names in wanted.items()}
    if module.open:
        out["open"] = module.open
    whole = library.conditions.of_module(module)
    if whole:
        out["needs"] = " ".join(whole)
    return out


def _written(library: Library, module: Module, name: str, fact: list[Any]) -> tuple[Any, Any]:
    kind = fact[0]
    if kind == "i":
        source, wanted = fact[1], fact[2]
        if not library.owns(source):
            return "x", None
        if not wanted:
            return "m", source
        if library.exists(f"{source}.{wanted}") and not _binds(library, source, wanted):
            return "m", f"{source}.{wanted}"
        found = definition(library, source, wanted)
        if found is None:
            return "x", None
        if found[2][0] == "f":
            return "f", None
        return "a", f"{found[0]}:{found[1]}"
    if kind == "f":
        return "f", None
    if kind == "v":
        return "v", fact[1]
    if kind == "c":
        return "c", fact[1:-1]
    if kind == "e":
        return "e", [fact[1], fact[2], fact[3]]
    return "o", None


def chosen(library: Library) -> list[str]:
    """The modules whose names are recorded: the shallow ones and what they take from others."""
    todo = [
        name for name in library.paths if name.count(".") < MAX_DEPTH and not SKIPPED.search(name)
    ]
    done: set[str] = set()
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        module = library.module(name)
        if module is None:
            continue
        for fact in module.names.values():
            if fact[0] == "i" and library.owns(fact[1]):
                found = definition(library, fact[1], fact[2]) if fact[2] else None
                if found is not None and found[2][0] != "f":
                    todo.append(found[0])
    return sorted(done)


def main() -> None:
    """Write the facts of one distribution."""
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    info = next(folder.glob("*.dist-info/METADATA")).read_text(errors="replace")
    name = re.sub(r"[-_.]+", "-", re.search(r"(?m)^Name: (.*)$", info)[1].strip()).lower()  # type: ignore[index]
    version = re.search(r"(?m)^Version: (.*)$", info)[1].strip()  # type: ignore[index]
    library = Library(folder)
    modules = chosen(library)
    lines = [
        json.dumps({"dist": name, "version": version, "modules": " ".join(modules_of(library))})
    ]
    for module_name in modules:
        module = library.module(module_name)
        assert module is not None
        lines.append(f"{module_name} {json.dumps(facts(library, module), separators=(',', ':'))}")
    gates = gates_of(library)
    if gates:
        lines.append(f"@gates {json.dumps(gates, separators=(',', ':'))}")
    data = gzip.compress("\n".join(lines).encode(), 9, mtime=0)
    (out / f"{name}-{version}.gz").write_bytes(data)
    index_path = out / "index.json"
    index = json.loads(index_path.read_text()) if index_path.exists() else {}
    index.setdefault(name, {})[version] = sorted({m.partition(".")[0] for m in modules_of(library)})
    index_path.write_text(json.dumps(index, indent=1, sort_keys=True) + "\n")
    print(f"{name} {version}: {len(modules)} modules, {len(data)} bytes")


if __name__ == "__main__":
    main()
