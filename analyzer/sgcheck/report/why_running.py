"""`why` of what runs: a layer's kernel or a part of a model, with what it is made of and the lines known."""

from __future__ import annotations

from sgcheck.report.layout import Page
from sgcheck.report.terminal import Terminal
from sgcheck.report.text import arch_text
from sgcheck.report.why import KINDS
from sgcheck.report.wording import clean, place, reason_text, value_text
from sgcheck.resolve import started
from sgcheck.resolve.resolution import FieldAnswer, Resolution

_FIELDS = {
    ("main", "experts"): "moe_runner_backend",
    ("draft", "experts"): "speculative_moe_runner_backend",
    ("main", "attention"): "attention_backend",
    ("draft", "attention"): "speculative_draft_attention_backend",
}
"""The field that chooses most of a kind of layer; its own chain begins at the flag."""


def render_running(resolution: Resolution, name: str, terminal: Terminal) -> str:
    """The answer of a name (see `started.answer`), the other facts of its layer, and where its chain begins."""
    page = Page(terminal)
    release = f"SGLang {clean(resolution.sglang.version)}"
    page.paragraph(f"{name} on {arch_text(resolution.target)}, {release}", ("bold",), hanging=2)
    asked = started.answer(resolution, name)
    if asked is None:
        page.paragraph(_why_not(resolution, name), indent=2, hanging=2)
        return page.text()
    _answer(page, "", asked)
    role, _, rest = name.partition(".")
    layer, _, cell = rest.rpartition(".")
    if layer and layer != started.RUNS:
        page.heading("its layer")
        for other in started.CELLS:
            found = started.answer(resolution, f"{role}.{layer}.{other}")
            if other != cell and found is not None and (found.status != "decided" or found.value):
                _answer(page, f"{other} ", found)
    field = _FIELDS.get((role, started.label(layer) if layer not in ("", started.RUNS) else cell))
    chosen = field if field is not None and field in resolution.fields else "quantization"
    behind = resolution.fields.get(chosen)
    if behind is not None:
        page.heading(f"{chosen}, from the flag on")
        for step in behind.because:
            page.paragraph(f"{value_text(step.value)} {KINDS[step.kind]}", indent=2, hanging=2)
            if step.file is not None:
                page.place(place(step.file, step.line), 4, step.url)
    page.blank()
    page.paragraph(f"conditions: sgcheck why {chosen}, with the same launch", ("dim",))
    return page.text()


def _answer(page: Page, lead: str, answer: FieldAnswer) -> None:
    if answer.status == "unknown":
        page.paragraph(f"{lead}unknown: {reason_text(answer.reason)}", indent=2, hanging=2)
        if answer.reason is not None and answer.reason.file is not None:
            page.place(place(answer.reason.file, answer.reason.line), 4, None)
        return
    values = [case.value for case in answer.cases] or [answer.value]
    page.paragraph(f"{lead}{' or '.join(map(value_text, values))}", indent=2, hanging=2)
    for step in answer.because:
        page.place(place(step.file, step.line), 4, step.url)


def _why_not(resolution: Resolution, name: str) -> str:
    """Why there is no such answer."""
    layers = started.layers_of(resolution)
    error = resolution.outcome.error
    if error is not None:
        where = place(error.file, error.line)
        return f"the launch fails: {clean(error.type)}: {clean(error.message)} ({where})"
    if layers:
        return f"the launch has no {name.rpartition('.')[0]}; there are {', '.join(layers)}"
    running = resolution.running
    reason = resolution.outcome.reason or (running.reason if running is not None else None)
    text = reason_text(reason) if reason is not None else "no model is known"
    return f"what runs is not known: {text}"
