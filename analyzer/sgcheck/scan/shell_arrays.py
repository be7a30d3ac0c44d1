"""Associative arrays of a script: arrays whose words are `[key]=value`."""

from __future__ import annotations

import re

from tree_sitter import Node

from sgcheck.scan.shell_substrings import bounds
from sgcheck.scan.shell_tree import Script
from sgcheck.scan.text import OVERLONG, Mapped, join
from sgcheck.scan.words import Field

_MAX_ITEMS = 4096
_QUOTES = "\"'"
_ALL = re.compile(r"""\$\{(\w+)\[@\](?::?\+"?\$\{\1\[@\]\}"?)?\}""")


def bounded(
    script: Script, node: Node, value: Field | tuple[Field, ...]
) -> Field | tuple[Field, ...]:
    """A variable's value, unknown where it grew beyond all use (`X=$X$X`, again and again)."""
    if isinstance(value, tuple):
        if len(value) <= _MAX_ITEMS:
            return value
        reason = f"a list of more than {_MAX_ITEMS} words"
        return (Field(script.hole(node, reason, spliced=True), *script.place(node)),)
    if not value.value.is_overlong:
        return value
    return Field(script.hole(node, OVERLONG, spliced=True), *script.place(node))


def array_name(source: str) -> str | None:
    """The array that `${NAME[@]}` or `${NAME[@]+"${NAME[@]}"}` (empty where it has no words) stands for."""
    found = _ALL.fullmatch(source)
    return found[1] if found is not None else None


def is_map(value: tuple[Field, ...]) -> bool:
    """Whether an array is associative."""
    return bool(value) and all(f.text.startswith("[") and "]=" in f.text for f in value)


def element(value: tuple[Field, ...], index: str) -> Field | None:
    """The element at an index or a key, None where there is none."""
    if is_map(value):
        key = f"[{index.strip(_QUOTES)}]="
        found = [f for f in value if f.text.startswith(key)]
        return found[-1].after(len(key)) if found else None
    try:
        return value[int(index)]
    except (ValueError, IndexError):
        return None


def with_key(old: tuple[Field, ...], index: str, item: Field) -> tuple[Field, ...] | None:
    """An associative array after `NAME[index]=item`; None where the key is not a plain word."""
    bare = index.strip(_QUOTES)
    if not bare.isidentifier() or (old and not is_map(old)):
        return None
    key = f"[{bare}]="
    marked = Mapped.standing_for(key, item.start, item.start)
    new = Field(join((marked, item.value)), item.start, item.end)
    return (*(f for f in old if not f.text.startswith(key)), new)


def with_index(old: tuple[Field, ...], index: str, item: Field) -> tuple[Field, ...] | None:
    """A list after `NAME[index]=item`; None where the place is not known or would leave a gap."""
    if is_map(old) or not index.isascii() or not index.isdigit() or len(index) > 6:
        return None
    at = int(index)
    if at > len(old) or any(f.many != "one" for f in old[:at]):
        return None
    return (*old[:at], item, *old[at + 1 :])


def sliced(fields: tuple[Field, ...], source: str) -> tuple[Field, ...] | None:
    """The words that a slice takes, None where their number is not known."""
    part = bounds(source, len(fields))
    if part is None or any(f.many != "one" for f in fields):
        return None
    return fields[slice(*part)]


def spaced(fields: tuple[Field, ...]) -> list[Mapped]:
    """The texts of some words with a blank between them, as `"${NAME[*]}"` joins them."""
    pieces: list[Mapped] = []
    for each in fields:
        if pieces:
            pieces.append(Mapped.standing_for(" ", each.start, each.start))
        pieces.append(each.value)
    return pieces
