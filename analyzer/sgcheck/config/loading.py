"""Find and read the configuration file; every setting keeps the line that it came from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from sgcheck.config.keys import KEYS, ConfigValue, accepts, expected
from sgcheck.errors import UsageError

FILE_NAME = "sgcheck.toml"
PROJECT_FILE = "pyproject.toml"

_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?\Z")
_ASSIGNMENT = re.compile(r"\s*([A-Za-z0-9_.\"' -]+?)\s*=")


class Setting(Struct, frozen=True):
    """One value and where it was written; `line` is None where it could not be told."""

    value: ConfigValue
    path: Path
    line: int | None

    @property
    def origin(self) -> str:
        """`path:line`."""
        return str(self.path) if self.line is None else f"{self.path}:{self.line}"


class Configuration(Struct, frozen=True):
    """The settings of one file; empty without a file."""

    path: Path | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)

    def value(self, key: str) -> Any:
        """The value of a key, relative paths made to start at the file's folder; None if unset."""
        setting = self.settings.get(key)
        if setting is None:
            return None
        if KEYS[key].is_path and isinstance(setting.value, str):
            return _from_folder(setting.value, setting.path.parent)
        return setting.value


def load(
    explicit: str | Path | None = None, start: Path | None = None, *, isolated: bool = False
) -> Configuration:
    """The configuration given by name, or the nearest one from `start` upwards.

    Raises UsageError for a file that cannot be read, is not TOML or holds unknown keys.
    """
    if isolated:
        return Configuration()
    if explicit is not None:
        path = Path(explicit)
        return _read(path, required=True) or Configuration(path)
    start = (start or Path.cwd()).absolute()
    for folder in (start, *start.parents):
        for name in (FILE_NAME, PROJECT_FILE):
            path = folder / name
            if path.is_file() and (found := _read(path, required=False)):
                return found
    return Configuration()


def _read(path: Path, *, required: bool) -> Configuration | None:
    """The settings in `path`; None for a `pyproject.toml` without a section of ours."""
    import tomllib

    is_project = path.name == PROJECT_FILE
    try:
        text = path.read_text(encoding="utf-8")
        data: Any = tomllib.loads(text)
    except OSError as error:
        raise UsageError(
            f"cannot read the configuration {path}: {error.strerror}; give a {FILE_NAME} or a "
            f"{PROJECT_FILE}, or leave --config out"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # Somebody else's broken pyproject.toml is not ours to report unless it was asked for.
        if is_project and not required:
            return None
        raise UsageError(f"the configuration {path} is not TOML: {error}") from error
    if is_project:
        tools = data.get("tool")
        data = tools.get("sgcheck") if isinstance(tools, dict) else None
        if not isinstance(data, dict):
            if required:
                raise UsageError(f"{path} has no [tool.sgcheck] section")
            return None
    lines = _lines(text, "tool.sgcheck" if is_project else "")
    return Configuration(path, _settings(data, path, lines))


def _settings(data: Mapping[str, Any], path: Path, lines: Mapping[str, int]) -> dict[str, Setting]:
    settings: dict[str, Setting] = {}
    for name, value in data.items():
        line = lines.get(name)
        where = f"{path}:{line}" if line else str(path)
        key = KEYS.get(name)
        if key is None:
            import difflib

            near = difflib.get_close_matches(name.replace("_", "-"), KEYS, n=1, cutoff=0.5)
            hint = f'did you mean "{near[0]}"?' if near else "known are " + ", ".join(KEYS)
            raise UsageError(f'{where}: unknown key "{name}"; {hint}')
        if not accepts(key, value):
            raise UsageError(f'{where}: "{name}" must be {expected(key)}')
        settings[name] = Setting(value, path, line)
    return settings


def _lines(text: str, section: str) -> dict[str, int]:
    """The line of each key of a section. TOML's reader does not tell them, so they are looked up.

    A key that is spelled in an unusual way (an inline table of the whole section) is not found.
    """
    found: dict[str, int] = {}
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            current = re.sub(r"[\"' ]", "", header[1])
            prefix = f"{section}." if section else ""
            if current.startswith(prefix) and current != section:
                found.setdefault(current[len(prefix) :].partition(".")[0], number)
        elif current == section and (assignment := _ASSIGNMENT.match(line)):
            name = re.sub(r"[\"' ]", "", assignment[1]).partition(".")[0]
            found.setdefault(name, number)
    return found


def _from_folder(value: str, folder: Path) -> str:
    """`value` as a path from `folder` if such a file is there, else unchanged (a version, a name)."""
    written, at, ref = value.partition("@")
    for name, rest in ((value, ""), (written, at + ref)):
        path = folder / Path(name).expanduser()
        if name and path.exists():
            return f"{path}{rest}"
    return value
