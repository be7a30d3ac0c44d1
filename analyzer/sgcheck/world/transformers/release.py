"""One transformers release as a launch sees it: its facts and the world it runs in."""

import logging
from collections.abc import Callable
from typing import Any, Protocol

from . import facts as facts_module
from .errors import NotModelled
from .facts import Facts


class FileAccess(Protocol):
    """The files that interpreted code may read; paths are as SGLang spells them."""

    def read_text(self, path: str) -> str:
        """The text of a file; raises `FileNotFoundError`."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""

    def isdir(self, path: str) -> bool:
        """Whether there is a folder."""

    def listdir(self, path: str) -> list[str]:
        """The names in a folder."""


RemoteCode = Callable[[str, str, str], type]
"""``(folder, module file, class name)`` to a class: runs a checkpoint's own configuration code."""


def no_remote_code(folder: str, file: str, name: str) -> type:
    """The default for `RemoteCode`: no way to run code of a checkpoint."""
    raise NotModelled(f"transformers.remote-code({file}:{name})")


class Release:
    """Facts of a transformers version plus the callables through which it reaches the world.

    :param version: what `transformers.__version__` says.
    :param files: the launch's virtual files.
    :param dtype_of: the attribute of the modelled torch with this name; must raise
        `AttributeError` for names that torch does not have.
    :param is_dtype: whether a value is a dtype of the modelled torch.
    """

    def __init__(
        self,
        version: str,
        files: FileAccess,
        *,
        dtype_of: Callable[[str], object],
        is_dtype: Callable[[object], bool],
        remote_code: RemoteCode = no_remote_code,
        get_logger: Callable[[str], object] | None = None,
    ) -> None:
        self.version = version
        self.files = files
        self.dtype_of = dtype_of
        self.is_dtype = is_dtype
        self.remote_code = remote_code
        self.get_logger = get_logger or _silent_logger
        self._numbers = facts_module.version_key(version)
        self._sources = [facts_module.load(name) for name in neighbours(version)]

    def at_least(self, *numbers: int) -> bool:
        """Whether the release is this one or later."""
        return self._numbers >= numbers

    def fact(self, key: str) -> dict[str, Any]:
        """The entry of a class, if every neighbouring release with facts has the same.

        :raises NotModelled: it is not recorded, or the neighbours differ.
        """
        first, *others = self._sources
        entry = first.entry(key)
        if any(key not in other or other.entry(key) != entry for other in others):
            raise NotModelled(f"transformers {self.version}: {key}")
        return entry

    def general(self, key: str) -> Any:
        """What holds for the whole release: one entry of ``@release``.

        Model types are a dictionary of those that every neighbouring release has with the same
        class; `doubtful_types` has the others.

        :raises NotModelled: the neighbouring releases differ.
        """
        answers: list[Any] = [source.release.get(key) for source in self._sources]
        first, others = answers[0], answers[1:]
        if others and key == "config_names":
            return {name: value for name, value in first.items() if name not in self.doubtful_types}
        if others and key == "placeholders":
            return {
                name: spec
                for name, spec in first.items()
                if all(other.get(name) == spec for other in others)
            }
        if any(other != first for other in others):
            raise NotModelled(f"transformers {self.version}: {key}")
        return first

    @property
    def doubtful_types(self) -> set[str]:
        """Model types that one neighbouring release has and another has not or names otherwise."""
        first, *others = (source.release["config_names"] for source in self._sources)
        return {
            name
            for other in others
            for name in {*first, *other}
            if first.get(name) != other.get(name)
        }

    def knows(self, key: str) -> bool:
        """Whether `fact` would answer."""
        try:
            self.fact(key)
        except NotModelled:
            return False
        return True

    def class_names(self) -> list[str]:
        """The configuration classes about which `fact` would answer."""
        names = self.facts.names()
        if len(self._sources) > 1:
            names = [name for name in names if self.knows(name)]
        return names

    @property
    def sources(self) -> list[Facts]:
        """The facts files behind this release: one if it is recorded itself."""
        return self._sources

    @property
    def facts(self) -> Facts:
        """The nearest facts file."""
        return self._sources[0]


def neighbours(version: str) -> list[str]:
    """The recorded releases that speak for a version: itself, or the nearest of its series.

    :raises NotModelled: no release of the same major series is recorded.
    """
    known = facts_module.known_versions()
    if version in known:
        return [version]
    numbers = facts_module.version_key(version)
    series = [name for name in known if facts_module.version_key(name)[:1] == numbers[:1]]
    below = [name for name in series if facts_module.version_key(name) < numbers]
    above = [name for name in series if facts_module.version_key(name) > numbers]
    chosen = below[-1:] + above[:1]
    if len(chosen) == 1 and len(series) > 1:
        chosen = below[:-3:-1] or above[:2]
    if len(chosen) < 2:
        raise NotModelled(f"transformers {version}")
    return chosen


class _Silent(logging.Logger):
    """A logger that says nothing and answers the two methods that transformers adds."""

    def warning_once(self, *args: object, **kwargs: object) -> None:
        """Do nothing."""

    def warning_advice(self, *args: object, **kwargs: object) -> None:
        """Do nothing."""

    def info_once(self, *args: object, **kwargs: object) -> None:
        """Do nothing."""

    def handle(self, record: logging.LogRecord) -> None:
        """Do nothing."""


def _silent_logger(name: str) -> object:
    return _Silent(name)
