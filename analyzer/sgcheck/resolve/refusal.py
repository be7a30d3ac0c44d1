"""What to write instead of what SGLang's parser refuses: the parser itself says only what it refuses."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence

_UNRECOGNIZED = "unrecognized arguments: "
_AMBIGUOUS = re.compile(r"ambiguous option: (?P<flag>[^\s=]+)\S* could match ")
_CHOICE = re.compile(
    r"argument (?P<flag>[^:]+): invalid choice: (?P<quote>['\"])(?P<value>.*?)(?P=quote) "
    r"\((?:choose from|options:) (?P<choices>.*)\)$",
    re.DOTALL,
)
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_CLOSE_FLAG = 0.75
_CLOSE_CHOICE = 0.6
_MOST = 3
"""Flags that are advised on; whoever gets more names wrong reads another release's page."""


def advice(message: str, spellings: Collection[str]) -> str | None:
    """One line on what a parser refuses: the nearest name, and which releases know what was written.

    `message` is argparse's, `spellings` are all option names of the parser. None where nothing helps.
    """
    if message.startswith(_UNRECOGNIZED):
        words = message.removeprefix(_UNRECOGNIZED).split()
        names = [w.partition("=")[0] for w in words if w.startswith("-") and not _is_number(w)]
        names = list(dict.fromkeys(name for name in names if name not in spellings))
        said = [text for name in names if (text := _flag(name, spellings)) is not None]
        return "; ".join(said[:_MOST]) or None
    ambiguous = _AMBIGUOUS.match(message)
    if ambiguous is not None:
        return _flag(ambiguous["flag"], spellings, near=False)
    refused = _CHOICE.match(message)
    if refused is not None:
        choices = [a or b for a, b in _QUOTED.findall(refused["choices"])]
        choices = choices or [word.strip() for word in refused["choices"].split(",")]
        near = difflib.get_close_matches(refused["value"], choices, 1, _CLOSE_CHOICE)
        return f"the nearest choice to '{refused['value']}' is {near[0]}" if near else None
    return None


def nearest_flags(name: str, spellings: Collection[str], count: int = 2) -> tuple[str, ...]:
    """Long spellings that resemble a wrong one, best first."""
    names = sorted(spelling for spelling in spellings if spelling.startswith("--"))
    return tuple(difflib.get_close_matches(name, names, count, _CLOSE_FLAG))


def _flag(name: str, spellings: Collection[str], *, near: bool = True) -> str | None:
    from sgcheck_rules.history import history

    known = history().known_in("flags", name)
    other = _present(history().other_names(name), spellings)
    parts = []
    if known is not None:
        parts.append(f"among the measured releases {name} is known {known}")
    if other is not None:
        parts.append(f"this release calls it {other}" if parts else f"{name} is {other} here")
    elif near and (close := nearest_flags(name, spellings)):
        if parts:
            parts.append(f"the nearest flag here is {close[0]}, which may not mean the same")
        else:
            parts.append(f"the nearest flag to {name} is {' or '.join(close)}")
    return ", ".join(parts) or None


def _present(names: Sequence[str], spellings: Collection[str]) -> str | None:
    return next((name for name in names if name.partition("=")[0] in spellings), None)


def _is_number(word: str) -> bool:
    return re.fullmatch(r"-\d+|-\d*\.\d+", word) is not None


__all__ = ["advice", "nearest_flags"]
