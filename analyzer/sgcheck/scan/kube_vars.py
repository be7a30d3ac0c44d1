"""Kubernetes' own variable references `$(NAME)` in commands and arguments."""

from __future__ import annotations

from collections.abc import Mapping

from sgcheck.scan.text import Hole, Mapped, SourceFile, join
from sgcheck.scan.words import Field


def expand_variables(file: SourceFile, text: Mapped, values: Mapping[str, Field]) -> Mapped:
    """`text` with `$(NAME)` replaced by the container's variables and `$$` by `$`.

    A name that the manifest does not set is unknown: an operator injects it. In a script only a name in
    capitals is taken for one; anything else there is a command substitution.
    """
    raw = text.text
    if "$" not in raw:
        return text
    script = any(b in raw for b in " \n\t")
    pieces: list[Mapped] = []
    at = i = 0
    while (i := raw.find("$", i)) >= 0:
        if raw.startswith("$$(", i):
            pieces.append(text[at : i + 1])
            i = at = i + 2
            continue
        close = raw.find(")", i)
        if not raw.startswith("$(", i) or close < 0:
            i += 1
            continue
        name = raw[i + 2 : close]
        value = values.get(name)
        if value is None and not (_is_variable(name) if script else _is_name(name)):
            i += 1
            continue
        pieces.append(text[at:i])
        if value is not None:
            pieces.append(value.value)
        else:
            start, end = text[i : close + 1].extent() or (0, 0)
            hole = Hole(raw[i : close + 1], "injected at run time")
            pieces.append(Mapped.standing_for(file.hole(hole), start, end))
        i = at = close + 1
    pieces.append(text[at:])
    return join(pieces)


def _is_variable(text: str) -> bool:
    return text.isidentifier() and text.upper() == text


def _is_name(text: str) -> bool:
    return bool(text) and all(c.isalnum() or c in "_-." for c in text)
