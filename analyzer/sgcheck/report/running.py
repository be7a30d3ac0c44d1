"""The part of the text report that says what is built and runs: a block a model."""

from __future__ import annotations

from sgcheck.report.answers import DIM, OPEN
from sgcheck.report.layout import Page
from sgcheck.report.wording import clean, place, reason_text, value_text
from sgcheck.resolve.resolution import Cell, LayerRow, RoleRunning, Running
from sgcheck.resolve.started import label

MAX_ROWS = 8
_NAMES = 4


def running_block(page: Page, running: Running, verbose: bool) -> None:
    """What the main model and the draft are built of, and which kernels they call."""
    for name, role in (("main", running.main), ("draft", running.draft)):
        if role is not None:
            page.heading(f"{name} runs")
            _role(page, role, verbose)


def _role(page: Page, role: RoleRunning, verbose: bool) -> None:
    parts = [("model", "model_class"), ("quantization", "quantization"), ("kv cache", "kv_cache_dtype"), ("attention", "attention")]  # fmt: skip
    texts = [f"{label} {cell_text(role.parts[key])}" for label, key in parts if key in role.parts]
    page.paragraph(", ".join(texts), indent=2, hanging=2)
    groups = [[row] for row in role.layers] if verbose else grouped(role.layers)
    for group in groups if verbose else groups[:MAX_ROWS]:
        _row(page, group, verbose)
    if not verbose and len(groups) > MAX_ROWS:
        page.paragraph(f"(+{len(groups) - MAX_ROWS} more: --verbose)", DIM, indent=2)


def grouped(rows: tuple[LayerRow, ...]) -> list[list[LayerRow]]:
    """Rows that are built and run alike, the most frequent first."""
    found: dict[tuple[object, ...], list[LayerRow]] = {}
    for row in rows:
        key = tuple((k, c.status, str(c.value), c.reason, c.raises) for k, c in row.cells.items())
        found.setdefault(key, []).append(row)
    return sorted(found.values(), key=lambda group: -sum(row.count for row in group))


def _row(page: Page, group: list[LayerRow], verbose: bool) -> None:
    cells = group[0].cells
    names = list(dict.fromkeys(row.kind if verbose else label(row.kind) for row in group))
    more = f" (+{len(names) - _NAMES})" if len(names) > _NAMES and not verbose else ""
    shown = ", ".join(clean(n) for n in (names if verbose else names[:_NAMES]))
    count = sum(row.count for row in group)
    page.paragraph(f"{shown}{more} × {count}", ("bold",), indent=2, hanging=4)
    made = [cell_text(cells[key]) for key in ("weights", "scheme", "method") if _said(cells[key])]
    runner = cells["runner"]
    if _said(runner):
        made.append(f"runner {cell_text(runner)}")
    if _said(cells["dispatcher"]):
        made.append(cell_text(cells["dispatcher"]))
    page.paragraph(", ".join(made), DIM, indent=4, hanging=2)
    kernel = cells["kernel"]
    if kernel.raises is not None:
        error = kernel.raises
        page.paragraph(
            f"its first batch raises {clean(error.type)}: {clean(error.message)}", ("red",), indent=4, hanging=2
        )  # fmt: skip
        page.place(place(error.file, error.line), 6, error.url)
    elif kernel.status == "unknown" and kernel.reason is not None:
        page.paragraph(f"kernel unknown: {reason_text(kernel.reason)}", OPEN, indent=4, hanging=2)
    elif _said(kernel):
        page.paragraph(f"kernel {cell_text(kernel)}", indent=4, hanging=2)
        if kernel.because:
            step = kernel.because[-1]
            page.place(place(step.file, step.line), 6, step.url)


def _said(cell: Cell) -> bool:
    return cell.status != "decided" or cell.value is not None


def cell_text(cell: Cell) -> str:
    """A fact in a word or two."""
    if cell.status == "decided":
        return value_text(cell.value) if not isinstance(cell.value, str) else clean(cell.value)
    if cell.status == "conditional":
        return " or ".join(value_text(case.value) for case in cell.cases)
    return "unknown"
