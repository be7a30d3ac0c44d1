"""Parts of texts and lists that an expansion takes: `${X#a}`, `${X:0:3}`, `${@:2}`."""

from __future__ import annotations

import fnmatch
import re

from sgcheck.scan.text import Mapped, join

_SLICE = re.compile(
    r"\$\{(?P<name>[@*]|\w+(?:\[[@*]\])?)\s*:\s*(?P<first>\d+|(?<=\s)-\d+)\s*(?::\s*(?P<count>\d+)\s*)?\}"
)


def bounds(source: str, size: int) -> tuple[int, int] | None:
    """What `${@:2}`, `${NAME[@]:1:2}` or `${NAME:0:3}` takes of so many parts, from 0 on.

    None for another form, and for what bash refuses. Arguments of a script count from 1.
    """
    found = _SLICE.fullmatch(source)
    if found is None:
        return None
    first = int(found["first"])
    if found["name"] in ("@", "*") and first >= 0:
        first -= 1
    if first < 0:
        first += size
    if first < 0:
        return None
    return first, size if found["count"] is None else first + int(found["count"])


def trim(raw: str, pattern: str, operator: str) -> tuple[int, int]:
    """What remains of a text when a glob is cut from its front (`#`) or its back (`%`)."""
    size = len(raw)
    longest = len(operator) == 2
    order = range(size, -1, -1) if longest else range(size + 1)
    if len(raw) > 2000:
        return 0, size
    for count in order:
        part = raw[:count] if operator[0] == "#" else raw[size - count :]
        if fnmatch.fnmatchcase(part, pattern):
            return (count, size) if operator[0] == "#" else (0, size - count)
    return 0, size


def without_tabs(text: Mapped) -> Mapped:
    """A text without the tabs at the beginning of its lines, as `<<-` leaves it."""
    pieces: list[Mapped] = []
    at = 0
    for line in text.text.splitlines(keepends=True):
        tabs = len(line) - len(line.lstrip("\t"))
        pieces.append(text[at + tabs : at + len(line)])
        at += len(line)
    return join(pieces)
