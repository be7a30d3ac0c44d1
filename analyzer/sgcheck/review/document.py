"""The JSON document `sgcheck.diff/1` (`docs/diff.md`, `diff.schema.json`)."""

from __future__ import annotations

from sgcheck.report.document import (
    Document,
    dump_pretty,
    model_document,
    target_document,
    tree_document,
)
from sgcheck.resolve.resolution import FieldAnswer, LaunchError, TreeInfo
from sgcheck.review.model import (
    CATEGORIES,
    Change,
    Compared,
    Counterpart,
    Edit,
    Entry,
    FlagChange,
    Review,
    Site,
)

SCHEMA = "sgcheck.diff/1"


def review_document(review: Review) -> Document:
    """The whole review."""
    shown: dict[str, list[int]] = {}
    for number, entry in enumerate(review.entries):
        for name in entry.launches:
            shown.setdefault(name, []).append(number)
    return {
        "schema": SCHEMA,
        "old": _tree(review.old, review.names[0]),
        "new": _tree(review.new, review.names[1]),
        "summary": summary(review),
        "launches": [_launch(each, shown.get(each.launch.name, [])) for each in review.launches],
        "entries": [entry_document(entry) for entry in review.entries],
        "flags": [_flag(flag) for flag in review.flags],
        "moved": review.moved,
        "notes": list(review.notes),
    }


def summary(review: Review) -> Document:
    """How many launches each category touches (flags: how many), and how many none does."""
    counts: Document = {"launches": len(review.launches)}
    touched: set[str] = set()
    for category in CATEGORIES:
        names = {name for entry in review.of(category) for name in entry.launches}
        touched |= names
        flags = sum(flag.category == category for flag in review.flags)
        counts[category] = len(names) + flags
    counts["same"] = len(review.launches) - len(touched)
    return counts


def _tree(info: TreeInfo, name: str) -> Document:
    return {"name": name, **tree_document(info)}


def _launch(each: Compared, entries: list[int]) -> Document:
    launch = each.launch.launch
    return {
        "name": each.launch.name,
        "argv": list(launch.argv),
        "env": dict(sorted(launch.env.items())),
        "target": target_document(launch.target.to_target()),
        "model": model_document(launch.model.info()),
        "old": {"status": each.old_status},
        "new": {"status": each.new_status},
        "entries": list(entries),
    }


def entry_document(entry: Entry) -> Document:
    """One entry."""
    change = entry.change
    return {
        "category": change.category,
        "subject": change.subject,
        "roles": list(change.roles),
        "note": change.note,
        "count": len(entry.launches),
        "launches": list(entry.launches),
        **_values(change),
        "examples": [{**_values(each), "count": count} for each, count in entry.examples],
        "old_lines": [site_document(site) for site in change.old_sites],
        "new_lines": [site_document(site) for site in change.new_sites],
        "edits": [_edit(edit) for edit in entry.edits],
        "old_now": _counterpart(entry.old_now),
        "new_before": _counterpart(entry.new_before),
    }


def _values(change: Change) -> Document:
    return {"old": _side(change.old), "new": _side(change.new)}


def _side(side: FieldAnswer | LaunchError | str | None) -> Document | None:
    if side is None:
        return None
    if isinstance(side, str):
        return {"text": side}
    if isinstance(side, LaunchError):
        return {"error": {"type": side.type, "message": side.message}}
    document: Document = {"status": side.status}
    if side.status == "decided":
        document["value"] = side.value
    elif side.status == "conditional":
        document["cases"] = [{"condition": c.condition, "value": c.value} for c in side.cases]
    else:
        document["reason"] = side.reason.code if side.reason is not None else "unexplained"
    return document


def site_document(site: Site) -> Document:
    """A place in a tree."""
    return {
        "kind": site.kind,
        "file": site.file,
        "line": site.line,
        "function": site.function,
        "text": site.text,
        "conditions": list(site.conditions),
        "url": site.url,
    }


def _optional(site: Site | None) -> Document | None:
    return site_document(site) if site is not None else None


def _edit(edit: Edit) -> Document:
    return {"old": _optional(edit.old), "new": _optional(edit.new)}


def _counterpart(found: Counterpart | None) -> Document | None:
    if found is None:
        return None
    return {
        **site_document(found.site),
        "added": list(found.added),
        "removed": list(found.removed),
    }


def _flag(flag: FlagChange) -> Document:
    return {
        "category": flag.category,
        "name": flag.name,
        "detail": flag.detail,
        "old": _optional(flag.old),
        "new": _optional(flag.new),
    }


def render(review: Review) -> str:
    """Indented JSON in ASCII."""
    return dump_pretty(review_document(review))
