"""Find and read the configuration file; every setting keeps the line that it came from.

A file that is only found (in the working directory or above it) may be anybody's: whoever runs sgcheck in a
repository has not chosen what stands in it. So such a file may say what is checked, but not which program runs
and which source is read: see `_is_refused`. A file given by name, and the user's own, may.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from sgcheck.config.keys import KEYS, ConfigValue, accepts, expected
from sgcheck.errors import UsageError
from sgcheck.files import read_regular
from sgcheck.source.metadata import release_number

FILE_NAME = "sgcheck.toml"
PROJECT_FILE = "pyproject.toml"
MAX_BYTES = 4_000_000
INSTALLED = "installed"

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
    """The settings in force; empty without a file.

    `path` is the nearest file, `refused` says in sentences which of its settings do not count.
    """

    path: Path | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    refused: tuple[str, ...] = ()

    def value(self, key: str) -> Any:
        """The value of a key, relative paths made to start at the file's folder; None if unset."""
        setting = self.settings.get(key)
        if setting is None:
            return None
        if KEYS[key].is_path and isinstance(setting.value, str) and not _is_word(key, setting):
            return _from_folder(setting.value, setting.path.parent)
        return setting.value


def load(
    explicit: str | Path | None = None, start: Path | None = None, *, isolated: bool = False
) -> Configuration:
    """The configuration given by name, or the nearest one from `start` upwards.

    What the nearest one leaves open, or may not say, the user's own file says (`own_file`). Raises UsageError
    for a file that cannot be read, is not TOML or holds unknown keys.
    """
    if isolated:
        return Configuration()
    if explicit is not None:
        path = Path(explicit)
        return _read(path, required=True) or Configuration(path)
    found = _nearest((start or Path.cwd()).absolute())
    own = _own()
    if own is None:
        return found
    return Configuration(found.path or own.path, {**own.settings, **found.settings}, found.refused)


def own_file() -> Path | None:
    """Where the user's own configuration is looked for; None where there is no home folder."""
    import platformdirs

    try:
        return platformdirs.user_config_path("sgcheck") / FILE_NAME
    except (OSError, RuntimeError):
        return None


def _own() -> Configuration | None:
    path = own_file()
    return _read(path, required=True) if path is not None and _is_file(path) else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _nearest(start: Path) -> Configuration:
    own = own_file()
    for folder in (start, *start.parents):
        for name in (FILE_NAME, PROJECT_FILE):
            path = folder / name
            if path != own and _is_file(path) and (found := _read(path, required=False)):
                return _discovered(found)
    return Configuration()


def _discovered(found: Configuration) -> Configuration:
    """A configuration that was only found, without what it may not say."""
    settings = dict(found.settings)
    refused: list[str] = []
    for name, setting in found.settings.items():
        if _is_refused(name, setting.value):
            del settings[name]
            refused.append(_refusal(setting.origin, name, setting.value))
        elif name == "per-path":
            rows: Any = setting.value
            wrong = [row for row in rows if _is_refused("sglang", row.get("sglang"))]
            refused += [_refusal(setting.origin, "sglang", row["sglang"]) for row in wrong]
            kept = [
                {k: v for k, v in row.items() if row not in wrong or k != "sglang"} for row in rows
            ]
            settings[name] = Setting(kept, setting.path, setting.line)
    return Configuration(found.path, settings, tuple(refused))


def _is_refused(name: str, value: object) -> bool:
    """Whether a file that was only found may not say this: a program, or a tree that is no release."""
    if name == "python":
        return True
    return name == "sglang" and isinstance(value, str) and not _names_no_path(value)


def _names_no_path(value: str) -> bool:
    return value == INSTALLED or release_number(value) is not None


def _refusal(origin: str, name: str, value: object) -> str:
    what = "a program" if name == "python" else "a source tree"
    return (
        f'{origin}: "{name}" names {what} ({value}) and is left out, because this file was only found in the '
        f"folder; give --{name}, or --config {FILE_NAME} if you trust it"
    )


def _is_word(key: str, setting: Setting) -> bool:
    """Whether a value is the name of a release, which no folder of that name replaces."""
    return key == "sglang" and isinstance(setting.value, str) and _names_no_path(setting.value)


def _read(path: Path, *, required: bool) -> Configuration | None:
    """The settings in `path`; None for a `pyproject.toml` without a section of ours."""
    import tomllib

    is_project = path.name == PROJECT_FILE
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8")
        data: Any = tomllib.loads(text)
    except OSError as error:
        if is_project and not required:
            return None
        raise UsageError(
            f"cannot read the configuration {path}: {error.strerror}; give a {FILE_NAME} or a "
            f"{PROJECT_FILE}, or leave --config out"
        ) from error
    except (ValueError, RecursionError) as error:
        # Somebody else's broken pyproject.toml is not ours to report unless it was asked for. Not only
        # TOMLDecodeError: a number of thousands of digits is refused by Python itself.
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
