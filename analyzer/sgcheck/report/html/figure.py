"""A small drawing of what gave one field its value: sources, the rules that fired, the field."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sgcheck.graph.colour import Colour
from sgcheck.graph.data import RuleGraph
from sgcheck.graph.overwrites import writes_by_field
from sgcheck.report.wording import clean, count, value_text

_FILLS = {"decided": "#b7e4c7", "fired": "#e4f5ea", "failed": "#f5b5b5", "not-seen": "#fff3cd"}
_KINDS = {"field": "#dbe9ff", "probe": "#ffe2c7", "env": "#ece3fb", "model": "#fdf0c2"}
_COLUMNS = (0, 320, 660)
_WIDTHS = (250, 270, 250)
_GAP = 10
_LIMIT = 34
_MAX_SOURCES = 24


@dataclass(frozen=True, slots=True)
class Box:
    """One box; all lengths are in SVG units (CSS pixels)."""

    x: int
    y: int
    width: int
    height: int
    fill: str
    stroke: str
    line: int
    texts: tuple[str, ...]
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    """One curve between two boxes."""

    path: str
    stroke: str
    width: float
    dashed: bool


@dataclass(slots=True)
class Figure:
    """What the template draws."""

    width: int
    height: int
    caption: str
    boxes: list[Box] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)


def draw(
    graph: RuleGraph, name: str, colours: Mapping[str, Colour], still: Collection[str]
) -> Figure | None:
    """The drawing for one field; None where no rule of it fired.

    Only fields in `still`, which kept one value throughout, are drawn with it as sources: of the
    others it is not known which value a rule saw.
    """
    rules = writes_by_field(graph).get(name, [])
    shown = [
        (node, data) for node, data in rules if node in colours and colours[node].name in _FILLS
    ]
    if not shown:
        return None
    hidden = len(rules) - len(shown)
    uses: dict[str, list[tuple[str, bool]]] = {}
    for node, data in shown:
        for source, _, kind in sorted(graph.in_edges(node, keys=True)):
            if kind in ("reads", "guards") and data["rule"] != "default":
                uses.setdefault(source, []).append((node, kind == "guards"))
    index = {node: number for number, (node, _) in enumerate(shown)}
    sources = sorted(uses, key=lambda s: (sum(index[n] for n, _ in uses[s]) / len(uses[s]), s))
    drawn = sources[:_MAX_SOURCES]
    left = [_source(graph, colours, node, still) for node in drawn]
    middle = [
        (
            (*_rule_text(data["value"]), f"{data['file'].rpartition('/')[2]}:{data['line']}"),
            _FILLS[colours[node].name],
        )
        for node, data in shown
    ]
    answer = colours.get(f"field:{name}")
    result = (f"= {_cut(value_text(answer.value))}",) if answer is not None else ()
    figure = Figure(_COLUMNS[2] + _WIDTHS[2] + 2, 0, _caption(len(shown), hidden, len(sources)))
    boxes_left = _column(0, left)
    boxes_middle = _column(1, middle)
    boxes_right = _column(2, [((_cut(name), *result), _KINDS["field"])], strong=True)
    height = max(_bottom(column) for column in (boxes_left, boxes_middle, boxes_right))
    placed = [_centred(column, height) for column in (boxes_left, boxes_middle, boxes_right)]
    figure.height = height + 2
    figure.boxes = [box for column in placed for box in column]
    for position, source in enumerate(drawn):
        for node, guards in uses[source]:
            target = placed[1][index[node]]
            figure.lines.append(_line(placed[0][position], target, dashed=guards))
    for number, (node, _) in enumerate(shown):
        final = colours[node].name == "decided"
        figure.lines.append(_line(placed[1][number], placed[2][0], strong=final))
    return figure


def _caption(shown: int, hidden: int, sources: int) -> str:
    text = "Dashed: a condition reads it."
    if hidden:
        text += f" {count(hidden, 'rule')} of this field did not fire and {'is' if hidden == 1 else 'are'} not drawn."
    if sources > _MAX_SOURCES:
        text += f" {count(sources - _MAX_SOURCES, 'more source')} not drawn."
    return text


def _source(
    graph: RuleGraph, colours: Mapping[str, Colour], node: str, still: Collection[str]
) -> tuple[tuple[str, ...], str]:
    data = graph.nodes[node]
    found = colours.get(node)
    texts = [_cut(clean(data["label"]))]
    if data["kind"] == "field" and found is not None and data["label"] in still:
        texts.append(f"= {_cut(value_text(found.value))}")
    return tuple(texts), _KINDS.get(data["kind"], "#ffffff")


def _rule_text(value: str | None) -> tuple[str, ...]:
    return (_cut(clean(value or "…").replace("\n", " ")),)


def _cut(text: str) -> str:
    return text if len(text) <= _LIMIT else text[: _LIMIT - 1] + "…"


def _column(
    number: int, entries: Sequence[tuple[tuple[str, ...], str]], strong: bool = False
) -> list[Box]:
    boxes: list[Box] = []
    y = 1
    for texts, fill in entries:
        height = 10 + 15 * len(texts)
        stroke, line = ("#0b57d0", 2) if strong else ("#6b7480", 1)
        boxes.append(
            Box(
                _COLUMNS[number] + 1,
                y,
                _WIDTHS[number],
                height,
                fill,
                stroke,
                line,
                texts,
                " ".join(texts),
            )
        )
        y += height + _GAP
    return boxes


def _bottom(boxes: Sequence[Box]) -> int:
    return boxes[-1].y + boxes[-1].height if boxes else 0


def _centred(boxes: Sequence[Box], height: int) -> list[Box]:
    from dataclasses import replace

    shift = (height - _bottom(boxes)) // 2
    return [replace(box, y=box.y + shift) for box in boxes]


def _line(start: Box, end: Box, *, dashed: bool = False, strong: bool = False) -> Line:
    x1, y1 = start.x + start.width, start.y + start.height // 2
    x2, y2 = end.x, end.y + end.height // 2
    bend = (x2 - x1) // 2
    path = f"M{x1},{y1} C{x1 + bend},{y1} {x2 - bend},{y2} {x2},{y2}"
    return Line(path, "#1a7f45" if strong else "#9aa4b1", 2 if strong else 1.2, dashed)
