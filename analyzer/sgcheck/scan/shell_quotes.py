"""Backslashes of a script: what they escape inside and outside of quotes."""

from __future__ import annotations

from sgcheck.scan.text import Mapped, join

IN_QUOTES = '"\\$`'
"""What a backslash escapes inside double quotes."""
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b"}


def unescape(text: Mapped, escaped: str) -> Mapped:
    """`text` without the backslashes before `escaped` characters (all, if it is empty) and lines' ends."""
    raw = text.text
    if "\\" not in raw:
        return text
    pieces: list[Mapped] = []
    i = begin = 0
    while i < len(raw) - 1:
        if raw[i] != "\\":
            i += 1
            continue
        following = raw[i + 1]
        if following in "\n\r" or not escaped or following in escaped:
            pieces.append(text[begin:i])
            i += 2
            begin = i if following in "\n\r" else i - 1
            if following == "\r" and raw[i : i + 1] == "\n":
                i += 1
                begin = i
        else:
            i += 2
    pieces.append(text[begin:])
    return join(pieces)


def ansi(text: Mapped) -> Mapped:
    """What `$'…'` stands for."""
    raw = text.text
    pieces: list[Mapped] = []
    i = 2
    while i < len(raw) - 1:
        if raw[i] == "\\" and raw[i + 1] in _ANSI:
            start, end = text.place(i)[0], text.place(i + 1)[1]
            pieces.append(Mapped.standing_for(_ANSI[raw[i + 1]], start, end))
            i += 2
        else:
            pieces.append(text[i : i + 1])
            i += 1
    return join(pieces)
