"""Templates in YAML (Helm, Jinja, placeholders) without rendering them.

Each `{{ … }}` becomes a hole of the same length, so that all places stay; lines of control actions become
blank. A condition around list items (`{{ if }}` … `- --flag`) is taken both ways, each as one variant of
the file, as long as there are few; other conditions are taken as true.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sgcheck.scan.text import FILL, Hole, Mapped, SourceFile, join

_MAX_CONDITIONS = 4
_MAX_OPEN = 200
_OPENERS = ("if", "with", "range", "define", "block", "for", "macro", "call")
_SILENT = [
    "if",
    "with",
    "range",
    "define",
    "block",
    "end",
    "else",
    "elif",
    "for",
    "endfor",
    "endif",
    "endwith",
    "macro",
    "endmacro",
    "set",
    "fail",
    "break",
    "continue",
]
_OPENING = re.compile(r"\{[{%]")
_REASON = "filled in by a template"


@dataclass(slots=True)
class _Action:
    """One `{{ … }}` or `{% … %}`: its offsets and what stands inside."""

    start: int
    end: int
    body: str

    @property
    def head(self) -> str:
        return self.body.split(None, 1)[0] if self.body.split() else ""

    @property
    def silent(self) -> bool:
        """Whether it prints nothing: control words, comments and assignments."""
        head = self.head
        assigns = head.startswith("$") and self.body[len(head) :].lstrip()[:2] in (":=", "= ")
        return not head or head in _SILENT or head.startswith("/*") or assigns


@dataclass(slots=True)
class _Block:
    """A block that is open while the lines are read."""

    kind: str
    condition: str
    negated: bool = False
    first: str | None = None  # the first line with text inside
    earlier: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Variant:
    """The text with templates masked, and the conditions taken for it."""

    text: str
    conditions: tuple[str, ...]


def has_template(text: str) -> bool:
    """Whether a text holds template actions."""
    return "{{" in text or "{%" in text


def variants(file: SourceFile) -> list[Variant]:
    """The readings of a templated file: one, or one per combination of its conditions on list items."""
    text = file.original
    actions = list(_actions(text))
    if not actions:
        return [Variant(text, ())]
    lines = _lines(text)
    conditions = _item_conditions(text, lines, actions)
    if len(conditions) > _MAX_CONDITIONS:
        return [Variant(_mask(file, lines, actions, {}, conditional=set(conditions)), ())]
    found: list[Variant] = []
    for values in itertools.product((True, False), repeat=len(conditions)):
        taken = dict(zip(conditions, values, strict=True))
        shown = tuple(c if v else f"not ({c})" for c, v in taken.items())
        found.append(Variant(_mask(file, lines, actions, taken, conditional=set()), shown))
    return found


def _actions(text: str) -> Iterator[_Action]:
    at = 0
    while True:
        opening = _OPENING.search(text, at)
        if opening is None:
            return
        start = opening.start()
        closing = "}}" if text[start + 1] == "{" else "%}"
        stop = text.find(closing, start + 2)
        if stop < 0:
            return
        while text.startswith("}}}", stop) and closing == "}}":
            stop += 1
        body = text[start + 2 : stop].strip().strip("-").strip()
        if start and text[start - 1] == "$":  # `${{ … }}` of a workflow
            start -= 1
        yield _Action(start, stop + 2, body)
        at = stop + 2


def _lines(text: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = 0
    while at <= len(text):
        stop = text.find("\n", at)
        if stop < 0:
            found.append((at, len(text)))
            break
        found.append((at, stop))
        at = stop + 1
    return found


@dataclass(slots=True)
class _Line:
    """One line with the actions that begin in it."""

    start: int
    end: int
    actions: list[_Action]
    bare: str  # its text without actions


def _grouped(text: str, lines: list[tuple[int, int]], actions: list[_Action]) -> list[_Line]:
    found: list[_Line] = []
    i = 0
    for start, end in lines:
        mine: list[_Action] = []
        at = start
        bare: list[str] = []
        while i < len(actions) and actions[i].start < end:
            mine.append(actions[i])
            bare.append(text[at : actions[i].start])
            at = min(actions[i].end, end)
            i += 1
        # A line inside a long action has only what comes after that action.
        if not mine and i and actions[i - 1].end > start:
            at = min(max(at, actions[i - 1].end), end)
        bare.append(text[at:end])
        found.append(_Line(start, end, mine, "".join(bare).strip()))
    return found


def _item_conditions(text: str, lines: list[tuple[int, int]], actions: list[_Action]) -> list[str]:
    """The conditions whose block begins with a list item that has text of its own, or with a flag."""
    found: dict[str, None] = {}
    open_blocks: list[_Block] = []
    fresh = False
    for line in _grouped(text, lines, actions):
        if line.bare:
            item = line.bare.startswith("--") or (
                line.bare.startswith("- ") and bool(line.bare[2:].strip(" \"'"))
            )
            if fresh and item and open_blocks and open_blocks[-1].kind in ("if", "with"):
                block = open_blocks[-1]
                if not line.bare.startswith(("- name:", "- key:", "- apiVersion")):
                    found[block.condition] = None
            fresh = False
            continue
        for action in line.actions:
            if _follow(open_blocks, action):
                fresh = True
    return list(found)


def _follow(blocks: list[_Block], action: _Action) -> bool:
    """Open, turn or close a block; whether one was opened or turned."""
    head = action.head
    if head in _OPENERS:
        if len(blocks) >= _MAX_OPEN:
            raise RecursionError("blocks of a template")
        kind = "range" if head in ("range", "for") else head
        blocks.append(_Block(kind, " ".join(action.body.split()[1:])))
        return True
    if head in ("else", "elif") and blocks:
        block = blocks[-1]
        words = action.body.split()
        if len(words) > 2 and words[1] == "if":
            block.earlier.append(block.condition)
            block.condition = " ".join(words[2:])
            block.negated = False
        elif head == "elif":
            block.earlier.append(block.condition)
            block.condition = " ".join(words[1:])
            block.negated = False
        else:
            block.negated = True
        return True
    if head in ("end", "endif", "endfor", "endwith", "endmacro") and blocks:
        blocks.pop()
    return False


def _holds(blocks: list[_Block], taken: dict[str, bool]) -> bool:
    """Whether the lines inside the open blocks are there."""
    for block in blocks:
        if block.kind not in ("if", "with"):
            continue
        if any(taken.get(c, True) for c in block.earlier):
            return False
        if taken.get(block.condition, True) is block.negated:
            return False
    return True


def _mask(
    file: SourceFile,
    lines: list[tuple[int, int]],
    actions: list[_Action],
    taken: dict[str, bool],
    *,
    conditional: set[str],
) -> str:
    text = file.original
    out: list[str] = []
    blocks: list[_Block] = []
    item_indent = -1
    indent = 0
    covered = 0
    for line in _grouped(text, lines, actions):
        raw = text[line.start : line.end]
        if covered > line.start:  # inside an action that began on an earlier line
            raw = " " * (min(covered, line.end) - line.start) + raw[max(0, covered - line.start) :]
        if line.actions:
            covered = max(covered, line.actions[-1].end)
        if not line.bare and line.actions:
            for action in line.actions:
                _follow(blocks, action)
            loud = [a for a in line.actions if not a.silent]
            there = bool(loud) and _holds(blocks, taken)
            blank = _blank(raw, out[-1] if out else "", indent)
            out.append(_splice(file, raw, loud[0], item_indent, blank) if there else blank)
            continue
        if not _holds(blocks, taken):
            out.append(_blank(raw, out[-1] if out else "", indent))
            continue
        if line.bare:
            indent = len(raw) - len(raw.lstrip())
        for block in blocks:
            block.first = line.bare if block.first is None else block.first
        unsure = any(b.condition in conditional for b in blocks)
        looped = any(b.kind == "range" and _is_word(b.first or "") for b in blocks)
        out.append(_inline(file, raw, line, spliced=looped, unsure=unsure))
        stripped = raw.lstrip()
        if stripped.startswith("- "):
            item_indent = len(raw) - len(stripped)
        elif stripped.rstrip().endswith(("args:", "command:")):
            item_indent = len(raw) - len(stripped) + 2
        elif stripped and not stripped.startswith("#"):
            item_indent = item_indent if len(raw) - len(stripped) > item_indent else -1
        for action in line.actions:
            if action.silent:
                _follow(blocks, action)
    return "\n".join(_within_scalars(out))


_HEADER = re.compile(r"(?:^|[\s:-])[|>][-+0-9]{0,2}\s*$")


def _within_scalars(lines: list[str]) -> list[str]:
    """The lines, with those that were masked at the beginning of a block scalar not wider than its text.

    YAML takes the indentation of such a text from its widest line, even of blanks alone. What is too much
    goes to the end of the line before the text, so that all places stay.
    """
    out = list(lines)
    for i, line in enumerate(lines):
        if _HEADER.search(line) is None:
            continue
        stop = next((j for j in range(i + 1, len(lines)) if lines[j].strip()), i)
        indent = len(lines[stop]) - len(lines[stop].lstrip())
        for j in range(i + 1, stop):
            blanks = lines[j].rstrip("\r")
            if len(blanks) > indent:
                out[i] = _wider(out[i], len(blanks) - indent)
                out[j] = lines[j][len(blanks) - indent :]
    return out


def _wider(line: str, count: int) -> str:
    end = "\r" if line.endswith("\r") else ""
    return line.removesuffix("\r") + " " * count + end


def _is_word(bare: str) -> bool:
    """Whether a line without its actions is a list item that is one word, no mapping; or a script's words."""
    if bare == "\\":
        return True
    return (bare == "-" or bare.startswith("- ")) and ":" not in bare


def _blank(raw: str, before: str, indent: int) -> str:
    """A line of nothing. Where the line before goes on (a command of a script) so does this one.

    `indent` is that of the last line with text: what is in a block of YAML has no less.
    """
    size = len(raw.rstrip("\r"))
    end = "\r" if raw.endswith("\r") else ""
    if before.rstrip("\r").endswith("\\") and indent < size:
        return " " * (size - 1) + "\\" + end
    return " " * size + end


def _splice(file: SourceFile, raw: str, action: _Action, item_indent: int, blank: str) -> str:
    """A line that prints a block: one unknown list item of any length when a list is open."""
    words = action.body.replace("|", " ").split()
    indent = len(raw) - len(raw.lstrip())
    for name in ("nindent", "indent"):
        if name in words[:-1] and words[words.index(name) + 1].isdigit():
            indent = int(words[words.index(name) + 1])
    if item_indent < 0 or indent != item_indent or len(raw) < indent + 3:
        return blank
    char = file.hole(Hole(raw.strip(), _REASON, spliced=True))
    rest = len(raw.rstrip("\r")) - indent - 3
    return " " * indent + "- " + char + FILL * rest


def _inline(file: SourceFile, raw: str, line: _Line, *, spliced: bool, unsure: bool) -> str:
    out = raw
    if unsure and raw.lstrip().startswith("- "):
        indent = len(raw) - len(raw.lstrip())
        char = file.hole(Hole(raw.strip(), "under a condition of a template", spliced=True))
        return " " * indent + "- " + char + FILL * (len(raw.rstrip("\r")) - indent - 3)
    for begin, end, optional in _stretches(line.actions):
        start = begin - line.start
        stop = min(end, line.end) - line.start
        char = file.hole(Hole(raw[start:stop], _REASON, spliced=spliced or optional))
        comma = optional and raw[start:stop].rpartition("{{")[0].rstrip().endswith(",")
        tail = (
            ", " if comma else FILL * 2
        )  # `{{ range … }}{{ . }}, {{ end }}` ends an item of a list
        out = out[:start] + (char + FILL * (stop - start - 3) + tail)[: stop - start] + out[stop:]
    return out


def _stretches(actions: list[_Action]) -> Iterator[tuple[int, int, bool]]:
    """The unknown stretches of a line: actions, and blocks that end in it, which may print nothing."""
    i = 0
    while i < len(actions):
        last, turns = _block_end(actions, i)
        yield actions[i].start, actions[last].end, last > i and not turns
        i = last + 1


def _block_end(actions: list[_Action], i: int) -> tuple[int, bool]:
    """The action that closes the block opened by action `i` (itself if none), and whether it has an `else`."""
    depth = 0
    turns = False
    if actions[i].head not in _OPENERS:
        return i, False
    for j, action in enumerate(actions[i:], i):
        if action.head in _OPENERS:
            depth += 1
        elif action.head in ("else", "elif"):
            turns = turns or depth == 1
        elif action.head in ("end", "endif", "endfor", "endwith", "endmacro"):
            depth -= 1
            if not depth:
                return j, turns
    return i, False


def mask_actions(file: SourceFile) -> str:
    """The file's text with each action as one hole of the same length; control actions become blank."""
    text = file.original
    pieces: list[str] = []
    at = 0
    for action in _actions(text):
        pieces.append(text[at : action.start])
        raw = text[action.start : action.end]
        if action.silent:
            pieces.append("".join(c if c == "\n" else " " for c in raw))
        else:
            char = file.hole(Hole(raw, _REASON))
            pieces.append(char + "".join(c if c == "\n" else FILL for c in raw[1:]))
        at = action.end
    pieces.append(text[at:])
    return "".join(pieces)


def mask_placeholders(file: SourceFile, text: Mapped) -> Mapped:
    """A text in which each `{{NAME}}` is one hole."""
    raw = text.text
    if "{{" not in raw:
        return text
    pieces: list[Mapped] = []
    at = 0
    for action in _actions(raw):
        pieces.append(text[at : action.start])
        start, end = text[action.start : action.end].extent() or (0, 0)
        char = file.hole(Hole(raw[action.start : action.end], "a placeholder"))
        pieces.append(Mapped.standing_for(char, start, end))
        at = action.end
    pieces.append(text[at:])
    return join(pieces)
