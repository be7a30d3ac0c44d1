"""Errors that may be due to a list of module names which the recorded facts of a model shorten.

A checkpoint names the modules that it does not quantize. Where only part of the list is recorded, a layer
may be built quantized here that is plain in the real checkpoint: what its quantization method refuses then is
not known. Routed experts of the main model are what such a checkpoint quantizes; they stand.
"""

from __future__ import annotations

from types import TracebackType

from msgspec.structs import replace

from sgcheck.resolve.resolution import Cell, Reason, RoleRunning, Running
from sgcheck.syntax.names import source_name

CODE = "module-list-shortened"
_OF_A_LAYER = frozenset({"create_weights", "process_weights_after_loading", "apply"})
"""Methods of a quantization method that SGLang gives a layer to."""


def is_of_a_layer(trace: TracebackType | None, draft: bool) -> bool:
    """Whether an exception came up in the quantization method of a layer that the list may name."""
    while trace is not None:
        code = trace.tb_frame.f_code
        if source_name(code.co_qualname).rpartition(".")[2] in _OF_A_LAYER:
            layer = trace.tb_frame.f_locals.get("layer")
            if draft or "FusedMoE" not in {cls.__name__ for cls in type(layer).__mro__}:
                return True
        trace = trace.tb_next
    return False


def without_doubtful_errors(running: Running) -> Running:
    """What runs, the errors of layers that the list may name unknown."""
    return replace(running, main=_role(running.main, False), draft=_role(running.draft, True))


def _role(role: RoleRunning | None, draft: bool) -> RoleRunning | None:
    if role is None:
        return None
    rows = tuple(
        replace(row, cells={**row.cells, "kernel": _kernel(row.cells["kernel"])})
        if draft or not row.kind.endswith(".experts")
        else row
        for row in role.layers
    )
    return replace(role, layers=rows)


def _kernel(cell: Cell) -> Cell:
    error = cell.raises
    if error is None:
        return cell
    detail = f"{error.type}: {error.message}"
    return Cell("unknown", reason=Reason(CODE, error.file, error.line, detail))
