"""Where the characters of Python string literals stand, escapes and f-strings included.

`ast` gives a literal's value and its whole place only; a script inside a literal needs each character's.
"""

from __future__ import annotations

from collections.abc import Callable

from sgcheck.scan.text import EMPTY, Mapped, join

# Turns the source of an f-string's expression, standing at an offset, into its text.
Replacement = Callable[[str, int, int], Mapped]

_SIMPLE = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "\0",
}
_HEX = {"x": 2, "u": 4, "U": 8}


def literal_text(source: Mapped, replace: Replacement) -> Mapped | None:
    """The value of one or more adjacent literals, from their source.

    None when the source is not understood (bytes, unknown escapes): the caller then has only `ast`'s value.
    """
    raw = source.text
    pieces: list[Mapped] = []
    i = 0
    while i < len(raw):
        char = raw[i]
        if char in " \t\r\n\\()":
            i += 1
            continue
        if char == "#":
            stop = raw.find("\n", i)
            i = len(raw) if stop < 0 else stop
            continue
        prefix = ""
        while i < len(raw) and raw[i].lower() in "rbuft":
            prefix += raw[i].lower()
            i += 1
        if i >= len(raw) or raw[i] not in "'\"" or "b" in prefix:
            return None
        quote = raw[i] * 3 if raw.startswith(raw[i] * 3, i) else raw[i]
        i += len(quote)
        found = _body(source, i, quote, prefix, replace=replace)
        if found is None:
            return None
        text, i = found
        pieces.append(text)
    return join(pieces) if pieces else EMPTY


def _body(
    source: Mapped, i: int, quote: str, prefix: str, *, replace: Replacement
) -> tuple[Mapped, int] | None:
    raw = source.text
    pieces: list[Mapped] = []
    begin = i
    formatted = "f" in prefix

    def flush(stop: int) -> None:
        if stop > begin:
            pieces.append(source[begin:stop])

    while i < len(raw):
        if raw.startswith(quote, i):
            flush(i)
            return join(pieces), i + len(quote)
        char = raw[i]
        if char == "\\" and "r" not in prefix:
            flush(i)
            escaped = _escape(raw, i)
            if escaped is None:
                return None
            value, width = escaped
            if value:
                pieces.append(Mapped.standing_for(value, *_place(source, i, i + width)))
            i += width
            begin = i
        elif char == "\\":
            i += 2
        elif formatted and raw[i : i + 2] in ("{{", "}}"):
            flush(i + 1)
            i += 2
            begin = i
        elif formatted and char == "{":
            flush(i)
            stop = _closing(raw, i + 1)
            if stop < 0:
                return None
            pieces.append(replace(raw[i + 1 : stop], *_place(source, i, stop + 1)))
            i = begin = stop + 1
        else:
            i += 1
    return None


def _place(source: Mapped, start: int, end: int) -> tuple[int, int]:
    return source.place(start)[0], source.place(end - 1)[1]


def _escape(raw: str, i: int) -> tuple[str, int] | None:
    following = raw[i + 1 : i + 2]
    if following == "\n":
        return "", 2
    if raw.startswith("\r\n", i + 1):
        return "", 3
    if following in _SIMPLE and not raw[i + 2 : i + 3].isdigit():
        return _SIMPLE[following], 2
    if following in _SIMPLE and following != "0":
        return _SIMPLE[following], 2
    width = _HEX.get(following)
    if width is not None:
        digits = raw[i + 2 : i + 2 + width]
        try:
            return chr(int(digits, 16)), 2 + width
        except (ValueError, OverflowError):
            return None
    if following in "N01234567" or not following:
        return None
    return "\\" + following, 2


def _closing(raw: str, i: int) -> int:
    """The brace that ends an f-string's expression begun before `i`, or -1."""
    depth = 0
    quote = ""
    while i < len(raw):
        char = raw[i]
        if quote:
            if char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char == "}" and depth == 0:
            return i
        elif char in ")]}":
            depth -= 1
        i += 1
    return -1
