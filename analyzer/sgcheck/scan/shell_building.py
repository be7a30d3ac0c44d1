"""The words that one word of a script becomes, while it is expanded."""

from __future__ import annotations

from dataclasses import dataclass, field

from sgcheck.scan.text import Mapped, join
from sgcheck.scan.words import Field


@dataclass(slots=True)
class Building:
    """Fields under construction for one word of the script."""

    done: list[Field] = field(default_factory=list)
    pieces: list[Mapped] = field(default_factory=list)
    open: bool = False
    unquoted: bool = False

    def add(self, text: Mapped) -> None:
        """Add text to the word that is open."""
        self.pieces.append(text)
        self.open = True

    def close(self, assumed: tuple[str, ...]) -> None:
        """End the word that is open, if one is."""
        if self.open:
            value = join(self.pieces)
            start, end = value.extent() or (-1, -1)
            many = "maybe" if self.unquoted and len(value) == 1 else "one"
            self.done.append(Field(value, start, end, many, assumed))  # type: ignore[arg-type]
        self.pieces = []
        self.open = False
        self.unquoted = False
