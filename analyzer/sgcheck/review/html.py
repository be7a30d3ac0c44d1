"""The review as one HTML page with filters; it asks nothing of the network."""

from __future__ import annotations

from typing import Any

from sgcheck import __version__
from sgcheck.report.html.graph import resource, template
from sgcheck.report.wording import argv_text, clean
from sgcheck.review import words
from sgcheck.review.model import CATEGORIES, TITLES, Counterpart, Edit, Entry, Review, Site


def render(review: Review) -> str:
    """The whole page."""
    used = {entry.change.category for entry in review.entries}
    used |= {flag.category for flag in review.flags}
    page: str = template("review.html.j2").render(
        title=words.heading(review),
        verdict=" · ".join(words.verdicts(review)) or "no difference",
        notes=[text for text in (words.rest(review), *review.notes) if text],
        categories=[
            {
                "id": category,
                "title": TITLES[category],
                "count": len(review.of(category))
                + sum(flag.category == category for flag in review.flags),
            }
            for category in CATEGORIES
            if category in used
        ],
        archs=sorted({each.launch.launch.target.arch for each in review.launches}),
        entries=[_entry(review, entry) for entry in review.entries],
        flags=[
            {"category": flag.category, "text": words.flag_text(flag), "sites": _sides(flag)}
            for flag in review.flags
        ],
        launches=[
            {
                "name": clean(each.launch.name),
                "argv": argv_text(each.launch.launch.argv).replace("\u00a0", " "),
                "old": each.old_status,
                "new": each.new_status,
                "count": len(each.changes),
            }
            for each in review.launches
        ],
        css=resource("page.css") + resource("review.css"),
        script=resource("review.js"),
        tool=__version__,
    )
    return page


def _entry(review: Review, entry: Entry) -> dict[str, Any]:
    change = entry.change
    by_name = {each.launch.name: each.launch.launch.target.arch for each in review.launches}
    return {
        "category": change.category,
        "label": TITLES[change.category],
        "title": words.title(change),
        "note": change.note if change.subject != "log" else "",
        "launches": [clean(name) for name in entry.launches],
        "archs": " ".join(sorted({by_name[name] for name in entry.launches})),
        "examples": [
            {"text": words.values_text(each), "count": count} for each, count in entry.examples
        ],
        "old": [_site(site) for site in change.old_sites],
        "new": [_site(site) for site in change.new_sites],
        "edits": [_edit(edit) for edit in entry.edits],
        "counterparts": [
            {"text": text, "site": _site(found.site)}
            for side in (0, 1)
            if (text := words.counterpart_text(entry, side))
            and (found := _found(entry, side)) is not None
        ],
    }


def _found(entry: Entry, side: int) -> Counterpart | None:
    return (entry.old_now, entry.new_before)[side]


def _sides(flag: Any) -> list[dict[str, Any]]:
    return [_site(site) for site in (flag.old, flag.new) if site is not None]


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "old": _site(edit.old) if edit.old is not None else None,
        "new": _site(edit.new) if edit.new is not None else None,
    }


def _site(site: Site) -> dict[str, Any]:
    url = site.url if site.url is not None and site.url.startswith("https://") else None
    return {
        "place": words.place_text(site),
        "url": url,
        "text": words.source_text(site),
        "conditions": [clean(text) for text in site.conditions],
    }
