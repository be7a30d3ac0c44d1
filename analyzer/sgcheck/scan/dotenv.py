"""Files of `NAME=value` lines (`.env`, `env_file`, unit environments) with places."""

from __future__ import annotations

from sgcheck.scan.text import EMPTY, Mapped
from sgcheck.scan.words import Field, split_posix


def read_assignments(text: Mapped) -> dict[str, Field]:
    """The variables of a `.env` file; the last of several wins. Lines that are no assignment are ignored."""
    found: dict[str, Field] = {}
    raw = text.text
    at = 0
    while at < len(raw):
        stop = raw.find("\n", at)
        stop = len(raw) if stop < 0 else stop
        line = text[at:stop].strip()
        at = stop + 1
        if line.text.startswith("export "):
            line = line[7:].strip()
        name, equals, _ = line.text.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier() or line.text.startswith("#"):
            continue
        value = _value(line[line.text.index("=") + 1 :].strip())
        place = value.extent() or line.extent() or (0, 0)
        found[name] = Field(value, *place)
    return found


def _value(text: Mapped) -> Mapped:
    raw = text.text
    if raw[:1] in ("'", '"'):
        words = split_posix(text)
        return words[0].value if words else EMPTY
    comment = raw.find(" #")
    return text[:comment].strip() if comment >= 0 else text


def foreign(fields: dict[str, Field], start: int, end: int) -> dict[str, Field]:
    """The variables of another file, all standing for one place of this one."""
    return {
        name: Field(Mapped.standing_for(f.value.text, start, end), start, end)
        for name, f in fields.items()
    }
