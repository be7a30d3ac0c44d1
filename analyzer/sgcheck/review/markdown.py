"""The review as Markdown for the comment on a pull request: short first, details folded.

The same review gives the same bytes. Texts of a tree are shown as code or escaped: none of them
becomes markup, a link or a mention.
"""

from __future__ import annotations

import re

from sgcheck.report.wording import clean
from sgcheck.review import words
from sgcheck.review.model import CATEGORIES, TITLES, Category, Edit, Entry, Review, Site

MAX_ENTRIES = 25
MAX_FLAGS = 100
MAX_CHARACTERS = 60_000
"""A comment on GitHub takes 65,536 characters."""

_OPEN: frozenset[Category] = frozenset({"breaks", "starts"})
_SIGNS: dict[Category, str] = {"breaks": "🔴", "starts": "🟢", "backend": "🟡", "value": "🔵"}
_MARKUP = re.compile(r"([\\`*_\[\]<>|#~!])")


def render(review: Review) -> str:
    """The comment. What does not fit is left out, and the comment says so."""
    lines = ["### " + escaped(words.heading(review)), ""]
    found = words.verdicts(review)
    lines += ["**" + escaped(" · ".join(found) if found else "no difference") + "**", ""]
    about = [text for text in (words.rest(review), words.flags_line(review)) if text]
    for text in (*about, *review.notes):
        lines += [escaped(text), ""]
    text = "".join(line + "\n" for line in lines)
    left: list[str] = []
    for category in CATEGORIES:
        section = "".join(line + "\n" for line in _category(review, category))
        if len(text) + len(section) > MAX_CHARACTERS:
            left.append(TITLES[category])
        else:
            text += section
    if left:
        text += f"Left out, being too long for a comment: {', '.join(left)}.\n"
    return text


def _category(review: Review, category: Category) -> list[str]:
    entries = review.of(category)
    flags = [flag for flag in review.flags if flag.category == category]
    if not entries and not flags:
        return []
    sign = _SIGNS.get(category, "⚪")
    number = len(entries) + len(flags)
    opened = " open" if category in _OPEN else ""
    head = f"<summary>{sign} {TITLES[category]} ({number})</summary>"
    lines = [f"<details{opened}>{head}", ""]
    for entry in entries[:MAX_ENTRIES]:
        lines += _entry(entry)
    if len(entries) > MAX_ENTRIES:
        lines.append(f"- … {len(entries) - MAX_ENTRIES} more")
    lines += [f"- {code(words.flag_text(flag))}" for flag in flags[:MAX_FLAGS]]
    if len(flags) > MAX_FLAGS:
        lines.append(f"- … {len(flags) - MAX_FLAGS} more")
    return [*lines, "", "</details>", ""]


def _entry(entry: Entry) -> list[str]:
    change = entry.change
    number = len(entry.launches)
    names = ", ".join(code(name) for name in entry.launches[: words.SHOWN_LAUNCHES])
    more = number - words.SHOWN_LAUNCHES
    names += f" and {more} more" if more > 0 else ""
    lines = [f"- {_title(entry)} — {number} launch{'es' if number > 1 else ''}: {names}"]
    if change.note and change.subject != "log":
        lines.append(f"  - {escaped(change.note)}")
    lines += [f"  - before: {_site(site)}" for site in change.old_sites[-1:]]
    lines += [f"  - now: {_site(site)}" for site in change.new_sites[-1:]]
    for side in (0, 1):
        text = words.counterpart_text(entry, side)
        lines += [f"  - {escaped(text)}"] if text else []
    shown = {site.place for site in (*change.old_sites, *change.new_sites)}
    for edit in entry.edits[:1]:
        lines += _edit(edit, shown)
    return lines


def _title(entry: Entry) -> str:
    change = entry.change
    if change.subject in ("start", "log"):
        return code(words.title(change))
    return f"{code(words.subject(change))}: {code(words.values_text(change))}"


def _site(site: Site) -> str:
    place = words.place_text(site)
    where = f"[{escaped(place)}]({site.url})" if _safe(site.url) else code(place)
    text = words.source_text(site)
    because = f" because {code(words.conditions_text(site))}" if site.conditions else ""
    return where + (f" {code(text)}" if text else "") + because


def _safe(url: str | None) -> bool:
    return url is not None and bool(re.fullmatch(r"https://github\.com/[\w./%#@+-]+", url))


def _edit(edit: Edit, shown: set[tuple[str | None, int | None]]) -> list[str]:
    sides = [("changed, was", edit.old), ("changed, is", edit.new)]
    if all(site is None or site.place in shown for _, site in sides):
        return []
    return [f"  - {word}: {_site(site)}" for word, site in sides if site is not None]


def code(text: str) -> str:
    """Text as code, whatever backticks it has."""
    flat = " ".join(clean(text).split()) or " "
    longest = max((len(run) for run in re.findall("`+", flat)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def escaped(text: str) -> str:
    """Text that becomes no markup, link or mention."""
    flat = " ".join(clean(text).split())
    return _MARKUP.sub(r"\\\1", flat).replace("@", "@\u200b")
