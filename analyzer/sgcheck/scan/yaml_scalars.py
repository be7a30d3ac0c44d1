"""Where each character of a YAML scalar's value stands in its text.

PyYAML gives a scalar's value and where the node begins and ends. This follows the text between and pairs
it with the value: quotes, escapes, folded lines, indentation. When the two do not fit together, the
whole value stands for the whole node, which is less exact but never wrong.
"""

from __future__ import annotations

from yaml.nodes import ScalarNode

from sgcheck.scan.text import EMPTY, Mapped, join

_BLANKS = " \t\r\n\x85\u2028\u2029"
_HEX = {"x": 2, "u": 4, "U": 8}


def scalar_mapped(text: Mapped, node: ScalarNode) -> Mapped:
    """The node's value as mapped text over `text`, of which the node is a part."""
    value: str = node.value
    if not value:
        return EMPTY
    start, end = node.start_mark.index, node.end_mark.index
    raw = text.text
    style = node.style
    inner = start + 1 if style in ("'", '"') else start
    if raw.startswith(value, inner) and "\n" not in value and "\\" not in value:
        return text[inner : inner + len(value)]
    if style == "|":
        found = _literal(text, raw, start, end, value)
    elif style == '"':
        found = _double(text, raw, inner, end, value)
    else:
        found = _folded(text, raw, inner, end, value, quoted=style == "'", block=style == ">")
    if found is not None and found.text == value:
        return found
    first = text.place(start)[0]
    return Mapped.standing_for(value, first, max(first, text.place(max(start, end - 1))[1]))


def _block_start(raw: str, start: int, end: int) -> int:
    """The first character after a block scalar's header line."""
    newline = raw.find("\n", start, end)
    return end if newline < 0 else newline + 1


def _literal(text: Mapped, raw: str, start: int, end: int, value: str) -> Mapped | None:
    pieces: list[Mapped] = []
    at = _block_start(raw, start, end)
    lines = value.split("\n")
    for number, line in enumerate(lines):
        stop = raw.find("\n", at)
        stop = len(raw) if stop < 0 else stop
        if line:
            begin = raw.find(line, at, stop)
            if begin < 0:
                return None
            # The value keeps trailing blanks, so the line ends where the file's line ends.
            begin = max(begin, stop - len(line) - (1 if raw[stop - 1 : stop] == "\r" else 0))
            if raw[begin : begin + len(line)] != line:
                return None
            pieces.append(text[begin : begin + len(line)])
        if number < len(lines) - 1:
            here = min(stop, len(raw) - 1)
            place = text.place(here)
            pieces.append(Mapped.standing_for("\n", *place))
        at = min(stop + 1, len(raw))
    return join(pieces)


def _folded(
    text: Mapped, raw: str, at: int, end: int, value: str, *, quoted: bool, block: bool
) -> Mapped | None:
    if block:
        at = _block_start(raw, at, end)
    pieces: list[Mapped] = []
    size = len(value)
    i = 0
    while i < size:
        if value[i] in _BLANKS:
            stop = i + 1
            while stop < size and value[stop] in _BLANKS:
                stop += 1
            place = text.place(min(at, len(raw) - 1))
            pieces.append(Mapped.standing_for(value[i:stop], *place))
            i = stop
            continue
        while at < end and raw[at] in _BLANKS:
            at += 1
        if quoted and value[i] == "'":
            if raw[at : at + 2] != "''":
                return None
            pieces.append(text[at : at + 1])
            at += 2
            i += 1
            continue
        stop = i + 1
        while stop < size and value[stop] not in _BLANKS and not (quoted and value[stop] == "'"):
            stop += 1
        if not raw.startswith(value[i:stop], at):
            return None
        pieces.append(text[at : at + stop - i])
        at += stop - i
        i = stop
    return join(pieces)


def _double(text: Mapped, raw: str, at: int, end: int, value: str) -> Mapped | None:
    pieces: list[Mapped] = []
    size = len(value)
    i = 0
    while i < size:
        if at >= end:
            return None
        char = raw[at]
        if char == "\\":
            if at + 1 < end and raw[at + 1] in "\r\n":  # an escaped line end disappears
                at += 2
                while at < end and raw[at] in _BLANKS:
                    at += 1
                continue
            width = 2 + _HEX.get(raw[at + 1], 0) if at + 1 < end else 1
            first = text.place(at)[0]
            last = text.place(min(at + width, len(raw)) - 1)[1]
            pieces.append(Mapped.standing_for(value[i], first, last))
            at += width
            i += 1
        elif char in _BLANKS and value[i] in _BLANKS:
            stop = at
            while stop < end and raw[stop] in _BLANKS:
                stop += 1
            until = i
            while until < size and value[until] in _BLANKS:
                until += 1
            if "\n" not in raw[at:stop] and "\r" not in raw[at:stop]:
                until = min(until, i + stop - at)
                pieces.append(text[at : at + until - i])
                at += until - i
            else:
                # Folding: only as many blanks as this stretch gives; escapes may follow.
                breaks = raw[at:stop].replace("\r\n", "\n").count("\n")
                until = min(until, i + max(1, breaks - 1))
                pieces.append(Mapped.standing_for(value[i:until], *text.place(at)))
                at = stop
            i = until
        elif char == value[i]:
            pieces.append(text[at : at + 1])
            at += 1
            i += 1
        else:
            return None
    return join(pieces)
