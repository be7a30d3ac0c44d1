"""The memory behind tensors, and the names that torch's classes have beside what is modelled."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from sgcheck.world.tensors.ledger import LEDGER, rounded


class Storage:
    """The memory behind a tensor and its views. `version` counts the writes to it."""

    __slots__ = ("__weakref__", "on_device", "size", "version")

    def __init__(self, size: int, on_device: bool) -> None:
        self.size = size
        self.on_device = on_device
        self.version = 0
        if on_device:
            LEDGER.take(rounded(size))

    def __del__(self) -> None:
        if self.on_device:
            LEDGER.give(rounded(self.size))


class StorageFace:
    """`torch.UntypedStorage`."""

    __module__ = "torch"

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def nbytes(self) -> int:
        return self._storage.size

    size = nbytes

    def data_ptr(self) -> int:
        return id(self._storage)

    def resize_(self, size: int) -> StorageFace:
        if self._storage.on_device:
            LEDGER.give(rounded(self._storage.size))
            LEDGER.take(rounded(size))
        self._storage.size = size
        return self


@cache
def known_names(cls: str) -> frozenset[str]:
    """What a class of torch 2.13 has beside what is modelled here, by `dir()`."""
    text = Path(__file__).with_name("names.json").read_bytes()
    return frozenset(msgspec.json.decode(text, type=dict[str, list[str]])[cls])
