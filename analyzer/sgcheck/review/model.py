"""What a comparison of two trees hands on: plain immutable data, in the words of the report.

"Old" is the first tree of `sgcheck diff A B`, "new" the second one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.resolution import FieldAnswer, LaunchError, OutcomeStatus, TreeInfo

if TYPE_CHECKING:
    from sgcheck.resolve.predict import Depth

Category: TypeAlias = Literal[
    "breaks",
    "starts",
    "fails-differently",
    "backend",
    "value",
    "runs",
    "flag-gone",
    "flag-renamed",
    "flag-new",
    "choice-new",
    "choice-gone",
    "deprecated",
    "log",
    "undecided",
]

CATEGORIES: tuple[Category, ...] = get_args(Category)
"""In the order in which a report shows them."""

TITLES: Mapping[Category, str] = {
    "breaks": "no longer start",
    "starts": "would start now",
    "fails-differently": "fail in another way",
    "backend": "backend changed",
    "value": "other value changed",
    "runs": "something else runs",
    "flag-gone": "flags gone",
    "flag-renamed": "flags renamed",
    "flag-new": "flags new",
    "choice-new": "choices new",
    "choice-gone": "choices gone",
    "deprecated": "deprecated",
    "log": "log messages",
    "undecided": "could not be compared",
}


@dataclass(frozen=True, slots=True)
class ReviewLaunch:
    """One launch to compare, `name` as the report calls it (unique within a review).

    `explore` follows every model where the launch's own is not known. `place` is the file and line
    of a launch that was read from a deployment file. `depth`: how far it is followed.
    """

    name: str
    launch: Launch
    explore: bool = False
    place: tuple[str, int] | None = None
    depth: Depth = "arguments"


@dataclass(frozen=True, slots=True)
class Site:
    """A place in one of the trees that decided something.

    `kind` is that of a step (default, flag, env, write, declared), or `raise`, `log`, `parser`.
    `text` is the statement as the source has it, folded to one line; None where it is not read.
    """

    kind: str
    file: str | None = None
    line: int | None = None
    function: str | None = None
    conditions: tuple[str, ...] = ()
    url: str | None = None
    text: str | None = None

    @property
    def place(self) -> tuple[str | None, int | None]:
        """File and line, what sites are grouped by."""
        return self.file, self.line


@dataclass(frozen=True, slots=True)
class Change:
    """One difference of one launch. `subject` is the field, `start` for the outcome, `log`,
    or `env NAME` for a variable that resolution sets; `main.experts.kernel` for what runs.

    `roles` are the effective backends that the field is (`main.moe_runner`). `old` and `new` are
    answers (None where that side has none), or errors, or the texts of messages.
    """

    category: Category
    subject: str
    old: FieldAnswer | LaunchError | str | None
    new: FieldAnswer | LaunchError | str | None
    old_sites: tuple[Site, ...] = ()
    new_sites: tuple[Site, ...] = ()
    roles: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """One launch on both trees. `moved` are (subject, old place, new place) of equal answers."""

    launch: ReviewLaunch
    old_status: OutcomeStatus
    new_status: OutcomeStatus
    changes: tuple[Change, ...] = ()
    moved: frozenset[tuple[str, str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines of one function that differ between the trees; either side may have none of them."""

    old: Site | None
    new: Site | None


@dataclass(frozen=True, slots=True)
class Counterpart:
    """What became of a site in the other tree: the rule there that decides the same.

    `added` and `removed` are conditions that the other one has more and less.
    """

    site: Site
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """Changes with the same pair of lines: `examples` holds one change per distinct pair of values.

    `launches` are names, in the order of the review. `edits` are the changed lines that it is
    attributed to, the likeliest first. `old_now` is what became of the old site in the new tree,
    `new_before` the reverse.
    """

    change: Change
    launches: tuple[str, ...]
    examples: tuple[tuple[Change, int], ...] = ()
    edits: tuple[Edit, ...] = ()
    old_now: Counterpart | None = None
    new_before: Counterpart | None = None


@dataclass(frozen=True, slots=True)
class FlagChange:
    """One difference between what the parsers accept: `name` is the flag, `detail` the choice,
    the new spelling or the successor."""

    category: Category
    name: str
    detail: str = ""
    old: Site | None = None
    new: Site | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """The whole comparison. `moved` counts equal answers whose line differs."""

    old: TreeInfo
    new: TreeInfo
    launches: tuple[Compared, ...]
    entries: tuple[Entry, ...]
    flags: tuple[FlagChange, ...] = ()
    moved: int = 0
    notes: tuple[str, ...] = ()
    names: tuple[str, str] = ("", "")

    def of(self, category: Category) -> list[Entry]:
        """The entries of a category."""
        return [entry for entry in self.entries if entry.change.category == category]


def field_name(change: Change) -> str:
    """The field behind a change, whose subject may be a backend."""
    for answer in (change.new, change.old):
        if isinstance(answer, FieldAnswer):
            return answer.name
    return change.subject
