"""In which releases a flag, one of its choices or an environment variable is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sgcheck.errors import NothingToAnalyse, UsageError
from sgcheck.report.document import Document
from sgcheck.review.sides import Side
from sgcheck.review.timeline import changes_in, looked_at
from sgcheck_rules.history import history

SCHEMA = "sgcheck.since/1"
_VARIABLE = re.compile(r"SGL(?:ANG)?_[A-Z0-9_]+\Z")
_FLAG = re.compile(r"--[a-z0-9][\w-]*\Z")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for: `kind` is flag, choice or variable."""

    kind: str
    name: str
    choice: str = ""

    @property
    def text(self) -> str:
        """As one writes it."""
        return f"{self.name}={self.choice}" if self.kind == "choice" else self.name


@dataclass(frozen=True, slots=True)
class State:
    """What one release says: whether it knows the name, deprecates it, and names a successor."""

    known: bool
    deprecated: bool = False
    successor: str = ""


@dataclass(frozen=True, slots=True)
class NameHistory:
    """`states` holds the releases that were read, by index in `releases`."""

    asked: Asked
    releases: tuple[str, ...]
    states: dict[int, State]
    changes: tuple[tuple[int, int], ...]
    other_names: tuple[str, ...] = ()


def parse_asked(words: Sequence[str]) -> Asked:
    """`--flag`, `--flag=choice`, `--flag choice` or `SGLANG_X`. Raises UsageError."""
    text = "=".join(words)
    name, equals, choice = text.partition("=")
    if _VARIABLE.match(text):
        return Asked("variable", text)
    if not name.startswith("--"):
        name = "--" + name.replace("_", "-")
    if not _FLAG.match(name) or (equals and not choice):
        raise UsageError(
            f"{' '.join(words)}: name a --flag, a --flag=choice or an SGLANG_ variable"
        )
    return Asked("choice", name, choice) if equals else Asked("flag", name)


def name_history(
    asked: Asked,
    releases: Sequence[str],
    open_side: Callable[[str], Side],
    *,
    every: bool = False,
) -> NameHistory:
    """Read few of the releases (all with `every`). Raises NothingToAnalyse for a name that none has."""

    def state(index: int) -> State:
        return _state(asked, open_side(releases[index]))

    seeds = range(len(releases)) if every else _seeds(asked, releases)
    found = looked_at(len(releases), state, State.__eq__, seeds)
    if not any(each.known for each in found.values()):
        few = "" if every or len(found) == len(releases) else "; --every reads all of them"
        raise NothingToAnalyse(
            f"no release from {releases[0]} to {releases[-1]} that was read knows {asked.text}{few}."
        )
    others = history().other_names(asked.name) if asked.kind != "variable" else ()
    changes = tuple(changes_in(found, State.__eq__))
    return NameHistory(asked, tuple(releases), found, changes, others)


def _seeds(asked: Asked, releases: Sequence[str]) -> Iterable[int]:
    """Where the measured history has a run's ends, so that bisecting finds short ones, too."""
    kind = "environment" if asked.kind == "variable" else "flags"
    measured = history()
    for first, last in measured.runs[kind].get(asked.name, ()):
        for index in (first, last):
            if measured.releases[index] in releases:
                yield list(releases).index(measured.releases[index])


def _state(asked: Asked, side: Side) -> State:
    if asked.kind == "variable":
        return State(side.release.known_names().knows(asked.name))
    from sgcheck.world.target import resolve_target

    table = side.flags(resolve_target("sm90", None))
    if table is None:
        raise NothingToAnalyse(
            f"SGLang {side.tree.version}: its parser could not be built, so its flags are not known."
        )
    flag = table.by_name.get(asked.name)
    if flag is None:
        return State(False)
    known = asked.kind == "flag" or (flag.choices is None or asked.choice in flag.choices)
    return State(known, flag.deprecated and known, (flag.successor or "") if known else "")


def sentence(history_: NameHistory, before: int, after: int) -> str:
    """What happened between two releases."""
    old, new = history_.states[before], history_.states[after]
    if new.known and not old.known:
        return "appears"
    if old.known and not new.known:
        names = ", ".join(history_.other_names)
        return f"is gone; other names: {names}" if names else "is gone"
    if new.deprecated and not old.deprecated:
        return "is deprecated" + (f": use {new.successor}" if new.successor else "")
    if old.deprecated and not new.deprecated:
        return "is no longer deprecated"
    return f"has another successor: {new.successor or 'none'}"


def since_document(found: NameHistory) -> Document:
    """The JSON form (`docs/diff.md`)."""
    return {
        "schema": SCHEMA,
        "name": found.asked.text,
        "kind": found.asked.kind,
        "releases": [
            {
                "release": release,
                "read": index in found.states,
                "known": found.states[index].known if index in found.states else None,
                "deprecated": found.states[index].deprecated if index in found.states else None,
            }
            for index, release in enumerate(found.releases)
        ],
        "changes": [
            {
                "from": found.releases[before],
                "to": found.releases[after],
                "what": sentence(found, before, after),
            }
            for before, after in found.changes
        ],
        "other_names": list(found.other_names),
    }
