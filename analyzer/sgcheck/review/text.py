"""The review as text for a terminal of 80 columns."""

from __future__ import annotations

from sgcheck.report.layout import Page, Span, Styles
from sgcheck.report.terminal import Terminal
from sgcheck.report.wording import count
from sgcheck.review import words
from sgcheck.review.model import CATEGORIES, TITLES, Category, Edit, Entry, Review, Site

MAX_ENTRIES = 15
MAX_FLAGS = 12

_STYLES: dict[Category, Styles] = {"breaks": ("red",), "starts": ("green",)}
_DIM: Styles = ("dim",)


def render(review: Review, terminal: Terminal, verbose: bool = False) -> str:
    """The report; without `verbose` long categories are cut, which they say."""
    page = Page(terminal)
    page.paragraph(words.heading(review), ("bold",), hanging=2)
    found = words.verdicts(review)
    page.paragraph(" · ".join(found) if found else "no difference", indent=2)
    if text := words.rest(review):
        page.paragraph(text, _DIM, indent=2)
    for note in review.notes:
        page.paragraph(note, _DIM, indent=2)
    for category in CATEGORIES:
        _category(page, review, category, verbose)
    return page.text()


def _category(page: Page, review: Review, category: Category, verbose: bool) -> None:
    entries = review.of(category)
    flags = [flag for flag in review.flags if flag.category == category]
    if not entries and not flags:
        return
    page.heading(TITLES[category])
    shown = entries if verbose else entries[:MAX_ENTRIES]
    for entry in shown:
        write_entry(page, entry, verbose)
    if len(entries) > len(shown):
        _more(page, len(entries) - len(shown), "difference")
    for flag in flags if verbose else flags[:MAX_FLAGS]:
        page.paragraph(words.flag_text(flag), indent=2, hanging=2)
    if not verbose and len(flags) > MAX_FLAGS:
        _more(page, len(flags) - MAX_FLAGS, "flag")


def _more(page: Page, number: int, noun: str) -> None:
    page.line(Span(f"… {count(number, 'more ' + noun)} (--verbose shows all)", _DIM), indent=2)


def write_entry(page: Page, entry: Entry, verbose: bool) -> None:
    """One entry: what changed, for which launches, by which lines."""
    change = entry.change
    style = _STYLES.get(change.category, ())
    page.paragraph(words.title(change), ("bold", *style), indent=2, hanging=2)
    number = count(len(entry.launches), "launch", "launches")
    page.paragraph(f"{number}: {words.launches_text(entry.launches)}", _DIM, indent=4, hanging=2)
    others = len(entry.examples) - 1
    if others > 0:
        more = "; ".join(words.values_text(each) for each, _ in entry.examples[1:3])
        page.paragraph(f"also {more}" + (" …" if others > 2 else ""), _DIM, indent=4, hanging=2)
    if change.note and change.subject != "log":
        page.paragraph(change.note, indent=4, hanging=2)
    places = set()
    for sign, sites in (("-", change.old_sites), ("+", change.new_sites)):
        for site in sites if verbose else sites[-1:]:
            places.add(site.place)
            _site(page, sign, site)
    for side in (0, 1):
        if text := words.counterpart_text(entry, side):
            page.paragraph(text, indent=4, hanging=2)
    for edit in entry.edits if verbose else entry.edits[:1]:
        _edit(page, edit, places)


def _site(page: Page, sign: str, site: Site) -> None:
    if site.file is None:
        page.line(Span(f"{sign} {words.place_text(site)}", _DIM), indent=4)
        return
    page.place(words.place_text(site), 4, site.url, lead=f"{sign} ")
    if text := words.source_text(site):
        page.paragraph(text, indent=6, hanging=2)
    if site.conditions:
        page.paragraph(f"because {words.conditions_text(site)}", _DIM, indent=6, hanging=2)


def _edit(page: Page, edit: Edit, shown: set[tuple[str | None, int | None]]) -> None:
    """The changed lines that are not told already."""
    sides = [("-", edit.old), ("+", edit.new)]
    if all(site is None or site.place in shown for _, site in sides):
        return
    page.line(Span("changed:", _DIM), indent=4)
    for sign, site in sides:
        if site is not None:
            page.place(words.place_text(site), 6, site.url, lead=f"{sign} ")
            if text := words.source_text(site):
                page.paragraph(text, indent=8, hanging=2)
