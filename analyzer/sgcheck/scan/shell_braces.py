"""Brace expansion: `{1,2,4}` and `{1..8}` are several words, before anything else is expanded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tree_sitter import Node

from sgcheck.scan.shell_tree import Script

_MAX_WORDS = 512
_MAX_BRACES = 40
_NUMBERS = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})(?:\.\.(-?\d{1,6}))?")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])")


@dataclass(frozen=True, slots=True)
class Made:
    """A text that the braces between two positions of the script stand for (`2` of `{1..3}`)."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Plain:
    """A stretch of the script as it is written; quoted only by backslashes."""

    start: int
    end: int


Piece: TypeAlias = "Made | Plain | Node"


class TooMany(Exception):
    """The braces stand for more words than any command has, or are nested too deeply."""


def brace_words(script: Script, node: Node) -> list[list[Piece]] | None:
    """The words that one word with braces stands for, as their pieces; None where nothing is expanded.

    A piece that is a node is quoted or an expansion. Braces without a comma or a range stay as they are.
    Raises TooMany.
    """
    if node.type not in ("concatenation", "brace_expression") or "{" not in script.source(node):
        return None
    if node.type == "concatenation" and not any(_opens(script, c) for c in node.children):
        return None
    if script.source(node).count("{") > _MAX_BRACES:
        raise TooMany
    words = _words(_atoms(script, node), script.raw)
    return [_merged(word) for word in words] if len(words) > 1 else None


def _opens(script: Script, node: Node) -> bool:
    return node.type in ("word", "brace_expression") and "{" in script.source(node)


def _atoms(script: Script, node: Node) -> list[Piece]:
    """Single characters that may be braces and commas; escaped ones and nodes stay whole."""
    found: list[Piece] = []
    for child in node.children if node.type == "concatenation" else [node]:
        if child.type not in ("word", "number", "brace_expression"):
            found.append(child)
            continue
        at = child.start_byte
        while at < child.end_byte:
            size = 2 if script.raw[at] == "\\" else 1
            found.append(Plain(at, min(at + size, child.end_byte)))
            at += size
    return found


def _char(piece: Piece, raw: str) -> str:
    if isinstance(piece, Plain) and piece.end - piece.start == 1:
        return raw[piece.start]
    return ""


def _words(atoms: Sequence[Piece], raw: str) -> list[list[Piece]]:
    for i, atom in enumerate(atoms):
        if _char(atom, raw) != "{":
            continue
        parts, stop = _parts(atoms, i, raw)
        if stop < 0:
            continue
        inside = [w for part in parts for w in _words(part, raw)] if len(parts) > 1 else None
        if inside is None:
            inside = _range(atoms[i : stop + 1], raw)
        if inside is None:
            continue
        tails = _words(atoms[stop + 1 :], raw)
        if len(inside) * len(tails) > _MAX_WORDS:
            raise TooMany
        return [[*atoms[:i], *middle, *tail] for middle in inside for tail in tails]
    return [list(atoms)]


def _parts(atoms: Sequence[Piece], begin: int, raw: str) -> tuple[list[Sequence[Piece]], int]:
    """What stands between the commas of the braces that open at `begin`, and where they close (-1: never)."""
    depth = 0
    parts: list[Sequence[Piece]] = []
    last = begin + 1
    for i in range(begin, len(atoms)):
        char = _char(atoms[i], raw)
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if not depth:
                return [*parts, atoms[last:i]], i
        elif char == "," and depth == 1:
            parts.append(atoms[last:i])
            last = i + 1
    return [], -1


def _range(atoms: Sequence[Piece], raw: str) -> list[list[Piece]] | None:
    first, last = atoms[0], atoms[-1]
    inner = "".join(_char(a, raw) for a in atoms[1:-1])
    if not isinstance(first, Plain) or not isinstance(last, Plain) or len(inner) != len(atoms) - 2:
        return None
    letters = _LETTERS.fullmatch(inner)
    if letters is not None:
        one, two = ord(letters[1]), ord(letters[2])
        texts = [chr(c) for c in _steps(one, two, 1)]
    else:
        numbers = _NUMBERS.fullmatch(inner)
        if numbers is None:
            return None
        width = max(len(n) for n in numbers.group(1, 2))
        padded = any(n.lstrip("-").startswith("0") and len(n) > 1 for n in numbers.group(1, 2))
        steps = _steps(int(numbers[1]), int(numbers[2]), int(numbers[3] or 1))
        if len(steps) > _MAX_WORDS:
            raise TooMany
        texts = [f"{n:0{width}d}" if padded else str(n) for n in steps]
    return [[Made(text, first.start, last.end)] for text in texts]


def _steps(first: int, last: int, step: int) -> range:
    step = abs(step) or 1
    return range(first, last + 1, step) if last >= first else range(first, last - 1, -step)


def _merged(word: Sequence[Piece]) -> list[Piece]:
    """The pieces of a word, with what stands side by side in the script as one."""
    out: list[Piece] = []
    for piece in word:
        before = out[-1] if out else None
        if isinstance(piece, Plain) and isinstance(before, Plain) and before.end == piece.start:
            out[-1] = Plain(before.start, piece.end)
        else:
            out.append(piece)
    return out
