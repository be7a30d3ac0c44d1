"""Which edited lines made a difference: the nearest changed lines in the slice of what differs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sgcheck.resolve.resolution import LaunchError
from sgcheck.review.model import Change, Edit, Entry, ReviewLaunch, Site, field_name
from sgcheck.review.pairing import Hunk, LineId, Outlines, executed, hunks, same_bytes
from sgcheck.review.relevance import Slicer
from sgcheck.review.sides import Elsewhere, Side
from sgcheck.review.watch import Run

SHOWN_EDITS = 3
_FLAG = re.compile(r"--[a-z0-9][\w-]*")


@dataclass(slots=True)
class Traced:
    """One launch watched on both sides, with the lines that differ and ran."""

    runs: tuple[Run, Run]
    outlines: tuple[Outlines, Outlines]
    hunks: list[Hunk]
    order: tuple[dict[LineId, int], dict[LineId, int]]
    _slicers: tuple[Slicer, Slicer] | None = None

    @property
    def slicers(self) -> tuple[Slicer, Slicer]:
        """What finds the lines near a value, on either side."""
        if self._slicers is None:
            first, second = zip(self.outlines, self.runs, strict=True)
            self._slicers = (Slicer(*first), Slicer(*second))
        return self._slicers


@dataclass(slots=True)
class Causes:
    """Finds causes for the launches of a review; outlines are kept between launches."""

    old: Side
    new: Side
    elsewhere: Elsewhere | None = None
    outlines: tuple[Outlines, Outlines] = field(init=False)
    _same: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.outlines = (Outlines(self.old.tree), Outlines(self.new.tree))

    def trace(self, launch: ReviewLaunch) -> Traced | None:
        """Watch a launch on both trees; None where its model is not known."""
        there = self.elsewhere.watch(launch) if self.elsewhere is not None else None
        second = self.new.watch(launch)
        if there is not None:
            first = there.result()
        else:
            first = self.old.watch(launch) if second is not None else None
        if first is None or second is None:
            return None
        runs = (first, second)
        files = {file for run in runs for file, _ in run.lines if not self._is_same(file)}
        order = (
            executed(self.outlines[0], first, files),
            executed(self.outlines[1], second, files),
        )
        found = hunks(*self.outlines, (set(order[0]), set(order[1])))
        return Traced(runs, self.outlines, found, order)

    def _is_same(self, file: str) -> bool:
        if file not in self._same:
            self._same[file] = same_bytes(self.old.tree, self.new.tree, file)
        return self._same[file]

    def edits(self, change: Change, traced: Traced) -> tuple[Edit, ...]:
        """The edited lines nearest to a change, at most `SHOWN_EDITS`."""
        if not traced.hunks:
            return ()
        if len(traced.hunks) == 1:
            return (self._edit(traced.hunks[0], set(), traced),)
        sides = []
        for number, slicer in enumerate(traced.slicers):
            first = self._placed(number, change)
            sides.append([first, *slicer.tiers(first | self._named(number, change, slicer))])
        for tier in range(max(map(len, sides))):
            near = [side[tier] if tier < len(side) else set() for side in sides]
            hit = [
                hunk
                for hunk in traced.hunks
                if not near[0].isdisjoint(hunk.old) or not near[1].isdisjoint(hunk.new)
            ]
            if hit:
                hit.sort(key=lambda hunk: -self._when(hunk, traced))
                lines = near[0] | near[1]
                found = (self._edit(hunk, lines, traced) for hunk in hit)
                return tuple(dict.fromkeys(found))[:SHOWN_EDITS]
        return ()

    def _placed(self, side: int, change: Change) -> set[LineId]:
        """The lines that gave the value, refused the launch or logged the message."""
        found: set[LineId] = set()
        for site in (change.old_sites, change.new_sites)[side]:
            if site.file is not None and site.line is not None:
                key = self.outlines[side].find(site.file, site.line)
                found |= {key} if key is not None else set()
        return found

    def _named(self, side: int, change: Change, slicer: Slicer) -> set[LineId]:
        """Lines that name what changed, where no line of its own gave it."""
        names: set[str] = set()
        if change.subject.startswith("env "):
            names.add(change.subject.removeprefix("env "))
        for error in (change.old, change.new):
            if isinstance(error, LaunchError) and error.file is None:
                for flag in _FLAG.findall(error.message):
                    names |= {flag, flag[2:].replace("-", "_")}
        sites = (change.old_sites, change.new_sites)[side]
        given = all(site.kind in ("default", "flag") for site in sites)
        if given and change.subject not in ("start", "log"):
            name = field_name(change)
            names |= {name, "--" + name.replace("_", "-")}
        return slicer.lines_with(names.__contains__) if names else set()

    def _when(self, hunk: Hunk, traced: Traced) -> int:
        return max(
            [traced.order[0].get(key, -1) for key in hunk.old]
            + [traced.order[1].get(key, -1) for key in hunk.new],
            default=-1,
        )

    def _edit(self, hunk: Hunk, near: set[LineId], traced: Traced) -> Edit:
        old, new = (
            self._chosen(keys, near, order)
            for keys, order in zip((hunk.old, hunk.new), traced.order, strict=True)
        )
        if old is not None and new is not None and len(hunk.old) == len(hunk.new):
            # Lines that stand for each other are shown beside each other.
            new = hunk.new[hunk.old.index(old)] if old in near or new not in near else new
            old = hunk.old[hunk.new.index(new)]
        elif old in near and self._is_head(1, new):
            new = None  # a class whose lines are all gone is no counterpart of one of them
        elif new in near and self._is_head(0, old):
            old = None
        first, second = self.site(0, old), self.site(1, new)
        if first is not None and second is not None and old is not None and new is not None:
            first, second = self._refined(first, second, old, new)
        return Edit(first, second)

    def _is_head(self, side: int, key: LineId | None) -> bool:
        return key is not None and key[2] == 0 and key[1] != ""

    def _chosen(
        self, keys: tuple[LineId, ...], near: set[LineId], order: dict[LineId, int]
    ) -> LineId | None:
        for wanted in (near, set(order)):
            for key in keys:
                if key in wanted:
                    return key
        return keys[0] if keys else None

    def site(self, side: int, key: LineId | None) -> Site | None:
        """A logical line as a site."""
        if key is None:
            return None
        function = self.outlines[side].function(key)
        line = function.lines[key[2]]
        guards = tuple(function.lines[i].text for i in line.guards)
        return self.at(side, Site("code", key[0], line.start, function.name, guards))

    def at(self, side: int, site: Site) -> Site:
        """A site with its text and its permalink."""
        if site.file is None or site.line is None:
            return site
        tree = (self.old, self.new)[side].tree
        text = self.outlines[side].of(site.file).text(site.line)
        url = site.url or tree.permalink(site.file, site.line)
        return replace(site, text=text, url=url)

    def _refined(self, first: Site, second: Site, old: LineId, new: LineId) -> tuple[Site, Site]:
        """In a statement over several lines: the first of them that differs."""
        texts = []
        for side, key in enumerate((old, new)):
            line = self.outlines[side].function(key).lines[key[2]]
            source = self.outlines[side].of(key[0]).source
            texts.append([text.strip() for text in source[line.start - 1 : line.end]])
        for offset, (left, right) in enumerate(zip(*texts, strict=False)):
            if left != right:
                return (
                    self._moved(0, first, offset),
                    self._moved(1, second, offset),
                )
        return first, second

    def _moved(self, side: int, site: Site, offset: int) -> Site:
        if site.line is None or site.file is None or not offset:
            return site
        tree = (self.old, self.new)[side].tree
        url = tree.permalink(site.file, site.line + offset)
        return replace(site, line=site.line + offset, url=url)


def attribute(
    entries: Iterable[Entry], causes: Causes, launches: dict[str, ReviewLaunch], limit: int
) -> list[Entry]:
    """The entries with the edits that they are attributed to; at most `limit` launches are watched.

    A launch that shows many entries is watched for all of them.
    """
    todo = list(entries)
    done: dict[int, tuple[Edit, ...]] = {}
    watched = 0
    while watched < limit:
        left = [i for i, entry in enumerate(todo) if i not in done]
        votes: dict[str, int] = {}
        for index in left:
            for name in todo[index].launches:
                votes[name] = votes.get(name, 0) + 1
        if not votes:
            break
        best = max(votes, key=lambda name: (votes[name], -list(launches).index(name)))
        traced = causes.trace(launches[best])
        watched += 1
        for index in left:
            if best in todo[index].launches:
                change = todo[index].change
                done[index] = causes.edits(change, traced) if traced is not None else ()
    return [replace(entry, edits=done.get(i, ())) for i, entry in enumerate(todo)]
