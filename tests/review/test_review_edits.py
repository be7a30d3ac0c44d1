"""Edited copies of a small tree: each edit is seen, and attributed to the edited line."""

from __future__ import annotations

from typing import Any

import pytest
from review_trees import (
    CHOICES,
    ENTRY,
    HELPERS,
    RULES,
    TEXTS,
    edited,
    line_of,
    reviewed,
    tree,
)

from sgcheck.review.model import Entry, Review

EDITS: dict[str, tuple[str, str, str, str, set[str]]] = {
    # name: (file, old, new, category, subjects)
    "a condition": (
        ENTRY,
        'self.runner == "auto" and is_blackwell()',
        "is_blackwell()",
        "value",
        {"runner"},
    ),
    "a written value": (
        ENTRY,
        'self.runner = "cutlass"',
        'self.runner = "triton"',
        "value",
        {"runner"},
    ),
    "a default": (ENTRY, "interval: int = 1", "interval: int = 5", "value", {"interval"}),
    "a spelling": (ENTRY, 'self.spec == "NEXTN"', 'self.spec == "NEXT"', "value", {"spec"}),
    "a guard around a field": (
        ENTRY,
        "if self.spec is not None:\n            self.overlap",
        "if self.spec is None:\n            self.overlap",
        "value",
        {"overlap"},
    ),
    "a threshold of an error": (ENTRY, "self.tp > 8", "self.tp > 4", "breaks", {"start"}),
    "an error gone": (ENTRY, "self.tp > 8", "self.tp > 80", "starts", {"start"}),
    "an error's words": (
        ENTRY,
        "too many for a draft",
        "a draft takes eight",
        "fails-differently",
        {"start"},
    ),
    "a helper": (HELPERS, "major in (10, 12)", "major in (10,)", "value", {"runner"}),
    "a helper's value": (HELPERS, "return 64 if", "return 32 if", "value", {"page_size"}),
    "a declared value": (
        RULES,
        '{"draft_runner": "triton"}',
        '{"draft_runner": "auto"}',
        "value",
        {"draft_runner"},
    ),
    "a declared condition": (RULES, "view.tp > 4", "view.tp > 400", "value", {"attention"}),
    "an early exit": (
        RULES,
        "if view.spec is None:",
        "if view.spec is not None:",
        "value",
        {"draft_runner"},
    ),
    "a parser's choices": (CHOICES, '"cutlass"]', '"cutlass", "marlin"]', "starts", {"start"}),
    "a parser's own choices": (
        ENTRY,
        'choices=["NEXTN", "EAGLE"]',
        'choices=["EAGLE"]',
        "breaks",
        {"start"},
    ),
    "a log line": (ENTRY, '"cutlass is used"', '"cutlass it is"', "log", {"log"}),
}


def places(entry: Entry) -> set[tuple[str | None, int | None]]:
    return {site.place for edit in entry.edits for site in (edit.old, edit.new) if site is not None}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_seen_and_attributed(name: str) -> None:
    path, old, new, category, subjects = EDITS[name]
    found = reviewed(tree(), edited(path, old, new))
    hits = [
        e for e in found.entries if e.change.category == category and e.change.subject in subjects
    ]
    assert {entry.change.subject for entry in hits} == subjects
    line = line_of(path, old)
    for entry in hits:
        assert (path, line) in places(entry)


def test_an_order() -> None:
    text = TEXTS[ENTRY]
    changed = text.replace(
        "self._runner()\n        self._spec()\n", "self._spec()\n        self._runner()\n"
    )
    assert changed != text
    found = reviewed(tree(), tree({ENTRY: changed}))
    subjects = {e.change.subject for e in found.entries if e.change.category == "value"}
    assert subjects == {"draft_runner"}
    moved = {line_of(ENTRY, "self._runner()"), line_of(ENTRY, "self._spec()")}
    for entry in found.of("value"):
        assert {line for _, line in places(entry)} & moved


def test_identical_trees() -> None:
    found = reviewed(tree(), tree())
    assert (found.entries, found.flags, found.moved) == ((), (), 0)


SAME: dict[str, dict[str, str]] = {
    "comments": {
        p: "# a comment\n" + t.replace("\n\n\n", "\n\n\n# more\n") for p, t in TEXTS.items() if t
    },
    "formatting": {
        ENTRY: TEXTS[ENTRY]
        .replace(
            'if self.runner == "auto" and is_blackwell():',
            "if (\n            self.runner == 'auto'\n            and is_blackwell()\n        ):",
        )
        .replace("self._runner()\n", "(self._runner())\n\n")
    },
    "a function moved in its file": {
        HELPERS: "\n\n".join(reversed(TEXTS[HELPERS].split("\n\n\n"))).replace("\n\n", "\n\n\n")
    },
    "a function moved to another file": {
        HELPERS: "from sglang.srt.arg_groups.rules import page_of\n"
        + TEXTS[HELPERS].split("\n\n\ndef page_of")[0]
        + "\n",
        RULES: TEXTS[RULES] + "\n\ndef page_of" + TEXTS[HELPERS].split("def page_of")[1],
    },
}


@pytest.mark.parametrize("name", SAME)
def test_what_changes_no_value_is_no_difference(name: str) -> None:
    assert any(SAME[name][path] != TEXTS[path] for path in SAME[name])
    found = reviewed(tree(), tree(SAME[name]))
    assert (found.entries, found.flags) == ((), ())


def test_moved_lines_are_counted() -> None:
    found = reviewed(tree(), tree(SAME["comments"]))
    assert found.moved > 0
    assert found.notes == ()


MIRROR = {
    "breaks": "starts",
    "starts": "breaks",
    "choice-new": "choice-gone",
    "choice-gone": "choice-new",
    "flag-new": "flag-gone",
    "flag-gone": "flag-new",
}


def facts(found: Review, turned: bool = False) -> set[Any]:
    """What a review says, entry by entry, as if its trees were the other way round if `turned`."""
    out: set[Any] = set()
    for entry in found.entries:
        change = entry.change
        category = MIRROR.get(change.category, change.category) if turned else change.category
        sides = [
            (str(change.old), tuple(s.place for s in change.old_sites)),
            (str(change.new), tuple(s.place for s in change.new_sites)),
        ]
        edits = frozenset(
            tuple(reversed(pair)) if turned else pair
            for edit in entry.edits
            for pair in [
                (edit.old.place if edit.old else None, edit.new.place if edit.new else None)
            ]
        )
        out.add(
            (
                category,
                change.subject,
                change.roles,
                *(reversed(sides) if turned else sides),
                entry.launches,
                edits,
            )
        )
    for flag in found.flags:
        category = MIRROR.get(flag.category, flag.category) if turned else flag.category
        out.add((category, flag.name, flag.detail))
    return out


@pytest.mark.parametrize("name", EDITS)
def test_mirrored(name: str) -> None:
    path, old, new, _, _ = EDITS[name]
    other = edited(path, old, new)
    forward, backward = reviewed(tree(), other), reviewed(other, tree())
    assert facts(forward) == facts(backward, turned=True)
    assert forward.moved == backward.moved


def test_launches_with_one_cause_are_one_entry() -> None:
    path, old, new, _, _ = EDITS["a helper's value"]
    found = reviewed(tree(), edited(path, old, new))
    (entry,) = found.of("value")
    assert entry.launches == ("blackwell-draft",)
    found = reviewed(tree(), edited(HELPERS, "else 1", "else 2"))
    (entry,) = found.of("value")
    assert entry.launches == ("plain", "blackwell", "draft")


def test_a_renamed_flag_and_new_choices() -> None:
    text = TEXTS[ENTRY].replace('"--interval"', '"--stream-interval", dest="interval"')
    found = reviewed(tree(), tree({ENTRY: text, CHOICES: 'RUNNERS = ["auto", "cutlass", "new"]\n'}))
    assert [(f.category, f.name, f.detail) for f in found.flags] == [
        ("flag-renamed", "--interval", "--stream-interval"),
        ("choice-new", "--runner", "new"),
        ("choice-gone", "--runner", "triton"),
    ]
    assert found.flags[0].old is not None
    assert found.flags[0].old.line == line_of(ENTRY, '"--interval"')


def test_a_rule_that_is_narrowed_is_told_with_its_condition() -> None:
    text = TEXTS[ENTRY].replace(
        'elif self.runner == "auto":', 'elif self.runner == "auto" and self.tp > 100:'
    )
    found = reviewed(tree(), tree({ENTRY: text}))
    (entry,) = [e for e in found.of("value") if e.change.subject == "runner"]
    assert entry.old_now is not None
    assert entry.old_now.added == ("self.tp > 100",)
    assert entry.old_now.removed == ()
    assert entry.old_now.site.line == line_of(ENTRY, 'self.runner = "triton"')
