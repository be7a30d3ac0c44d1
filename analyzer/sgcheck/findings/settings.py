"""What the configuration says of scanned files: for all of them, and for some paths."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from sgcheck.config.keys import KEYS, accepts, expected
from sgcheck.config.loading import INSTALLED, Configuration
from sgcheck.errors import UsageError
from sgcheck.findings.settle import Wish
from sgcheck.source.metadata import release_number

if TYPE_CHECKING:
    from sgcheck.resolve.predict import Depth

WISH_KEYS = ("sglang", "arch", "gpu", "gpu-count", "gpu-memory", "cuda", "model", "env", "models")
PATH_KEYS = (*WISH_KEYS, "ignore", "paths", "reason")


@dataclass(frozen=True, slots=True)
class PathTable:
    """One `[[per-path]]` table. `paths` are globs that start at the configuration's folder."""

    paths: tuple[str, ...]
    wish: Wish
    ignore: frozenset[str]

    def matches(self, path: str) -> bool:
        """Whether a path, relative to the configuration's folder and with `/`, is meant."""
        return any(_glob(path, pattern) for pattern in self.paths)


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of a scan."""

    folder: Path | None
    wish: Wish
    ignore: frozenset[str]
    exclude: tuple[str, ...]
    baseline: str | None
    tables: tuple[PathTable, ...] = ()
    depth: Depth | None = None

    def tables_for(self, file: str) -> list[PathTable]:
        """The tables that speak of a file, the last one in the configuration first."""
        path = self._relative(file)
        return [table for table in reversed(self.tables) if table.matches(path)]

    def ignored(self, file: str) -> frozenset[str]:
        """The rules that are not reported for a file."""
        found = self.ignore
        for table in self.tables_for(file):
            found |= table.ignore
        return found

    def _relative(self, file: str) -> str:
        if self.folder is None:
            return PurePosixPath(file.replace("\\", "/")).as_posix()
        try:
            return Path(file).absolute().relative_to(self.folder.absolute()).as_posix()
        except ValueError:
            return PurePosixPath(file.replace("\\", "/")).as_posix()


def read_settings(config: Configuration, rules: Sequence[str]) -> Settings:
    """The settings. Raises UsageError for unknown rules and for keys that a table cannot hold."""
    values = {key: config.value(key) for key in KEYS}
    folder = config.path.parent if config.path is not None else None
    where = str(config.path)
    tables = [
        _table(row, f"{where}: per-path table {number}", folder, rules)
        for number, row in enumerate(values["per-path"] or (), 1)
    ]
    return Settings(
        folder,
        _wish(values, folder, python=values["python"]),
        _rules(_texts(values["ignore"]), where, rules),
        tuple(_texts(values["exclude"])),
        values["baseline"],
        tuple(tables),
        values["depth"],
    )


def _table(
    row: Mapping[str, Any], where: str, folder: Path | None, rules: Sequence[str]
) -> PathTable:
    for name, value in row.items():
        if name not in PATH_KEYS:
            import difflib

            near = difflib.get_close_matches(name, PATH_KEYS, n=1, cutoff=0.5)
            hint = f'did you mean "{near[0]}"?' if near else "known are " + ", ".join(PATH_KEYS)
            raise UsageError(f'{where}: unknown key "{name}"; {hint}')
        key = KEYS["exclude"] if name == "paths" else KEYS.get(name, KEYS["model"])
        if not accepts(key, value):
            raise UsageError(f'{where}: "{name}" must be {expected(key)}')
    if "paths" not in row:
        raise UsageError(f'{where} has no "paths": say which files it is for')
    if "ignore" in row and "reason" not in row:
        raise UsageError(f'{where} ignores rules without a "reason": say why')
    ignore = _rules(_texts(row.get("ignore")), where, rules)
    return PathTable(tuple(_texts(row["paths"])), _wish(row, folder), ignore)


def _wish(values: Mapping[str, Any], folder: Path | None, python: str | None = None) -> Wish:
    arch = values.get("arch")
    return Wish(
        sglang=_source(values.get("sglang"), folder),
        python=python,
        arch=",".join(arch) if isinstance(arch, list) else arch,
        gpu=values.get("gpu"),
        gpu_count=values.get("gpu-count"),
        gpu_memory=values.get("gpu-memory"),
        cuda=values.get("cuda"),
        model=_path(values.get("model"), folder),
        env=dict(values.get("env") or {}),
        models={k: _path(v, folder) or v for k, v in (values.get("models") or {}).items()},
    )


def _path(value: str | None, folder: Path | None) -> str | None:
    """A value as a path from the configuration's folder if such a file is there."""
    if value is None or folder is None:
        return value
    path = folder / Path(value)
    return str(path) if path.exists() else value


def _source(value: str | None, folder: Path | None) -> str | None:
    """A release as it stands, whatever folders are called; anything else as a path."""
    if value is None or value == INSTALLED or release_number(value) is not None:
        return value
    return _path(value, folder)


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _rules(names: Sequence[str], where: str, rules: Sequence[str]) -> frozenset[str]:
    for name in names:
        if name not in rules:
            import difflib

            near = difflib.get_close_matches(name, rules, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"{where}: there is no rule {name}{hint}")
    return frozenset(names)


def _glob(path: str, pattern: str) -> bool:
    """Glob over whole paths: `*` stays within a folder, `**` does not, a folder means all below."""
    pattern = pattern.strip("/").removeprefix("./")
    if not any(char in pattern for char in "*?["):
        return path == pattern or path.startswith(pattern + "/")
    parts = re.split(r"(\*\*/?)", pattern)
    if len(parts) == 1:
        return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)
    regex = "".join(
        "(?:.*/)?" if part == "**/" else ".*" if part == "**" else _segment(part) for part in parts
    )
    return re.fullmatch(regex, path) is not None


def _segment(pattern: str) -> str:
    return "".join(
        "[^/]*" if char == "*" else "[^/]" if char == "?" else re.escape(char) for char in pattern
    )
