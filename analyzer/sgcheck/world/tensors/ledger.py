"""Device memory: every allocation on the GPU of one rank, as the code asks for it."""

from __future__ import annotations

BLOCK = 512
"""torch's caching allocator hands out multiples of this many bytes."""


class Ledger:
    """Bytes that tensors hold on the device now, and the most that they ever held."""

    __slots__ = ("allocated", "peak")

    def __init__(self) -> None:
        self.allocated = 0
        self.peak = 0

    def reset(self) -> None:
        """As a process starts."""
        self.allocated = self.peak = 0

    def take(self, size: int) -> None:
        """A storage of `size` bytes is made."""
        self.allocated += size
        self.peak = max(self.peak, self.allocated)

    def give(self, size: int) -> None:
        """A storage of `size` bytes is gone."""
        self.allocated -= size


LEDGER = Ledger()


def rounded(size: int) -> int:
    """What the allocator takes for a request of `size` bytes."""
    return -(-size // BLOCK) * BLOCK
