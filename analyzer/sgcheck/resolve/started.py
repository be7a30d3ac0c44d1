"""What a resolution says of the start beyond its arguments, and what runs by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from sgcheck.resolve.resolution import (
    Cell,
    FieldAnswer,
    LaunchError,
    LayerRow,
    Outcome,
    Reason,
    Resolution,
    RoleRunning,
)

ROLES = ("main", "draft")
PARTS = ("model_class", "quantization", "kv_cache_dtype", "attention")
CELLS = ("class", "method", "scheme", "runner", "fused", "dispatcher", "weights", "kernel")
RUNS = "runs"
"""`main.runs.quantization`: a part whose short name is an effective backend's."""


def is_beyond(outcome: Outcome) -> bool:
    """Whether the arguments were left behind: the outcome is that of what the start builds."""
    return outcome.stage not in (None, "arguments", "check")


def of_arguments(resolution: Resolution) -> Resolution:
    """The resolution, and where only the start beyond its arguments is unknown: those, which are `ok`.

    The stage that was reached stays, and `running.reason` says why no further.
    """
    outcome = resolution.outcome
    if outcome.status != "unknown" or not is_beyond(outcome):
        return resolution
    return replace(resolution, outcome=Outcome("ok", stage=outcome.stage))


def label(kind: str) -> str:
    """The last part of a kind that is a name: `qkv_proj` of `model.layers.*.self_attn.qkv_proj`."""
    return next((part for part in reversed(kind.split(".")) if part != "*"), kind)


def roles_of(resolution: Resolution) -> Iterator[tuple[str, RoleRunning]]:
    """The models that were built: `main`, and `draft` where one drafts."""
    running = resolution.running
    if running is not None:
        for name, role in zip(ROLES, (running.main, running.draft), strict=True):
            if role is not None:
                yield name, role


def raising(resolution: Resolution) -> Iterator[tuple[str, LayerRow, LaunchError]]:
    """The layers whose first batch ends in an error, each with its role."""
    for name, role in roles_of(resolution):
        for row in role.layers:
            error = row.cells["kernel"].raises
            if error is not None:
                yield name, row, error


def is_answer(name: str) -> bool:
    """Whether a name is of the form of an answer about what runs, its layer aside."""
    role, _, rest = name.partition(".")
    layer, _, cell = rest.rpartition(".")
    if role not in ROLES:
        return False
    return cell in (PARTS if layer in ("", RUNS) else CELLS)


def answer(resolution: Resolution, name: str) -> FieldAnswer | None:
    """The answer of a name such as `main.experts.kernel` or `draft.runs.attention`; None without one.

    Layers of one name that differ are answered with the list of what they have. One that raises is
    unknown, for the reason `raises(…)`.
    """
    role_name, _, rest = name.partition(".")
    layer, _, key = rest.rpartition(".")
    role = dict(roles_of(resolution)).get(role_name)
    if role is None:
        return None
    if layer in ("", RUNS):
        part = role.parts.get(key)
        return None if part is None else _one(name, part)
    rows = [row for row in role.layers if _is_of(row.kind, layer)]
    cells = [row.cells[key] for row in sorted(rows, key=lambda r: -r.count) if key in row.cells]
    return _joined(name, cells) if cells else None


def layers_of(resolution: Resolution) -> tuple[str, ...]:
    """The names of the layers that can be asked for, with their role."""
    found = (f"{n}.{label(row.kind)}" for n, role in roles_of(resolution) for row in role.layers)
    return tuple(dict.fromkeys(found))


def cells_of(resolution: Resolution) -> Mapping[str, FieldAnswer]:
    """Every answer about what runs, by its name: parts, and cells by role, layer and cell."""
    found: dict[str, FieldAnswer] = {}
    for name, role in roles_of(resolution):
        names = [f"{name}.{RUNS}.{part}" for part in role.parts]
        labels = dict.fromkeys(label(row.kind) for row in role.layers)
        names += [f"{name}.{each}.{cell}" for each in labels for cell in CELLS]
        for each in names:
            value = answer(resolution, each)
            if value is not None:
                found[each] = value
    return found


def _is_of(kind: str, layer: str) -> bool:
    return label(kind) == layer or kind == layer or kind.endswith(f".{layer}")


def _one(name: str, cell: Cell) -> FieldAnswer:
    if cell.raises is not None:
        error = cell.raises
        reason = Reason(f"raises({error.type})", error.file, error.line, error.message)
        return FieldAnswer(name, "unknown", reason=reason)
    return FieldAnswer(name, cell.status, cell.value, cell.cases, cell.reason, because=cell.because)


def _joined(name: str, cells: list[Cell]) -> FieldAnswer:
    open_ones = [c for c in cells if c.status != "decided" or c.raises is not None]
    if open_ones:
        return _one(name, open_ones[0])
    values = list(dict.fromkeys(str(cell.value) for cell in cells))
    if len(values) == 1:
        return _one(name, cells[0])
    distinct = {str(cell.value): cell for cell in reversed(cells)}
    steps = tuple(step for value in values for step in distinct[value].because)
    shown = [distinct[value].value for value in values]
    return FieldAnswer(name, "decided", shown, because=steps)
