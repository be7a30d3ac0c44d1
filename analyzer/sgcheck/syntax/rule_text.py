"""Source text for the rule reader: decoding, positions, slices, one-line texts. No libcst here."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from sgcheck.syntax.parsing import parse_quietly
from sgcheck.syntax.rule_model import Problem, Span

# libcst's native parser overflows the stack (and ends the process) at some thousand levels, in a
# thread with a small stack at some hundred. Real code stays below 60.
MAX_DEPTH = 200
TEXT_LIMIT = 4000

_LEADING_FORM_FEED = re.compile(r"^[ \t\f]*\f", re.MULTILINE)
_BREAKS = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER)
_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Unreadable(Exception):
    """The source cannot be read at all; carries the `Problem`."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def decode(source: str | bytes) -> str:
    """The text of a module with plain newlines. Raises `Unreadable` for undecodable bytes."""
    if isinstance(source, bytes):
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
            text = source.decode(encoding)
        except UnicodeDecodeError as error:
            line = source.count(b"\n", 0, error.start) + 1
            raise Unreadable(Problem("encoding", line, f"bytes are not {error.encoding}")) from None
        except (SyntaxError, LookupError) as error:
            raise Unreadable(Problem("encoding", 1, str(error))) from None
    else:
        text = source
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


@dataclass
class SourceText:
    """A module's text with positions. Offsets are characters from 0."""

    text: str
    starts: list[int] = field(init=False)
    _dropped: dict[int, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if "\f" in self.text:
            # Python ignores a form feed at the start of a line; libcst loses it. It is taken
            # out here and the columns of those lines are put right in `position`.
            for match in _LEADING_FORM_FEED.finditer(self.text):
                self._dropped[self.text.count("\n", 0, match.start()) + 1] = len(match.group())
            self.text = _LEADING_FORM_FEED.sub("", self.text)
        self.starts = [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))][:-1]

    def position(self, offset: int) -> tuple[int, int]:
        """(line, column) of an offset, both from 1."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1 + self._dropped.get(line, 0)

    def span(self, start: int, end: int) -> Span:
        return Span(*self.position(start), *self.position(end))

    def lines(self, first: int, last: int) -> str:
        """The text of lines `first` to `last` (from 1, inclusive), with a newline at the end."""
        end = self.starts[last] if last < len(self.starts) else len(self.text)
        text = self.text[self.starts[first - 1] : end]
        return text if text.endswith("\n") else text + "\n"

    def one_line(self, start: int, end: int) -> str:
        """The text of an expression on one line, comments taken out, cut at `TEXT_LIMIT`."""
        text = self.text[start:end]
        if "\n" in text:
            text = fold(text)
        return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…"


def fold(text: str) -> str:
    """Joins the lines of an expression; line breaks inside string literals stay."""
    wrapped = f"({text}\n)"
    starts = [0, *accumulate(len(line) + 1 for line in wrapped.split("\n"))]
    folded = ""
    previous = 1
    broken = False
    try:
        for token in tokenize.generate_tokens(io.StringIO(wrapped).readline):
            if token.type in _BREAKS:
                broken = True
                continue
            start = starts[token.start[0] - 1] + token.start[1]
            end = starts[token.end[0] - 1] + token.end[1]
            if start == 0 or end == len(wrapped):
                continue
            gap = wrapped[previous:start]
            if broken or "\n" in gap:
                tight = not folded or folded[-1] in "([{" or wrapped[start] in ")]}"
                gap = "" if tight else " "
                if wrapped[start] in "]}":
                    folded = folded.removesuffix(",")
            folded += gap + wrapped[start:end]
            previous, broken = end, False
    except (tokenize.TokenError, SyntaxError):
        return " ".join(text.split())
    return folded


@dataclass(frozen=True, slots=True)
class Slice:
    """Whole lines that are parsed on their own.

    `classes` is the class in whose body they stand. `head_of` is set for the head of a class
    (decorators and `class …:`): its members are slices of their own and `end` is where it ends and `doc` its docstring.
    """

    first: int
    last: int
    classes: tuple[str, ...] = ()
    function: str | None = None
    head_of: str | None = None
    end: tuple[int, int] | None = None
    doc: str | None = None

    @property
    def before(self) -> str:
        return "class _:\n" if self.classes else ""

    @property
    def after(self) -> str:
        return "    pass\n" if self.head_of else ""


@dataclass(frozen=True, slots=True)
class Outline:
    """What the standard library's parser says of a module: its slices and imports."""

    slices: tuple[Slice, ...]
    imports: tuple[tuple[str, str], ...]
    problems: tuple[Problem, ...]


def outline(source: SourceText, path: str) -> Outline:
    """Cuts a module into slices at function boundaries. Raises `Unreadable` for syntax errors."""
    try:
        tree = parse_quietly(source.text, path)
    except SyntaxError as error:
        raise Unreadable(Problem("syntax", error.lineno, error.msg)) from None
    except (RecursionError, MemoryError):
        raise Unreadable(Problem("too-deep", None, "nested too deeply to be parsed")) from None
    except (ValueError, OverflowError) as error:
        raise Unreadable(Problem("syntax", None, str(error))) from None
    problems: list[Problem] = []
    slices: list[Slice] = []
    imports: dict[str, str] = {}
    for piece, nodes in _cut(tree.body, (), source.text.split("\n")):
        line = _inspect(nodes, imports, _package(path))
        if line is None:
            slices.append(piece)
        else:
            detail = f"nested deeper than {MAX_DEPTH} levels"
            problems.append(Problem("too-deep", line, detail, piece.last))
    return Outline(tuple(slices), tuple(sorted(imports.items())), tuple(problems))


def _package(path: str) -> list[str]:
    return path.removesuffix(".py").split("/")[:-1]


def _inspect(nodes: Sequence[ast.AST], imports: dict[str, str], package: list[str]) -> int | None:
    """Collects imports; returns the first line of code that is nested too deeply, if any."""
    level = list(nodes)
    line = 0
    for _ in range(MAX_DEPTH):
        below: list[ast.AST] = []
        for node in level:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.split(".")[0]
                    imports.setdefault(name, alias.name if alias.asname else name)
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else []
                origin = ".".join([*base, *([node.module] if node.module else [])])
                for alias in node.names:
                    imports.setdefault(alias.asname or alias.name, f"{origin}.{alias.name}")
            below.extend(ast.iter_child_nodes(node))
        if not below:
            return None
        level = below
        line = next((n.lineno for n in level if isinstance(n, ast.stmt | ast.expr)), line)
    return line


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, _FunctionNode | ast.ClassDef) else []
    return min([node.lineno, *(d.lineno for d in decorators)])


def _runs(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Groups statements so that each group has its lines for itself; functions stand alone."""
    run: list[ast.stmt] = []
    for node in body:
        shares = bool(run) and _first_line(node) <= (run[-1].end_lineno or 0)
        alone = isinstance(node, _FunctionNode | ast.ClassDef) or (
            bool(run) and isinstance(run[-1], _FunctionNode | ast.ClassDef)
        )
        if run and alone and not shares:
            yield run
            run = []
        run.append(node)
    if run:
        yield run


def _cut(
    body: list[ast.stmt], classes: tuple[str, ...], lines: Sequence[str]
) -> Iterator[tuple[Slice, Sequence[ast.AST]]]:
    for run in _runs(body):
        first, last = _first_line(run[0]), run[-1].end_lineno or run[-1].lineno
        only = run[0] if len(run) == 1 else None
        if isinstance(only, ast.ClassDef) and not classes and _splittable(only):
            inside = _first_line(only.body[0])
            end = (last, len(lines[last - 1].encode()[: only.end_col_offset].decode()) + 1)
            head = [*only.decorator_list, *only.bases, *only.keywords]
            yield (
                Slice(
                    first,
                    inside - 1,
                    classes,
                    head_of=only.name,
                    end=end,
                    doc=ast.get_docstring(only),
                ),
                head,
            )
            yield from _cut(only.body, (only.name,), lines)
        elif isinstance(only, _FunctionNode):
            yield Slice(first, last, classes, function=".".join([*classes, only.name])), run
        else:
            yield Slice(first, last, classes), run


def _splittable(node: ast.ClassDef) -> bool:
    """Whether the head of a class ends on a line before its body."""
    parts = [*node.bases, *(keyword.value for keyword in node.keywords)]
    head = max([node.lineno, *(e.end_lineno or 0 for e in parts)])
    return _first_line(node.body[0]) > head


def wanted(slices: Collection[Slice], functions: Collection[str]) -> list[Slice]:
    """The slices to read for the functions asked for: theirs and all that are no function."""
    return [piece for piece in slices if piece.function is None or piece.function in functions]
