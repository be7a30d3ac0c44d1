"""How the parts of a review read, the same in every format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sgcheck.report.wording import clean, condition_text, count, value_text
from sgcheck.resolve.resolution import FieldAnswer, JsonValue, LaunchError
from sgcheck.review.document import summary
from sgcheck.review.model import TITLES, Category, Change, Entry, FlagChange, Review, Site

SHOWN_LAUNCHES = 3
SHOWN_CONDITIONS = 2
_MESSAGE = 300
_TEXT = 160

_COUNTED: tuple[tuple[Category, str, str], ...] = (
    ("breaks", "launch no longer starts", "launches no longer start"),
    ("starts", "would start now", "would start now"),
    ("fails-differently", "fails in another way", "fail in another way"),
    ("backend", "gets another backend", "get another backend"),
    ("value", "gets another value", "get other values"),
    ("runs", "runs something else", "run something else"),
    ("undecided", "could not be compared", "could not be compared"),
)

_ONE: dict[Category, str] = {
    "flag-gone": "flag gone",
    "flag-renamed": "flag renamed",
    "flag-new": "flag new",
    "choice-new": "choice new",
    "choice-gone": "choice gone",
    "deprecated": "deprecated",
}


def tree_name(review: Review, side: int) -> str:
    """A tree as the user named it, with its version where that is not the name."""
    info, name = (review.old, review.new)[side], clean(review.names[side])
    version = clean(info.version)
    return version if name in ("", version) else f"{name} ({version})"


def heading(review: Review) -> str:
    """The first line of a report."""
    number = count(len(review.launches), "launch", "launches")
    return f"SGLang {tree_name(review, 0)} → {tree_name(review, 1)}: {number}"


def verdicts(review: Review) -> list[str]:
    """What happens to the launches, in words; empty where nothing does."""
    counts = summary(review)
    out = []
    for category, one, many in _COUNTED:
        number = counts[category]
        if isinstance(number, int) and number:
            out.append(f"{number} {one if number == 1 else many}")
    return out


def rest(review: Review) -> str:
    """What else there is to say in a line."""
    same = summary(review)["same"]
    parts = [f"{count(same, 'launch', 'launches')} without a difference"] if same else []  # type: ignore[arg-type]
    if review.moved:
        parts.append(f"{count(review.moved, 'answer')} only from another line")
    return "; ".join(parts)


def flags_line(review: Review) -> str:
    """How many flags changed."""
    names: dict[Category, int] = {}
    for flag in review.flags:
        names[flag.category] = names.get(flag.category, 0) + 1
    return ", ".join(
        f"{number} {_ONE[category] if number == 1 else TITLES[category]}"
        for category, number in names.items()
    )


def subject(change: Change) -> str:
    """What changed: the backends that a field is, or the field."""
    if change.subject in ("start", "log"):
        return ""
    if change.roles == (change.subject,):
        return clean(change.subject)
    if change.roles:
        return f"{', '.join(change.roles)} ({clean(change.subject)})"
    return clean(change.subject)


def side_text(side: FieldAnswer | LaunchError | str | None) -> str:
    """One side of a change, in one line."""
    if side is None:
        return "nothing"
    if isinstance(side, str):
        return _cut(side, _MESSAGE)
    if isinstance(side, LaunchError):
        return _cut(f"{side.type}: {side.message}", _MESSAGE)
    if side.status == "decided":
        return value_text(side.value)
    if side.status == "unknown":
        return f"unknown ({clean(side.reason.code) if side.reason else 'unexplained'})"
    return " or ".join(dict.fromkeys(value_text(case.value) for case in side.cases))


def values_text(change: Change) -> str:
    """`old → new`; of long lists and objects only what differs."""
    short = _parts(change.old, change.new)
    if short is not None:
        return short
    return f"{side_text(change.old)} → {side_text(change.new)}"


def _parts(old: object, new: object) -> str | None:
    """The items of two lists, or the keys of two objects, that are not in both."""
    if not isinstance(old, FieldAnswer) or not isinstance(new, FieldAnswer):
        return None
    if old.status != "decided" or new.status != "decided":
        return None
    before, after = old.value, new.value
    if isinstance(before, dict) and isinstance(after, dict):
        changed = [k for k in sorted({*before, *after}) if before.get(k) != after.get(k)]
        shown = (f"{clean(key)}: {_of(before, key)} → {_of(after, key)}" for key in changed[:4])
        return ", ".join(shown) + (", …" if len(changed) > 4 else "")
    if isinstance(before, list) and isinstance(after, list) and len(repr(before)) > 40:
        gone = [v for v in before if v not in after]
        come = [v for v in after if v not in before]
        if not gone and not come:
            return None
        texts = [f"without {value_text(list(gone))}"] if gone else []
        return "list " + " and ".join(
            [*texts, *([f"with {value_text(list(come))}"] if come else [])]
        )
    return None


def _of(mapping: dict[str, JsonValue], key: str) -> str:
    return value_text(mapping[key]) if key in mapping else "nothing"


def title(change: Change) -> str:
    """What an entry says in its first line."""
    if change.subject == "start":
        error = change.new if change.new is not None else change.old
        if change.category == "fails-differently" and change.old is not None:
            return values_text(change)
        return side_text(error) if error is not None else clean(change.note)
    if change.subject == "log":
        verb = "appears" if change.old is None else "vanishes"
        return f"{verb}: {side_text(change.new if change.old is None else change.old)}"
    return f"{subject(change)}: {values_text(change)}"


def conditions_text(site: Site) -> str:
    """The innermost conditions of a site, and how many more there are."""
    shown = site.conditions[-SHOWN_CONDITIONS:]
    text = " and ".join(_cut(condition_text(each), _TEXT) for each in shown)
    hidden = len(site.conditions) - len(shown)
    return text + (f" (+{hidden} outer)" if hidden else "")


def place_text(site: Site) -> str:
    """`file:line`, or what stands for it."""
    if site.file is None:
        return {"parser": "SGLang's argument parser", "flag": "the flag"}.get(site.kind, site.kind)
    return clean(site.file) if site.line is None else f"{clean(site.file)}:{site.line}"


def source_text(site: Site) -> str:
    """The statement, cut; of a field's declaration its name and its default."""
    text = site.text or ""
    if site.kind in ("default", "flag") and len(text) > _TEXT and ": " in text:
        name, _, value = text.partition(":")[0], *text.rpartition(" = ")[1:]
        text = f"{name}: … = {value}"
    return _cut(text, _TEXT)


def launches_text(names: Sequence[str]) -> str:
    """The first names, and how many more."""
    shown = ", ".join(clean(name) for name in names[:SHOWN_LAUNCHES])
    hidden = len(names) - SHOWN_LAUNCHES
    return shown + (f" and {hidden} more" if hidden > 0 else "")


def counterpart_text(entry: Entry, side: int) -> str:
    """What became of a line in the other tree; empty where there is nothing to say.

    Only told where the rule itself is still there, under other conditions.
    """
    found = (entry.old_now, entry.new_before)[side]
    if found is None or not (found.added or found.removed):
        return ""
    where = "the new tree" if side == 0 else "the old tree"
    texts = []
    if found.added:
        texts.append("only if " + _joined(found.added))
    if found.removed:
        texts.append("no longer asks " + _joined(found.removed))
    verb = "still there in" if side == 0 else "already there in"
    return f"{verb} {where} at {place_text(found.site)}, {'; '.join(texts)}"


def _joined(conditions: Iterable[str]) -> str:
    texts = [_cut(condition_text(each), 90) for each in conditions]
    hidden = len(texts) - SHOWN_CONDITIONS
    return " and ".join(texts[:SHOWN_CONDITIONS]) + (f" (+{hidden} more)" if hidden > 0 else "")


def flag_text(flag: FlagChange) -> str:
    """One flag in a line."""
    name, detail = clean(flag.name), clean(flag.detail)
    match flag.category:
        case "flag-renamed":
            return f"{name} → {detail}"
        case "choice-new" | "choice-gone":
            return f"{name} {detail}"
        case "deprecated":
            if flag.detail == "no longer":
                return f"{name} is no longer deprecated"
            return f"{name}: use {detail}" if detail else name
        case _:
            return name


def _cut(text: str, limit: int) -> str:
    text = clean(text).replace("\n", " ")
    return text if len(text) <= limit else text[: limit - 1] + "…"
