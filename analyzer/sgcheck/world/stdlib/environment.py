"""`os.environ`: the environment of the launch, never the caller's own."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.values.signals import Escape
from sgcheck.values.unknown import Unknown

_MISSING = object()


class Environ(MutableMapping[str, str]):
    """A mapping of strings. `reads` holds the names that module bodies have looked at."""

    def __init__(self, content: dict[str, str]) -> None:
        self.content: dict[str, Any] = dict(content)
        self.reads: dict[str, Any] = {}
        self.recording = False

    def _seen(self, key: str) -> None:
        if self.recording and key not in self.reads:
            self.reads[key] = self.content.get(key)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Unknown):
            raise Escape(key.reason)
        if not isinstance(key, str):
            raise TypeError(f"str expected, not {type(key).__name__}")
        self._seen(key)
        return self.content[key]

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            self._seen(key)
        return key in self.content

    def __setitem__(self, key: str, value: str) -> None:
        if not isinstance(key, str) or not (isinstance(value, str) or isinstance(value, Unknown)):
            wrong = key if not isinstance(key, str) else value
            raise TypeError(f"str expected, not {type(wrong).__name__}")
        if R.journal is not None:
            R.journal.item(self.content, key)
        self.content[key] = value

    def __delitem__(self, key: str) -> None:
        if key not in self.content:
            raise KeyError(key)
        if R.journal is not None:
            R.journal.container(self.content)
        del self.content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self.content))

    def __len__(self) -> int:
        return len(self.content)

    def copy(self) -> dict[str, Any]:
        return dict(self.content)

    def __repr__(self) -> str:
        return f"environ({self.content!r})"
