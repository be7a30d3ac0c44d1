"""What the parsers of two trees accept: flags gone, renamed, new; choices; what is deprecated."""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.findings.flags import Flag, FlagTable
from sgcheck.review.declared import Declarations
from sgcheck.review.model import CATEGORIES, FlagChange


def flag_changes(
    old: FlagTable, new: FlagTable, declared: tuple[Declarations, Declarations]
) -> list[FlagChange]:
    """All differences, in the order of the report, then by name.

    A flag counts as renamed where the tree that lost it has its field under another flag that the
    other tree does not know, or where the old tree itself names its successor.
    """
    found = [*_presence(old, new), *_choices(old, new), *_deprecated(old, new)]
    placed = [
        FlagChange(
            each.category,
            each.name,
            each.detail,
            declared[0].flag(each.name) if each.name in old.by_name else None,
            declared[1].flag(_new_name(each)) if _new_name(each) in new.by_name else None,
        )
        for each in found
    ]
    return sorted(placed, key=lambda c: (CATEGORIES.index(c.category), c.name, c.detail))


def _new_name(change: FlagChange) -> str:
    return change.detail if change.category == "flag-renamed" else change.name


def _presence(old: FlagTable, new: FlagTable) -> Iterator[FlagChange]:
    gone = [name for name in old.by_name if name not in new.by_name and name.startswith("--")]
    come = [name for name in new.by_name if name not in old.by_name and name.startswith("--")]
    renamed: dict[str, str] = {}
    for name in gone:
        other = _renamed(old.by_name[name], new, come)
        if other is not None and other not in renamed.values():
            renamed[name] = other
    for name, other in renamed.items():
        yield FlagChange("flag-renamed", name, other)
    for name in gone:
        if name not in renamed:
            yield FlagChange("flag-gone", name)
    for name in come:
        if name not in renamed.values():
            yield FlagChange("flag-new", name)


def _renamed(flag: Flag, new: FlagTable, come: list[str]) -> str | None:
    """The new spelling of a flag whose own spellings are all gone."""
    if any(name in new.by_name for name in flag.names):
        return None
    same = [n for n in come if new.by_name[n].dest == flag.dest and n == new.by_name[n].name]
    return same[0] if same else None


def _choices(old: FlagTable, new: FlagTable) -> Iterator[FlagChange]:
    for name, flag in old.by_name.items():
        other = new.by_name.get(name)
        if other is None or name != flag.name or flag.choices is None or other.choices is None:
            continue
        for choice in other.choices:
            if choice not in flag.choices:
                yield FlagChange("choice-new", name, choice)
        for choice in flag.choices:
            if choice not in other.choices:
                yield FlagChange("choice-gone", name, choice)


def _deprecated(old: FlagTable, new: FlagTable) -> Iterator[FlagChange]:
    for name, flag in new.by_name.items():
        before = old.by_name.get(name)
        if before is None or before.deprecated == flag.deprecated:
            continue
        if flag.deprecated:
            yield FlagChange("deprecated", name, flag.successor or "")
        else:
            yield FlagChange("deprecated", name, "no longer")
