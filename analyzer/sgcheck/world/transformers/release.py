"""One transformers release as a launch sees it: its facts and the world it runs in."""

import logging
from collections.abc import Callable
from typing import Any, Protocol

from . import facts as facts_module
from .errors import NotModelled
from .facts import Facts, version_key


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


_OF_NAMES = ("functions", "modules", "placeholders", "registered")

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
    :param lacks_code: whether a checkpoint brings code that its recorded files do not mention.
    :param stand_in: the recorded release whose facts are used for a version that is not recorded
        (see `stand_ins`).
    :raises NotModelled: the version is not recorded, and there is no stand-in.
    """

    def __init__(
        self,
        version: str,
        files: FileAccess,
        *,
        dtype_of: Callable[[str], object],
        is_dtype: Callable[[object], bool],
        remote_code: RemoteCode = no_remote_code,
        lacks_code: Callable[[str], bool] = lambda folder: False,
        get_logger: Callable[[str], object] | None = None,
        stand_in: str | None = None,
    ) -> None:
        self.version = version
        self.files = files
        self.dtype_of = dtype_of
        self.is_dtype = is_dtype
        self.remote_code = remote_code
        self.lacks_code = lacks_code
        self.get_logger = get_logger or _silent_logger
        self.facts: Facts = facts_module.load(stand_in or version)
        self._numbers = version_key(stand_in or version)
        newest = facts_module.known_versions()[-1]
        self.is_newer_than_facts = version_key(version) > version_key(newest)
        """Whether the release may have classes and model types that no recorded one has."""
        self._is_new_series = version_key(version)[:1] > version_key(newest)[:1]
        self.shown: set[tuple[type, str]] = set()
        """Contents of configurations that have been written out as text without an error."""
        self._names = facts_module.load(newest) if self.is_newer_than_facts else self.facts

    def at_least(self, *numbers: int) -> bool:
        """Whether the release is this one or later."""
        return self._numbers >= numbers

    def fact(self, key: str) -> dict[str, Any]:
        """The entry of a class.

        :raises NotModelled: it is not recorded, or only for an earlier major series.
        """
        if self._is_new_series:
            raise NotModelled(f"transformers {self.version}: {key}")
        return self.facts.entry(key)

    def general(self, key: str) -> Any:
        """What holds for the whole release: one entry of ``@release``.

        A release that is newer than all recorded ones has the names of the newest, whatever stands
        for it otherwise: the tree was written for them.
        """
        source = self._names if key in _OF_NAMES else self.facts
        return source.release.get(key)

    def knows(self, key: str) -> bool:
        """Whether `fact` would answer."""
        return key in self.facts

    def has_type(self, model_type: object) -> bool:
        """Whether the release itself has a model type.

        :raises NotModelled: it came later than the newest recorded release, if at all.
        """
        if model_type in self.general("config_names"):
            return True
        if self.is_newer_than_facts:
            raise NotModelled(f"transformers {self.version}: model type {model_type}")
        return False


def stand_ins(version: str) -> tuple[str, ...]:
    """The recorded releases that speak for a version that is not; none for a recorded one.

    They are two, and what both make of a launch holds: the nearest on either side, or the two
    newest for a version that is newer than all.
    """
    known = facts_module.known_versions()
    if version in known or not version_key(version):
        return ()
    below = [name for name in known if _order(name) < _order(version)]
    above = [name for name in known if _order(name) > _order(version)]
    if below and above:
        return below[-1], above[0]
    return tuple(below[-2:] or above[:2])


def _order(version: str) -> tuple[tuple[int, ...], bool]:
    """By number; a candidate (`5.0.0rc0`) comes before its release."""
    numbers = version_key(version)
    return (*numbers, 0, 0)[:3], len(numbers) == len(version.split("."))


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
