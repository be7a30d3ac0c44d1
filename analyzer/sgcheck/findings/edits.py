"""Where a fix changes the text of a file, and the text that it gives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sgcheck.findings.model import Fix

_NEW = re.compile(r"[A-Za-z0-9_.=-]+")
_BEFORE_VALUE = r"""["']?\s*[=:,\s]\s*["']?(?:value["']?\s*:\s*)?["']?\Z"""
"""What stands between the name of a variable and its value in the formats that are read."""
_LONGEST_GAP = 200


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """The characters from `start` to before `end` become `text`."""

    start: int
    end: int
    text: str


def locate(original: str, fix: Fix) -> Edit | None:
    """The one place that a fix changes; None where it cannot be told, or is used elsewhere, too."""
    if not _NEW.fullmatch(fix.new):
        return None
    if fix.kind == "variable":
        return _variable(original, fix)
    raw = original[fix.span.start : fix.span.end]
    for before, old, new in _forms(fix):
        pattern = f"(?<![{before}]){re.escape(old)}(?![\\w-])"
        found = list(re.finditer(pattern, raw))
        if len(found) == 1:
            start = fix.span.start + found[0].start()
            return Edit(start, start + len(old), new)
        if found:
            return None
    return None


def _forms(fix: Fix) -> Iterable[tuple[str, str, str]]:
    """How a flag can be written: as a word; as a key, with a prefix, as a variable."""
    yield r"\w-", fix.old, fix.new
    if "=" in fix.new:
        return
    old, new = fix.old.removeprefix("--"), fix.new.removeprefix("--")
    yield "A-Za-z0-9", old, new
    old, new = old.replace("-", "_"), new.replace("-", "_")
    yield "A-Za-z0-9", old, new
    yield "A-Za-z0-9", old.upper(), new.upper()


def _variable(original: str, fix: Fix) -> Edit | None:
    uses = list(re.finditer(rf"(?<!\w){re.escape(fix.old)}(?!\w)", original))
    if len(uses) != 1:
        return None
    use = uses[0]
    if not 0 <= fix.span.start - use.end() <= _LONGEST_GAP:
        return None
    between = original[use.end() : fix.span.start]
    if not re.match(_BEFORE_VALUE, between):
        return None
    return Edit(use.start(), use.end(), fix.new)


def compatible(edits: Iterable[Edit]) -> list[Edit]:
    """Each edit once, in order; those that touch each other are left out."""
    ordered = sorted(set(edits))
    return [
        edit
        for index, edit in enumerate(ordered)
        if (index == 0 or ordered[index - 1].end <= edit.start)
        and (index + 1 == len(ordered) or edit.end <= ordered[index + 1].start)
    ]


def apply(original: str, edits: Iterable[Edit]) -> str:
    """The text after some edits, which must not touch each other."""
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits):
        pieces += (original[at : edit.start], edit.text)
        at = edit.end
    return "".join((*pieces, original[at:]))
