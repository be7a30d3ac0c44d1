"""Model of a list of declarations: `[(source, {field: value}), …]`, the last one wins.

Newer releases do not set fields; each decision appends such a pair to a list, and a field's value is
that of the last pair that names it. Where only some paths append a pair, the joined list holds the
pair with keys that may be absent: for a reader that looks fields up, a pair that declares nothing
is the same as no pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgcheck.interp.journal import MISSING
from sgcheck.values.condition import Condition
from sgcheck.values.unknown import Unknown

if TYPE_CHECKING:
    from sgcheck.interp.explore import Explorer


def is_declaration(element: Any) -> bool:
    """Whether an element of a list has the form `(source, {field: value})`."""
    return (
        type(element) is tuple
        and len(element) == 2
        and issubclass(type(element[0]), str | Unknown)
        and type(element[1]) is dict
        and all(issubclass(type(key), str) for key in element[1])
    )


def join(
    explorer: Explorer, base: Any, conditions: list[Condition], values: list[list[Any]]
) -> Any:
    """One list for several that start with `base`; `merge.NOT_JOINED` if they are no declarations."""
    from sgcheck.interp.merge import NOT_JOINED
    from sgcheck.interp.symbolic import alike

    start = len(base)
    if any(len(v) < start for v in values):
        return NOT_JOINED
    suffixes = [v[start:] for v in values]
    if not all(is_declaration(e) for suffix in suffixes for e in suffix):
        return NOT_JOINED
    rows: list[tuple[Any, list[dict[str, Any] | None]]] = []
    for index, suffix in enumerate(suffixes):
        position = 0
        for source, fields in suffix:
            at = next(
                (
                    i
                    for i in range(position, len(rows))
                    if alike(rows[i][0], source) and rows[i][1][index] is None
                ),
                None,
            )
            if at is None:
                rows.insert(position, (source, [None] * len(suffixes)))
                at = position
            rows[at][1][index] = fields
            position = at + 1
    joined = []
    for source, alternatives in rows:
        keys: dict[str, None] = {}
        for fields in alternatives:
            keys.update(dict.fromkeys(fields or ()))
        cells = {
            key: explorer.choice(
                [
                    (c, (a or {}).get(key, MISSING))
                    for c, a in zip(conditions, alternatives, strict=True)
                ]
            )
            for key in keys
        }
        # A way on which a key was there may be impossible here.
        there = {key: value for key, value in cells.items() if value is not MISSING}
        joined.append((source, there))
    return [*base, *joined]
