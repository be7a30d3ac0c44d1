"""The files of the machine that a launch would run on: nobody gave them, and they may be there.

A path that the launch names is taken to be there, a folder or a file by its looks. Any other is
taken to be absent, until a function that looked for it refuses to start: then the launch is run
again with the path there (`blamed`). What was assumed is told with the answer.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sgcheck.interp.access import MARK
from sgcheck.resolve.resolution import Assumption, Reason
from sgcheck.syntax.names import source_name
from sgcheck.values.signals import Escape
from sgcheck.values.unknown import ASK

CWD = "/workspace"
"""Where the server seems to be started: relative paths begin there."""

FILE, FOLDER = "file", "folder"

_ROOTED = re.compile(r"(?:/|\./|\.\./|~/)[^\0\s,;\"'{}\[\]]+")
_SPLIT = re.compile(r"[\s,;=\"'{}\[\]]+|:(?!//)")
_SUFFIX = re.compile(r"\.[a-z][a-z0-9_]{0,11}", re.IGNORECASE)
DEVICES = re.compile(r"/sys/class/[^/]+")
"""Folders of the kernel that list devices by name."""

ASKED_THROUGH = 3
"""So many functions of the tree above a question are taken to have asked it."""
MAX_MISSED = 1000


def named_paths(texts: Iterable[str]) -> dict[str, str]:
    """The absolute or explicitly relative paths in the words of a launch, with their likely kind."""
    found: dict[str, str] = {}
    for text in texts:
        for match in _ROOTED.finditer(text):
            start = match.start()
            if start and (text[start - 1].isalnum() or text[start - 1] in "./~_-:"):
                continue  # inside a relative path, a repository's name or a URL
            path = match.group()
            base = posixpath.basename(path.rstrip("/"))
            plain = path.endswith("/") or not _SUFFIX.fullmatch(posixpath.splitext(base)[1])
            found[path] = FOLDER if plain else FILE
    return found


class Host:
    """What is assumed of paths that no model's folder and no given file holds."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        """The kind of each path that is taken to be there."""
        self.words: frozenset[str] = frozenset()
        """The words of the launch: the devices that it names are among them."""
        self.used: dict[str, str] = {}
        """What was assumed because something asked for it."""
        self.missed: dict[str, set[tuple[str, str]]] = {}
        """Every path that was looked for, with the functions that looked."""

    def enter(
        self, texts: Sequence[str], absolute: Any, assumed: Mapping[str, str | None] | None = None
    ) -> None:
        """Begin a launch whose words are `texts`; `assumed` says otherwise of some paths."""
        self.kinds = {absolute(path): kind for path, kind in named_paths(texts).items()}
        for path, kind in (assumed or {}).items():
            if kind is None:
                self.kinds.pop(path, None)
            else:
                self.kinds[path] = kind
        self.words = frozenset(word for text in texts for word in _SPLIT.split(text) if word)
        self.used, self.missed = {}, {}

    def kind(self, path: str) -> Any:
        """`file`, `folder` or None for a path. Escapes where it may be any."""
        found = self.kinds.get(path)
        if found is None and any(p.startswith(path.rstrip("/") + "/") for p in self.kinds):
            return FOLDER
        self._note(path)
        if found is not None:
            self.used[path] = found
        return found

    def inside(self, path: str) -> bool:
        """Whether a path lies in a folder that is taken to be there, of whose files nothing is known."""
        parent = posixpath.dirname(path)
        while parent not in ("/", ""):
            if self.kinds.get(parent) == FOLDER and not DEVICES.fullmatch(parent):
                self.used[parent] = FOLDER
                return True
            parent = posixpath.dirname(parent)
        return False

    def device(self, path: str) -> bool:
        """Whether a path is that of a device that the launch names, in a folder that is there."""
        folder, name = posixpath.split(path)
        return bool(DEVICES.fullmatch(folder)) and folder in self.kinds and name in self.words

    def question(self, path: str) -> Any:
        """Whether a path is there, of which nothing is known."""
        return ASK[-1].question(f"the host has {path}", Reason("host-file-unknown", detail=path))

    def listing(self, path: str) -> list[str]:
        """The names in a folder that is taken to be there. Escapes where they are not known."""
        if DEVICES.fullmatch(path):
            return sorted(self.words)
        raise Escape(Reason("host-file-unknown", detail=path))

    def said(self) -> tuple[Assumption, ...]:
        """What was assumed, in the order of the paths."""
        found = sorted((path.removeprefix(f"{CWD}/"), kind) for path, kind in self.used.items())
        return tuple(Assumption(path, kind) for path, kind in found)

    def blamed(self, file: str | None, function: str | None) -> list[str]:
        """The paths that a function looked for (itself, or what it called), the last one first."""
        place = (file or "", function or "")
        return [path for path, asking in reversed(self.missed.items()) if place in asking]

    def _note(self, path: str) -> None:
        if len(self.missed) >= MAX_MISSED:
            return
        asking = self.missed.setdefault(path, set())
        frame = sys._getframe(1)
        left = ASKED_THROUGH
        while frame is not None and left:
            if MARK in frame.f_builtins:
                code = frame.f_code
                asking.add((code.co_filename, source_name(code.co_qualname)))
                left -= 1
            frame = frame.f_back  # type: ignore[assignment]
