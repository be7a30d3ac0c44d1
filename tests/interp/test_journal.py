"""The journal takes back every kind of change, in any order, and makes it again."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from copy import deepcopy
from types import CellType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sgcheck.interp.journal import Journal


class Plain:
    """Attributes in a dictionary."""

    kind: Any = "class attribute"


class Slotted:
    """An attribute in a slot."""

    __slots__ = ("kind",)


class State:
    """One thing of each sort that can change."""

    def __init__(self) -> None:
        self.plain, self.slotted = Plain(), Slotted()
        self.type = type("Fresh", (), {})
        self.list: list[int] = [1, 2, 3]
        self.dict: dict[str, int] = {"a": 1, "b": 2}
        self.ordered = OrderedDict(a=1, b=2)
        self.set = {1, 2}
        self.deque: deque[int] = deque([1, 2], maxlen=3)
        self.cell = CellType(0)
        self.empty = CellType()

    def seen(self) -> Any:
        """Everything, as a value; the order of dictionaries counts."""
        return deepcopy(
            (
                dict(vars(self.plain)),
                getattr(self.slotted, "kind", "absent"),
                {k: v for k, v in vars(self.type).items() if not k.startswith("__")},
                self.list,
                list(self.dict.items()),
                list(self.ordered.items()),
                self.set,
                list(self.deque),
                self.cell.cell_contents,
                _content(self.empty),
            )
        )


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"


def set_attr(journal: Journal, obj: Any, value: int) -> None:
    journal.attr(obj, "kind")
    setattr(obj, "kind", value)  # noqa: B010


def delete_attr(journal: Journal, obj: Any, _: int) -> None:
    if getattr(type(obj), "__slots__", None) or "kind" in vars(obj):
        if not hasattr(obj, "kind"):
            return
        journal.attr(obj, "kind")
        delattr(obj, "kind")


def set_item(journal: Journal, mapping: Any, value: int) -> None:
    journal.item(mapping, f"k{value % 3}")
    mapping[f"k{value % 3}"] = value


def set_cell(journal: Journal, cell: CellType, value: int) -> None:
    journal.cell(cell)
    cell.cell_contents = value


def in_container(change: Callable[[Any, int], Any]) -> Callable[[Journal, Any, int], None]:
    def run(journal: Journal, obj: Any, value: int) -> None:
        journal.container(obj)
        change(obj, value)

    return run


CHANGES: list[tuple[str, Callable[[Journal, Any, int], None]]] = [
    *(
        (name, change)
        for name in ("plain", "slotted", "type")
        for change in (set_attr, delete_attr)
    ),
    ("dict", set_item),
    ("ordered", set_item),
    ("cell", set_cell),
    ("empty", set_cell),
    ("list", in_container(lambda items, value: items.append(value))),
    ("list", in_container(lambda items, value: items.clear())),
    ("list", in_container(lambda items, value: items.sort(reverse=True))),
    ("dict", in_container(lambda items, value: items.pop("a", None))),
    ("ordered", in_container(lambda items, value: items.pop("a", None))),
    ("ordered", in_container(lambda items, value: items.update(a=value))),
    ("set", in_container(lambda items, value: items.symmetric_difference_update({value % 4}))),
    ("deque", in_container(lambda items, value: items.append(value))),
]
STEPS = st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 9)), max_size=25)


def make(journal: Journal, state: State, steps: Any) -> None:
    for (name, change), value in steps:
        change(journal, getattr(state, name), value)


@given(STEPS)
def test_everything_is_taken_back(steps: Any) -> None:
    state, journal = State(), Journal()
    before = state.seen()
    make(journal, state, steps)
    journal.undo(0)
    assert state.seen() == before
    assert journal.entries == []


@given(STEPS, STEPS)
def test_what_came_before_a_mark_stays(first: Any, second: Any) -> None:
    state, journal = State(), Journal()
    before = state.seen()
    make(journal, state, first)
    between, mark = state.seen(), journal.mark()
    make(journal, state, second)
    journal.undo(mark)
    assert state.seen() == between
    journal.undo(0)
    assert state.seen() == before


@given(STEPS, STEPS)
def test_what_was_taken_back_can_be_made_again(first: Any, second: Any) -> None:
    state, journal = State(), Journal()
    make(journal, state, first)
    between, mark = state.seen(), journal.mark()
    make(journal, state, second)
    after = state.seen()
    redo = journal.undo(mark)
    journal.redo(redo)
    assert state.seen() == after
    journal.undo(mark)
    assert state.seen() == between
