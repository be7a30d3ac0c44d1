"""The rules of two trees against each other, as text."""

from __future__ import annotations

from sgcheck.report.layout import Page, Span
from sgcheck.report.terminal import Terminal
from sgcheck.report.wording import clean, count
from sgcheck.review import words
from sgcheck.review.rules_diff import HOWS, How, RuleChange, RulesDiff

MAX_CHANGES = 40
TITLES: dict[How, str] = {
    "removed": "rules that the new tree does not have",
    "added": "rules that the old tree does not have",
    "value": "rules with another value",
    "guard": "rules under other conditions",
    "order": "rules that come in another order",
}


def render(found: RulesDiff, terminal: Terminal, names: tuple[str, str], verbose: bool) -> str:
    """The report; without `verbose` long sections are cut, which they say."""
    page = Page(terminal)
    page.paragraph(f"Rules of SGLang {names[0]} → {names[1]}", ("bold",), hanging=2)
    page.paragraph(
        f"{count(found.old_rules, 'rule')} → {count(found.new_rules, 'rule')}, "
        f"{found.matched} matched",
        indent=2,
    )
    for how in HOWS:
        changes = found.of(how)
        if not changes:
            continue
        page.heading(f"{TITLES[how]} ({len(changes)})")
        for change in changes if verbose else changes[:MAX_CHANGES]:
            _change(page, change)
        if not verbose and len(changes) > MAX_CHANGES:
            text = f"… {len(changes) - MAX_CHANGES} more (--verbose shows all)"
            page.line(Span(text, ("dim",)), indent=2)
    if not found.changes:
        page.heading("no difference")
    return page.text()


def _change(page: Page, change: RuleChange) -> None:
    page.line(Span(clean(change.subject), ("bold",)), indent=2)
    for sign, row in (("-", change.old), ("+", change.new)):
        if row is None:
            continue
        page.place(words.place_text(row.site), 4, row.site.url, lead=f"{sign} ")
        if change.how not in ("guard", "order"):
            page.paragraph(words.source_text(row.site), indent=6, hanging=2)
        if (change.old is None or change.new is None) and row.site.conditions:
            text = f"because {words.conditions_text(row.site)}"
            page.paragraph(text, ("dim",), indent=6, hanging=2)
    for verb, conditions in (("now only if", change.added), ("no longer asks", change.removed)):
        if conditions:
            shown = " and ".join(clean(each)[:120] for each in conditions[:3])
            more = f" (+{len(conditions) - 3} more)" if len(conditions) > 3 else ""
            page.paragraph(f"{verb} {shown}{more}", indent=6, hanging=2)
