"""Recorded facts about the configuration classes of one transformers release.

A facts file is a JSON object with one entry a line. Entries are decoded when they are asked
for, so that a launch pays for the handful of classes that it uses.
"""

import functools
import json
from pathlib import Path
from typing import Any, cast

import sgcheck_rules

from .errors import NotModelled

_FOLDER = Path(sgcheck_rules.__file__).parent / "data" / "transformers"


class Facts:
    """The entries of one facts file: ``@release`` and one for each configuration class."""

    def __init__(self, text: str) -> None:
        self._lines: dict[str, str] = {}
        self._decoded: dict[str, dict[str, Any]] = {}
        for line in text.splitlines():
            if line.startswith('"'):
                key, _, value = line.partition('": ')
                self._lines[key[1:]] = value.rstrip(",")

    def __contains__(self, key: str) -> bool:
        return key in self._lines

    def names(self) -> list[str]:
        """The names of the recorded classes."""
        return [name for name in self._lines if not name.startswith("@")]

    def entry(self, key: str) -> dict[str, Any]:
        """The entry of a class (callers must not change it).

        :raises NotModelled: nothing is recorded about it.
        """
        found = self._decoded.get(key)
        if found is None:
            line = self._lines.get(key)
            if line is None:
                raise NotModelled(f"transformers.{key}")
            plain = json.loads(line)
            if _TAGGED in line:
                plain = decode(plain)
            found = self._decoded[key] = cast("dict[str, Any]", plain)
        return found

    @property
    def release(self) -> dict[str, Any]:
        """What holds for the whole release: names of model types, defaults, limits."""
        return self.entry("@release")


_TAGGED = '"@'
"""How a line looks that holds something to `decode`."""


def decode(value: Any) -> Any:
    """Undo `encode`: tuples, sets and dictionaries whose keys are no strings."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        if len(value) == 1:
            (tag, inner), *_ = value.items()
            if tag == "@tuple":
                return tuple(decode(item) for item in inner)
            if tag == "@set":
                return {decode(item) for item in inner}
            if tag == "@dict":
                return {decode(key): decode(item) for key, item in inner}
        return {key: decode(item) for key, item in value.items()}
    return value


def encode(value: Any) -> Any:
    """Make a plain value ready for JSON; raises `TypeError` for anything that is not plain."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, tuple):
        return {"@tuple": [encode(item) for item in value]}
    if isinstance(value, set | frozenset):
        return {"@set": sorted((encode(item) for item in value), key=repr)}
    if isinstance(value, dict):
        if all(isinstance(key, str) and not key.startswith("@") for key in value):
            return {key: encode(item) for key, item in value.items()}
        return {"@dict": [[encode(key), encode(item)] for key, item in value.items()]}
    raise TypeError(f"not a plain value: {value!r}")


def known_versions() -> list[str]:
    """The transformers releases with recorded facts, oldest first."""
    return sorted(
        (path.name.removesuffix(".json") for path in _FOLDER.glob("*.json")), key=version_key
    )


def version_key(version: str) -> tuple[int, ...]:
    """`5.12.1` as numbers; parts that are no numbers end it."""
    parts: list[int] = []
    for part in version.split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts)


@functools.cache
def load(version: str) -> Facts:
    """The facts of a release, read once a process.

    :raises NotModelled: the release has no facts file.
    """
    try:
        text = (_FOLDER / f"{version}.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotModelled(f"transformers {version}") from None
    return Facts(text)
