"""A solved matrix as tables of words, which every output format writes in its own way.

A cell is marked where it differs from the reference: the first column of its row where axes make
columns, else the first row. An answer that is itself what a flag of its cell asks for is marked
where SGLang did not keep that value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, TypeAlias

from sgcheck.matrix.axes import Axis
from sgcheck.matrix.plan import Matrix
from sgcheck.matrix.solve import OUTCOME, Solved
from sgcheck.report.document import same_value
from sgcheck.report.wording import OUTCOME_WORDS, reason_text, value_text
from sgcheck.resolve.resolution import FieldAnswer, LaunchError, Outcome, Reason

Mark: TypeAlias = Literal["", "differs", "replaced"]
State: TypeAlias = Literal["value", "conditional", "unknown", "failed", "none"]
Note: TypeAlias = LaunchError | Reason | Outcome


@dataclass(frozen=True, slots=True)
class Entry:
    """One cell of a table. `note` is the number of its footnote, 0 for none.

    `details` are the values with their conditions, one a line, where the answer is conditional.
    """

    text: str
    state: State
    mark: Mark = ""
    note: int = 0
    details: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A line: one value of each row axis, then the entries."""

    labels: tuple[str, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """`title` is the answer that the whole table shows, empty where each column has one.

    `labels` are the titles of the row axes, `heads` those of the other columns.
    """

    title: str
    labels: tuple[str, ...]
    heads: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(slots=True)
class Tables:
    """All tables of a matrix. Footnote number n is `notes[n - 1]`."""

    tables: list[Table] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def number(self, note: Note) -> int:
        """The footnote's number; equal ones share it."""
        if note not in self.notes:
            self.notes.append(note)
        return self.notes.index(note) + 1


def tables_of(matrix: Matrix) -> Tables:
    """The tables of a matrix. An answer that no cell has is left out, unless it is all there is."""
    found = Tables()
    names = [name for name in matrix.names if _is_answered(matrix, name)] or list(matrix.names)
    rows = _places(matrix.axes, matrix.layout.rows)
    columns = _places(matrix.axes, matrix.layout.columns)
    labels = tuple(matrix.axes[i].title for i in matrix.layout.rows)
    by_place = _cells_by_place(matrix)
    if matrix.layout.columns:
        heads = tuple(" ".join(column) for column in columns)
        for name in names:
            lines = []
            for row in rows:
                reference = by_place[row, columns[0]]
                lines.append(
                    Row(
                        row,
                        tuple(
                            _entry(found, matrix, by_place[row, c], name, reference, False)
                            for c in columns
                        ),
                    )
                )
            found.tables.append(Table(name, labels, heads, tuple(lines)))
        return found
    shown = [OUTCOME, *(name for name in names if name != OUTCOME)]
    reference = by_place[rows[0], ()]
    lines = [
        Row(row, tuple(_entry(found, matrix, by_place[row, ()], n, reference, True) for n in shown))
        for row in rows
    ]
    found.tables.append(Table("", labels, tuple(map(title_of, shown)), tuple(lines)))
    return found


def marks_of(matrix: Matrix) -> list[dict[str, Mark]]:
    """The mark of each answer of each cell, in the order of the cells."""
    places = list(product(*(axis.values for axis in matrix.axes)))
    by_place = _cells_by_place(matrix)
    found: list[dict[str, Mark]] = []
    first_column = tuple(matrix.axes[i].values[0] for i in matrix.layout.columns)
    first_row = tuple(matrix.axes[i].values[0] for i in matrix.layout.rows)
    for point, cell in zip(places, matrix.cells, strict=True):
        row = tuple(point[i] for i in matrix.layout.rows)
        reference = by_place[row if first_column else first_row, first_column]
        names = dict.fromkeys((OUTCOME, *matrix.names))
        found.append({name: _mark(matrix, cell, name, reference) for name in names})
    return found


def title_of(name: str) -> str:
    """An answer as a column title: the main backends without their role."""
    role, dot, backend = name.partition(".")
    return name if not dot else backend if role == "main" else f"{role} {backend}"


def _cells_by_place(matrix: Matrix) -> dict[tuple[tuple[str, ...], tuple[str, ...]], Solved]:
    points = product(*(axis.values for axis in matrix.axes))
    layout = matrix.layout
    return {
        (tuple(p[i] for i in layout.rows), tuple(p[i] for i in layout.columns)): cell
        for p, cell in zip(points, matrix.cells, strict=True)
    }


def _places(axes: Sequence[Axis], which: Iterable[int]) -> list[tuple[str, ...]]:
    return list(product(*(axes[i].values for i in which)))


def _is_answered(matrix: Matrix, name: str) -> bool:
    return name == OUTCOME or any(cell.answers.get(name) is not None for cell in matrix.cells)


def _entry(
    found: Tables, matrix: Matrix, cell: Solved, name: str, reference: Solved, listed: bool
) -> Entry:
    mark = _mark(matrix, cell, name, reference)
    outcome = cell.outcome
    answer = cell.answers.get(name)
    if name == OUTCOME or (answer is None and outcome.status != "ok" and not listed):
        state: State = "failed" if outcome.error is not None else "value"
        if outcome.status in ("conditional", "unknown"):
            state = "conditional" if outcome.status == "conditional" else "unknown"
        mark = _mark(matrix, cell, OUTCOME, reference)
        return Entry(OUTCOME_WORDS[outcome.status], state, mark, _note(found, outcome))
    if answer is None:
        return Entry("-", "none", mark)
    # In a list the outcome stands beside it; alone, the value must say that it holds on some paths.
    note = _note(found, outcome) if not listed and outcome.status == "conditional" else 0
    if answer.status == "unknown":
        reason = answer.reason or Reason("unexplained")
        return Entry("unknown", "unknown", mark, found.number(reason))
    if answer.status == "conditional":
        values = dict.fromkeys(value_text(case.value, None) for case in answer.cases)
        details = tuple(
            f"{value_text(case.value, None)} if {case.condition}" for case in answer.cases
        )
        return Entry(" or ".join(values), "conditional", mark, note, details)
    step = next((s for s in reversed(answer.because) if s.file is not None), None)
    place = f"{step.file}:{step.line}" if step is not None else ""
    return Entry(value_text(answer.value, None), "value", mark, note, place=place)


def _note(found: Tables, outcome: Outcome) -> int:
    if outcome.status == "ok":
        return 0
    return found.number(outcome.error or outcome.reason or outcome)


def _mark(matrix: Matrix, cell: Solved, name: str, reference: Solved) -> Mark:
    if name == OUTCOME:
        return "" if _outcome_key(cell.outcome) == _outcome_key(reference.outcome) else "differs"
    answer, other = cell.answers.get(name), reference.answers.get(name)
    if answer is None:
        # Where a launch fails, it is the outcome that differs.
        comparable = cell.outcome.status == reference.outcome.status
        return "differs" if comparable and other is not None else ""
    if other is None:
        return "differs"
    if answer.user_set and answer.name in matrix.flag_fields.values():
        return "" if _is_kept(answer) else "replaced"
    return "" if _same(answer, other) else "differs"


def _is_kept(answer: FieldAnswer) -> bool:
    if answer.status == "unknown":
        return True
    values = [answer.value] if answer.status == "decided" else [c.value for c in answer.cases]
    return all(same_value(value, answer.user_value) for value in values)


def _same(left: FieldAnswer, right: FieldAnswer) -> bool:
    if left.status != right.status:
        return False
    match left.status:
        case "decided":
            return same_value(left.value, right.value)
        case "conditional":
            return [(c.condition, repr(c.value)) for c in left.cases] == [
                (c.condition, repr(c.value)) for c in right.cases
            ]
        case _:
            return reason_text(left.reason) == reason_text(right.reason)


def _outcome_key(outcome: Outcome) -> object:
    return outcome.status, outcome.error, outcome.reason, outcome.cases
