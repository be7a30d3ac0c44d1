"""Joining the ends of a region: one state whose differing values are choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from sgcheck.interp import declarations
from sgcheck.interp.journal import (
    CALL,
    CELL,
    COPY,
    ITEM,
    MISSING,
    NAME,
    SPACE,
    TYPE,
    Entry,
    Journal,
    cell_content,
    content,
)
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.values.condition import Condition
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import Unknown

if TYPE_CHECKING:
    from sgcheck.interp.explore import Explorer
    from sgcheck.interp.paths import End

Place = tuple[int, int, Any]


class JoinedList(list):  # type: ignore[type-arg]
    """A list of records (log lines, provenance) whose ends are joined by the union of their entries."""

    __slots__ = ()


class CacheDict(dict):  # type: ignore[type-arg]
    """A cache: an entry that only some ends made is dropped when they are joined."""

    __slots__ = ()


class UnionDict(dict):  # type: ignore[type-arg]
    """A register of what has been seen: an entry that some end made stays."""

    __slots__ = ()


class Conditional(Protocol):
    """An entry of a `JoinedList`. `condition` is None where the entry holds on every path."""

    condition: Condition | None

    def key(self) -> Any:
        """Entries with the same key are the same event."""

    def under(self, condition: Condition) -> Any:
        """The same entry with another condition."""


class Group(Struct):
    """Ends that are one from here on."""

    condition: Condition
    value: Any
    redo: list[Entry]
    changes: list[tuple[int, Any, Any, Any]]

    def apply(self, journal: Journal) -> None:
        """Make the changes of this group again."""
        journal.redo(self.redo)
        for kind, obj, key, value in self.changes:
            write(journal, kind, obj, key, value)


def finals(journal: Journal, mark: int) -> dict[Place, Any]:
    """What stands now at every place that changed since `mark`: place -> (object, value)."""
    found: dict[Place, Any] = {}
    whole: set[int] = set()
    for kind, obj, key, _ in journal.entries[mark:]:
        if kind == COPY:
            whole.add(id(obj))
            found[(COPY, id(obj), None)] = (obj, content(obj))
        elif kind in (ITEM, SPACE, NAME):
            found[(kind, id(obj), key)] = (obj, dict.get(obj, key, MISSING))
        elif kind == CALL:
            found[(CALL, id(obj), None)] = (obj, MISSING)
        else:
            found[(kind, id(obj), key)] = (obj, _current(kind, obj, key))
    for place in [p for p in found if p[0] == ITEM and p[1] in whole]:
        del found[place]
    return found


def undone(journal: Journal, mark: int) -> bool:
    """Whether everything is again as it was at `mark`; if so, the entries since then are gone."""
    before: dict[tuple[int, int], Any] = {}
    for kind, obj, _, old in journal.entries[mark:]:
        if kind != CELL:
            return False
        before.setdefault((kind, id(obj)), (obj, old))
    if any(cell_content(obj) is not old for obj, old in before.values()):
        return False
    journal.undo(mark)
    return True


def _current(kind: int, obj: Any, key: str) -> Any:
    if kind == TYPE:
        return obj.__dict__.get(key, MISSING)
    if kind == CELL:
        return cell_content(obj)
    try:
        return object.__getattribute__(obj, key)
    except AttributeError:
        return MISSING


def write(journal: Journal, kind: int, obj: Any, key: Any, value: Any) -> None:
    """Put a value at a place, through the journal."""
    journal.redo([(kind, obj, key, value)])


def join(explorer: Explorer, journal: Journal, ends: list[End]) -> list[Group]:
    """Fold the ends into as few groups as possible."""
    groups: list[tuple[list[End], Any]] = []
    if len(ends) > 2:
        whole = _join_all(explorer, ends)
        if whole is not None:
            groups, ends = [(ends, whole)], []
    for end in ends:
        for index, (members, _) in enumerate(groups):
            joined = _join_all(explorer, [*members, end])
            if joined is not None:
                groups[index] = ([*members, end], joined)
                break
        else:
            groups.append(([end], None))
    out: list[Group] = []
    for members, joined in groups:
        condition = explorer.space.any_of(m.condition for m in members)
        if joined is None:
            only = members[0]
            out.append(Group(condition, only.value, only.redo, []))
        else:
            value, changes = joined
            out.append(Group(condition, value, [], changes))
    return out


def _join_all(
    explorer: Explorer, ends: list[End]
) -> tuple[Any, list[tuple[int, Any, Any, Any]]] | None:
    """One value and the changes that make one state of several ends, or None."""
    conditions = [e.condition for e in ends]
    whole = explorer.space.any_of(conditions)
    simple = [explorer.space.assume(c, whole) for c in conditions]
    ended = [_Ended(e) for e in ends]
    value = join_values(explorer, simple, [e.of(e.end.value) for e in ended])
    if value is NOT_JOINED:
        return None
    places: dict[Place, Any] = {}
    copied: set[int] = set()
    for end in ends:
        for place, (obj, _) in end.finals.items():
            places.setdefault(place, obj)
            if place[0] == COPY:
                copied.add(place[1])
    changes: list[tuple[int, Any, Any, Any]] = []
    owners = {ident: end for end in reversed(ends) for ident in end.fresh}
    for place, obj in places.items():
        kind, ident, key = place
        if kind == CALL:
            return None
        if kind == ITEM and ident in copied:
            continue
        base = (
            content(obj)
            if kind == COPY
            else dict.get(obj, key, MISSING)
            if kind in (ITEM, SPACE, NAME)
            else _current(kind, obj, key)
        )
        owner = owners.get(ident)
        if owner is not None and all(e is owner or place not in e.finals for e in ends):
            changes.append((kind, obj, key, owner.finals[place][1]))
            continue
        values = []
        for end, as_ended in zip(ends, ended, strict=True):
            found = end.finals.get(place)
            if found is not None:
                values.append(as_ended.of(found[1]) if kind != COPY else found[1])
            elif kind == COPY:
                values.append(_patched(base, end, ident))
            else:
                values.append(base)
        made = _join_place(explorer, kind, obj, key, base, simple, conditions, values)
        if made is NOT_JOINED:
            return None
        changes.append((kind, obj, key, made))
    return value, changes


class _Ended:
    """What containers that one end made held when it ended; by now they are empty again.

    Two ends that fill lists of their own have made different lists, whatever these hold now.
    """

    __slots__ = ("_changed", "_made", "end")

    def __init__(self, end: End) -> None:
        self.end = end
        self._made: dict[int, Any] = {}
        self._changed = {
            ident for kind, ident, _ in end.finals if kind in (COPY, ITEM) and ident in end.fresh
        }

    def of(self, value: Any, depth: int = 6) -> Any:
        """The value with the content of the end; the same object where nothing in it changed."""
        kind = type(value)
        if not self._changed or depth == 0:
            return value
        if kind is Choice:
            cases = tuple((c, self.of(case, depth - 1)) for c, case in value.cases)
            if all(a is b for (_, a), (_, b) in zip(cases, value.cases, strict=True)):
                return value
            return Choice(cases, value.label)
        if kind not in (list, dict, set, tuple):
            return value
        known = self._made.get(id(value))
        if known is not None:
            return known
        held = self._held(value) if id(value) in self._changed else value
        made: Any
        if kind is dict:
            made = {key: self.of(item, depth - 1) for key, item in held.items()}
            same = held is value and all(made[key] is value[key] for key in made)
        elif kind is set:
            made, same = held, held is value
        else:
            items = [self.of(item, depth - 1) for item in held]
            made = tuple(items) if kind is tuple else items
            same = held is value and all(a is b for a, b in zip(items, value, strict=True))
        if same:
            return value
        self._made[id(value)] = made
        if kind is not tuple:
            R.fresh.append(made)
        return made

    def _held(self, value: Any) -> Any:
        whole = self.end.finals.get((COPY, id(value), None))
        if whole is not None:
            return whole[1]
        return _patched(value, self.end, id(value))


def _patched(base: Any, end: End, ident: int) -> Any:
    """Content of a dictionary that another end changed as a whole and this one key by key."""
    if not issubclass(type(base), dict):
        return base
    patched = dict(base)
    for (kind, other, key), (_, value) in end.finals.items():
        if kind == ITEM and other == ident:
            if value is MISSING:
                patched.pop(key, None)
            else:
                patched[key] = value
    return patched


class _NotJoined:
    __slots__ = ()


NOT_JOINED = _NotJoined()


def _join_place(
    explorer: Explorer,
    kind: int,
    obj: Any,
    key: Any,
    base: Any,
    simple: list[Condition],
    full: list[Condition],
    values: list[Any],
) -> Any:
    from sgcheck.interp.symbolic import alike

    if all(alike(values[0], v) for v in values[1:]):
        return values[0]
    if issubclass(type(obj), JoinedList):
        return _union(explorer, base, full, values)
    if issubclass(type(obj), CacheDict):
        return MISSING if kind == ITEM else base
    if issubclass(type(obj), UnionDict):
        if kind == ITEM:
            return next(v for v in values if v is not MISSING)
        union: dict[Any, Any] = {}
        for value in values:
            union.update(value)
        return union
    if kind == COPY:
        return _join_content(explorer, obj, base, simple, values)
    if kind == CELL:
        # A local that only one way has bound: reading it on the other would be an error there.
        bound = [(c, v) for c, v in zip(simple, values, strict=True) if v is not MISSING]
        return join_values(explorer, [c for c, _ in bound], [v for _, v in bound])
    if any(v is MISSING for v in values):
        if type(obj).__name__ == "FactDict":
            return explorer.choice(list(zip(simple, values, strict=True)))
        if kind == SPACE:
            return explorer.choice(list(zip(simple, values, strict=True)))
        if kind != ITEM or not explorer.may_be_absent(obj):
            return NOT_JOINED
        return explorer.choice(list(zip(simple, values, strict=True)))
    return join_values(explorer, simple, values)


def _join_content(
    explorer: Explorer, obj: Any, base: Any, simple: list[Condition], values: list[Any]
) -> Any:
    if issubclass(type(obj), dict):
        if not explorer.may_be_absent(obj):
            return NOT_JOINED
        keys: dict[Any, None] = {}
        for value in values:
            keys.update(dict.fromkeys(value))
        out = {}
        for key in keys:
            found = [v.get(key, MISSING) for v in values]
            made = explorer.choice(list(zip(simple, found, strict=True)))
            if made is not MISSING:
                out[key] = made
        return out
    if issubclass(type(obj), list):
        if len({len(v) for v in values}) != 1:
            return declarations.join(explorer, base, simple, values)
        items = [
            join_values(explorer, simple, list(column)) for column in zip(*values, strict=True)
        ]
        return NOT_JOINED if any(i is NOT_JOINED for i in items) else items
    return NOT_JOINED


def join_values(explorer: Explorer, conditions: list[Condition], values: list[Any]) -> Any:
    """One value for several, as a choice where they differ."""
    from sgcheck.interp.symbolic import alike, is_scalar

    first = values[0]
    if all(alike(first, v) for v in values[1:]):
        return first
    if any(v is MISSING for v in values):
        return NOT_JOINED
    if (
        all(type(v) is tuple and len(v) == len(first) for v in values if type(first) is tuple)
        and type(first) is tuple
    ):
        columns = [join_values(explorer, conditions, list(c)) for c in zip(*values, strict=True)]
        return NOT_JOINED if any(c is NOT_JOINED for c in columns) else tuple(columns)
    if all(type(v) is dict for v in values):
        keys: dict[Any, None] = {}
        for value in values:
            keys.update(dict.fromkeys(value))
        made = {
            k: explorer.choice(
                [(c, v.get(k, MISSING)) for c, v in zip(conditions, values, strict=True)]
            )
            for k in keys
        }
        return {k: v for k, v in made.items() if v is not MISSING}
    if all(type(v) is list for v in values):
        made_list = declarations.join(explorer, [], conditions, values)
        if made_list is not NOT_JOINED:
            R.fresh.append(made_list)
            return made_list
    if len(conditions) > 48 and not all(
        is_scalar(v)
        or issubclass(type(v), Unknown)
        or (type(v) in (set, frozenset) and all(map(is_scalar, v)))
        for v in values
    ):
        return NOT_JOINED
    return explorer.choice(list(zip(conditions, values, strict=True)))


def _union(
    explorer: Explorer, base: list[Any], conditions: list[Condition], values: list[Any]
) -> list[Any]:
    """Entries that only some ends added carry the condition of those ends."""
    start = len(base)
    out = list(base)
    places: dict[Any, int] = {}
    for condition, value in zip(conditions, values, strict=True):
        for entry in value[start:]:
            both = (
                condition
                if entry.condition is None
                else explorer.space.both(entry.condition, condition)
            )
            key = entry.key()
            if key in places:
                known = out[places[key]]
                out[places[key]] = known.under(explorer.space.either(known.condition, both))
            else:
                places[key] = len(out)
                out.append(entry.under(both))
    return out
