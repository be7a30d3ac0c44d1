"""What one release's parser accepts: its flags as data, read from the parser that it builds itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from sgcheck.resolve.plain import plain
from sgcheck.resolve.resolution import JsonValue
from sgcheck.values.unknown import find_unknown

if TYPE_CHECKING:
    import argparse

Match: TypeAlias = Literal["exact", "abbreviated", "ambiguous", "unknown"]

_DEPRECATED = re.compile(r"\s*(?:\[|\(|note: --[\w-]+ is )?deprecated\b", re.IGNORECASE)
_USE_FLAG = re.compile(
    r"(?:use|alias for|favor of|set|with)\s+['`\"]?(--[a-z0-9][\w-]*(?:=[\w.-]+)?)", re.IGNORECASE
)
_SPELLING = re.compile(r"--[a-z0-9][\w.-]*(?:=[\w.-]+)?")


class Flag(Struct, frozen=True):
    """One option of the parser.

    `dest` is the field of `ServerArgs` that it sets, as far as names tell. `least` and `most` bound the words that it takes (`most` None: no bound). `choices` are texts.
    `successor` is the spelling that the release itself recommends, None where it names none.
    """

    names: tuple[str, ...]
    dest: str
    least: int
    most: int | None
    action: str
    choices: tuple[str, ...] | None = None
    default: JsonValue = None
    deprecated: bool = False
    successor: str | None = None
    repeatable: bool = False
    required: bool = False

    @property
    def name(self) -> str:
        """The first long spelling."""
        return next((n for n in self.names if n.startswith("--")), self.names[0])


@dataclass(frozen=True, slots=True)
class FlagTable:
    """All flags of one release on one target."""

    version: str
    flags: tuple[Flag, ...]
    by_name: Mapping[str, Flag] = field(repr=False, compare=False, default_factory=dict)

    @classmethod
    def of(cls, version: str, flags: Iterable[Flag]) -> FlagTable:
        """A table with its index."""
        kept = tuple(flags)
        return cls(version, kept, {name: flag for flag in kept for name in flag.names})

    def match(self, name: str) -> tuple[Match, tuple[str, ...]]:
        """How argparse takes a spelling: the full names that it can stand for."""
        if name in self.by_name:
            return "exact", (name,)
        if not name.startswith("--") or name == "--":
            return "unknown", ()
        found = tuple(sorted(full for full in self.by_name if full.startswith(name)))
        if len(found) == 1:
            return "abbreviated", found
        return ("ambiguous", found) if found else ("unknown", ())

    def nearest(self, name: str, count: int = 2) -> tuple[str, ...]:
        """Spellings that resemble a wrong one, best first."""
        from sgcheck.resolve.refusal import nearest_flags

        return nearest_flags(name, self.by_name, count)

    def of_dest(self, dest: str) -> tuple[Flag, ...]:
        """The flags that write a field."""
        return tuple(flag for flag in self.flags if flag.dest == dest)


def same_effect(flag: Flag, table: FlagTable) -> str | None:
    """The successor of a deprecated flag if it sets the same field from the same words.

    That is another name, or a name with the value that the old flag stands for (`--new=value`).
    """
    name, equals, _ = (flag.successor or "").partition("=")
    new = table.by_name.get(name)
    if new is None or new.dest != flag.dest or not _SPELLING.fullmatch(flag.successor or ""):
        return None
    if equals:
        fits = flag.most == 0 and new.least <= 1 and (new.most is None or new.most >= 1)
    else:
        fits = (flag.least, flag.most) == (new.least, new.most)
    return flag.successor if fits else None


def read_flags(parser: argparse.ArgumentParser, fields: Collection[str] = ()) -> list[Flag]:
    """The flags of a parser, in its order; positional arguments are left out.

    `fields` are the names of the record's fields: some releases parse `--ep-size` into another name
    and move it to the field afterwards.
    """
    return [_flag(action, fields) for action in parser._actions if action.option_strings]


def _field(action: argparse.Action, fields: Collection[str]) -> str:
    if action.dest in fields:
        return action.dest
    spellings = (name.lstrip("-").replace("-", "_") for name in action.option_strings)
    return next((name for name in spellings if name in fields), action.dest)


def _flag(action: argparse.Action, fields: Collection[str]) -> Flag:
    least, most = _words(action)
    kind = type(action).__name__
    help_text = action.help if isinstance(action.help, str) else ""
    deprecated = "Deprecated" in kind or bool(_DEPRECATED.match(help_text))
    return Flag(
        names=tuple(action.option_strings),
        dest=_field(action, fields),
        least=least,
        most=most,
        action=kind,
        choices=_choices(action.choices),
        default=_default(action.default),
        deprecated=deprecated,
        successor=_successor(action, help_text) if deprecated else None,
        repeatable="Append" in kind or "Count" in kind or "Extend" in kind,
        required=bool(action.required),
    )


def _words(action: argparse.Action) -> tuple[int, int | None]:
    match action.nargs:
        case None:
            return 1, 1
        case int():
            return action.nargs, action.nargs
        case "?":
            return 0, 1
        case "+":
            return 1, None
        case _:
            return 0, None


def _choices(choices: Any) -> tuple[str, ...] | None:
    if choices is None:
        return None
    try:
        return tuple(str(choice) for choice in choices if find_unknown(choice) is None)
    except Exception:
        # A container of the tree's own that cannot be walked outside the interpreter.
        return None


def _default(default: Any) -> JsonValue:
    from argparse import SUPPRESS

    if default is SUPPRESS or find_unknown(default) is not None:
        return None
    return plain(default)


def _successor(action: argparse.Action, help_text: str) -> str | None:
    named = getattr(action, "new_flag", None)
    if isinstance(named, str):
        return named
    message = getattr(action, "error_message", None)
    for text in (message, help_text):
        found = _USE_FLAG.search(text) if isinstance(text, str) else None
        if found is not None and found[1] not in action.option_strings:
            return found[1]
    return None
