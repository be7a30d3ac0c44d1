"""Both ways of an `if` whose test is not known, and the locals of the function around it.

The branching translation makes the two ways local functions (see `syntax.branches`), so the locals
that they assign are cells, whose content is part of the state that is taken back and joined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sgcheck.interp.runtime import RUNTIME as R

if TYPE_CHECKING:
    from sgcheck.interp.explore import Explorer

Way = Callable[[], None]


def branch(explorer: Explorer, test: Any, then: Way, other: Way | None) -> None:
    """Run the way that the test leaves, or both where it leaves both."""
    condition = explorer.condition_of(test)
    never = not explorer.possible(condition)
    if never or not explorer.possible(explorer.space.negate(condition)):
        way = other if never else then
        if way is not None:
            way()
        return
    journal = R.journal
    if journal is None:
        way = then if explorer.decide(condition) else other
        if way is not None:
            way()
        return
    ways = (then,) if other is None else (then, other)
    cells = {id(cell): cell for way in ways for cell in way.__closure__ or ()}

    def both() -> None:
        for cell in cells.values():
            journal.cell(cell)
        if explorer.decide(condition):
            then()
        elif other is not None:
            other()

    explorer.region(both, (), {}, alone=other is None)
