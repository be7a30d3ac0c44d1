"""The variables of a script on one path through it, and how paths are joined again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sgcheck.scan.model import Choice
from sgcheck.scan.text import Hole, Mapped, SourceFile
from sgcheck.scan.words import Field

Value: TypeAlias = "Field | tuple[Field, ...]"

MAX_PATHS = 16
MAX_PRESETS = 64
_MAX_CHOICES = 8


@dataclass(slots=True)
class State:
    """One path: values of variables, which are exported, positional arguments, what was assumed.

    `args` is None when the script's arguments are not known. `facts` remembers how undecidable
    conditions were taken, so that one path does not take the same one both ways.
    """

    values: dict[str, Value] = field(default_factory=dict)
    exported: frozenset[str] = frozenset()
    args: tuple[Field, ...] | None = None
    label: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    facts: dict[str, bool] = field(default_factory=dict)
    alive: bool = True

    def copy(self) -> State:
        """An independent copy."""
        return replace(self, values=dict(self.values), facts=dict(self.facts))

    def assuming(self, condition: str, holds: bool, label: str = "") -> State:
        """A copy on which an undecidable condition was taken one way."""
        new = self.copy()
        if condition:
            new.facts[condition] = holds
            new.assumptions = (*self.assumptions, condition if holds else f"not ({condition})")
        if label:
            new.label = (*self.label, label)
        return new

    def assign(self, name: str, value: Value) -> None:
        """Set a variable and forget what was assumed of it."""
        self.values[name] = value
        if self.facts:
            self.facts = {c: v for c, v in self.facts.items() if name not in c}


def _same(a: Value | None, b: Value | None) -> bool:
    if isinstance(a, Field) and isinstance(b, Field):
        return a.text == b.text
    if isinstance(a, tuple) and isinstance(b, tuple):
        return [f.text for f in a] == [f.text for f in b]
    return a is b


def differing(states: Sequence[State]) -> list[str]:
    """The variables that have not the same value on all paths, in order."""
    first = states[0]
    names = dict.fromkeys(n for s in states for n in s.values)
    return [
        n for n in names if any(not _same(first.values.get(n), s.values.get(n)) for s in states[1:])
    ]


def join_branches(
    file: SourceFile, before: State, condition: str, yes: list[State], no: list[State]
) -> list[State]:
    """The paths after an undecidable `if`.

    Joined without loss when both sides leave the same variables, or differ in one value only, which then
    is a word with two choices; else both go on.
    """
    yes = [s for s in yes if s.alive]
    no = [s for s in no if s.alive]
    if len(yes) != 1 or len(no) != 1:
        return [*yes, *no]
    a, b = yes[0], no[0]
    if a.args != b.args or a.exported != b.exported:
        return [a, b]
    names = differing((a, b))
    if not names:
        joined = a.copy()
        joined.assumptions, joined.label = before.assumptions, before.label
        joined.facts = {c: v for c, v in a.facts.items() if b.facts.get(c) is v}
        return [joined]
    if len(names) == 1:
        value = _choice(file, condition, a.values.get(names[0]), b.values.get(names[0]))
        if value is not None:
            joined = a.copy()
            joined.values[names[0]] = value
            joined.assumptions, joined.label = before.assumptions, before.label
            joined.facts = {c: v for c, v in a.facts.items() if b.facts.get(c) is v}
            return [joined]
    return [a, b]


def _choice(file: SourceFile, condition: str, a: Value | None, b: Value | None) -> Field | None:
    if not isinstance(a, Field) or not isinstance(b, Field):
        return None
    first = _choices_of(file, a)
    second = _choices_of(file, b)
    if not first or not second or len(first) + len(second) > _MAX_CHOICES:
        return None
    choices = [Choice(_both(condition, c.condition), c.text) for c in first]
    choices += [Choice(_both(f"not ({condition})", c.condition), c.text) for c in second]
    source = file.original[a.start : a.end] if a.end > a.start else a.text
    hole = Hole(source, "depends on a condition of the script", tuple(choices))
    return Field(Mapped.standing_for(file.hole(hole), a.start, a.end), a.start, a.end)


def _both(one: str, other: str) -> str:
    return f"{one} and {other}" if other else one


def _choices_of(file: SourceFile, field: Field) -> tuple[Choice, ...]:
    """The values of a plain one-word variable; empty when it is none."""
    text = field.text
    holes = file.holes_in(text)
    if not holes:
        plain = bool(text) and not text.startswith("-") and not any(b in text for b in " \t\n")
        return (Choice("", text),) if plain else ()
    if len(holes) == 1 and len(text) == 1:
        return holes[0].choices
    return ()


def limit_paths(file: SourceFile, states: list[State]) -> list[State]:
    """At most `MAX_PATHS` paths.

    With more, paths that left the same variables become one; if that is not enough, those of one preset
    (the first condition that was taken) become one, in which differing texts are unknown and differing
    lists keep what they have in common. Beyond `MAX_PRESETS` all become one.
    """
    alive = [s for s in states if s.alive]
    if len(alive) <= MAX_PATHS:
        return alive
    alive = _without_twins(alive)
    if len(alive) <= MAX_PATHS:
        return alive
    presets: dict[tuple[str, ...], list[State]] = {}
    for state in alive:
        presets.setdefault(state.label[:1], []).append(state)
    if len(presets) > MAX_PRESETS:
        return [_joined(file, alive)]
    return [_joined(file, each) if len(each) > 1 else each[0] for each in presets.values()]


def _joined(file: SourceFile, states: list[State]) -> State:
    """One path for several, in which what differs is unknown."""
    joined = states[0].copy()
    for name in differing(states):
        values = [s.values.get(name) for s in states]
        joined.values[name] = _joined_value(file, name, values)
    joined.label = _common(s.label for s in states)
    joined.assumptions = _common(s.assumptions for s in states)
    joined.facts = {}
    return joined


def _common(items: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    sets = [dict.fromkeys(i) for i in items]
    return tuple(n for n in sets[0] if all(n in s for s in sets))


def _without_twins(states: list[State]) -> list[State]:
    found: dict[object, State] = {}
    for state in states:
        values = tuple(
            (n, v.text if isinstance(v, Field) else tuple(f.text for f in v))
            for n, v in sorted(state.values.items())
        )
        key = (values, state.exported, state.args)
        twin = found.get(key)
        if twin is None:
            found[key] = state
        else:
            twin.label = _common((twin.label, state.label))
            twin.assumptions = _common((twin.assumptions, state.assumptions))
            twin.facts = {c: v for c, v in twin.facts.items() if state.facts.get(c) is v}
    return list(found.values())


def _joined_value(file: SourceFile, name: str, values: list[Value | None]) -> Value:
    """One value for a variable that differs between paths."""
    reason = "differs between many paths of the script"
    arrays = [v for v in values if isinstance(v, tuple)]
    if arrays and len(arrays) == len(values):
        return _joined_array(file, arrays, reason)
    spliced = bool(arrays)
    value = next(v for v in values if v is not None)
    first = value[0] if isinstance(value, tuple) and value else value
    start, end = (first.start, first.end) if isinstance(first, Field) else (0, 0)
    char = file.hole(Hole(f"${name}", reason, spliced=spliced))
    unknown = Field(Mapped.standing_for(char, start, end), start, end)
    return (unknown,) if spliced else unknown


def _joined_array(
    file: SourceFile, arrays: list[tuple[Field, ...]], reason: str
) -> tuple[Field, ...]:
    """One list for several: words at the same place are the same word.

    A word that differs is unknown; one that is not in all lists is any number of unknown words.
    """
    order: list[tuple[int, int]] = []
    members: dict[tuple[int, int], list[Field]] = {}
    for array in arrays:
        previous = -1
        for word in array:
            key = (word.start, word.end)
            if key in members:
                members[key].append(word)
                previous = order.index(key)
            else:
                members[key] = [word]
                previous += 1
                order.insert(previous, key)
    out: list[Field] = []
    for key in order:
        fields = members[key]
        same = len({f.text for f in fields}) == 1
        if same and len(fields) == len(arrays):
            out.append(fields[0])
            continue
        spliced = len(fields) != len(arrays)
        char = file.hole(Hole(file.original[key[0] : key[1]], reason, spliced=spliced))
        out.append(Field(Mapped.standing_for(char, *key), *key))
    return tuple(out)
