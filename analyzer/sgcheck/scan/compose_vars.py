"""Variables in compose files: `$X`, `${X}`, `${X:-default}`, `${X:?message}`, `$$`."""

from __future__ import annotations

from collections.abc import Mapping

from sgcheck.scan.text import EMPTY, Hole, Mapped, SourceFile, join

_MAX_DEPTH = 8
_OPERATORS = (":-", ":?", ":+", "-", "?", "+")


class Interpolation:
    """Replaces variables by the values of `.env`, else by their defaults, else by holes.

    `assumed` collects which variables were taken as unset since it was last cleared.
    """

    def __init__(self, file: SourceFile, values: Mapping[str, str]) -> None:
        self.file = file
        self.values = values
        self.assumed: list[str] = []

    def __call__(self, text: Mapped, depth: int = 0) -> Mapped:
        raw = text.text
        if "$" not in raw or depth > _MAX_DEPTH:
            return text
        pieces: list[Mapped] = []
        at = i = 0
        while (i := raw.find("$", i)) >= 0:
            following = raw[i + 1 : i + 2]
            if following == "$":
                pieces.append(text[at : i + 1])
                i = at = i + 2
                continue
            if following == "{":
                end = _closing(raw, i + 2)
                if end < 0:
                    break
                pieces.append(text[at:i])
                pieces.append(self._braces(text[i : end + 1], depth))
            elif following.isalpha() or following == "_":
                end = i + 1
                while end + 1 < len(raw) and (raw[end + 1].isalnum() or raw[end + 1] == "_"):
                    end += 1
                pieces.append(text[at:i])
                pieces.append(self._plain(text[i : end + 1], raw[i + 1 : end + 1]))
            else:
                i += 1
                continue
            i = at = end + 1
        pieces.append(text[at:])
        return join(pieces)

    def _plain(self, whole: Mapped, name: str) -> Mapped:
        if name in self.values:
            return self._known(whole, self.values[name])
        place = whole.extent() or (0, 0)
        hole = Hole(whole.text, f"${name} is not set in the file or in .env")
        return Mapped.standing_for(self.file.hole(hole), *place)

    def _known(self, whole: Mapped, value: str) -> Mapped:
        return Mapped.standing_for(value, *(whole.extent() or (0, 0)))

    def _braces(self, whole: Mapped, depth: int) -> Mapped:
        inner = whole[2 : len(whole) - 1]
        raw = inner.text
        size = 0
        while size < len(raw) and (raw[size].isalnum() or raw[size] == "_"):
            size += 1
        name = raw[:size]
        sign = next((o for o in _OPERATORS if raw.startswith(o, size)), "")
        argument = inner[size + len(sign) :]
        value = self.values.get(name)
        is_set = value is not None and (sign[:1] != ":" or value != "")
        if sign in (":+", "+"):
            return self(argument, depth + 1) if is_set else EMPTY
        if is_set and value is not None:
            return self._known(whole, value)
        if sign in (":-", "-"):
            if value is None:
                self.assumed.append(f"{name} is unset")
            return self(argument, depth + 1)
        return self._plain(whole, name)


def _closing(raw: str, i: int) -> int:
    """The index of the brace that closes the one before `i`, or -1."""
    depth = 1
    while i < len(raw):
        if raw[i] == "}":
            depth -= 1
            if depth == 0:
                return i
        elif raw.startswith("${", i):
            depth += 1
            i += 1
        i += 1
    return -1
