"""What a module decides, as its source writes it: rules with guards and spans, read with libcst.

The other reader of the same source (`translate`) makes code to run; this one is for people: `why`,
`graph`, `diff` and the conditions in `because`. It is off the warm path; libcst is imported only
when something has to be read that is not in the cache.
"""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sgcheck.errors import SourceError
from sgcheck.syntax.rule_model import (
    ClassInfo,
    Compare,
    FunctionInfo,
    Guard,
    ModuleRules,
    Problem,
    Read,
    Rule,
    RuleKind,
    Span,
    Statement,
    ValueCase,
)
from sgcheck.syntax.rule_text import Slice, SourceText, Unreadable, decode, outline, wanted

if TYPE_CHECKING:
    from sgcheck.syntax.rule_walk import Walk

__all__ = [
    "ClassInfo",
    "Compare",
    "FunctionInfo",
    "Guard",
    "ModuleRules",
    "Problem",
    "Read",
    "Rule",
    "RuleKind",
    "Span",
    "Statement",
    "ValueCase",
    "field_rules",
    "guards_at",
    "read_rules",
    "rules_of",
]

# Below this many bytes in all, starting processes costs more than it saves.
_WORTH_PROCESSES = 600_000
_WRITES = ("write", "declare", "default")


class ReadableTree(Protocol):
    """What `rules_of` needs of a source tree."""

    def read(self, path: str) -> bytes: ...


def read_rules(
    source: str | bytes, path: str, *, functions: Collection[str] | None = None
) -> ModuleRules:
    """The rules of one module.

    `path` is its name in the tree (`sglang/srt/server_args.py`). With `functions`, only the named
    ones (`handle_x`, `ServerArgs._handle_x`) are read besides the code outside of functions.
    Never raises for bad source: what could not be read is in `problems`.
    """
    try:
        text = SourceText(decode(source))
        plan = outline(text, path)
    except Unreadable as error:
        return ModuleRules(path, problems=(error.problem,))
    from sgcheck.syntax.rule_walk import Walk

    walk = Walk(text, path, dict(plan.imports))
    problems = list(plan.problems)
    slices = plan.slices if functions is None else wanted(plan.slices, functions)
    guards: dict[tuple[str, ...], tuple[Guard, ...]] = {}
    with _without_collector():
        for piece in slices:
            problem = _read_slice(piece, text, walk, guards)
            if problem is not None:
                problems.append(problem)
    return ModuleRules(
        path,
        tuple(walk.rules),
        tuple(walk.functions),
        tuple(walk.classes),
        tuple(walk.statements),
        plan.imports,
        tuple(sorted(problems, key=lambda p: p.line or 0)),
    )


@contextmanager
def _without_collector() -> Iterator[None]:
    """Syntax trees have no cycles, and are many: the collector takes a quarter of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read_slice(
    piece: Slice,
    text: SourceText,
    walk: Walk,
    guards: dict[tuple[str, ...], tuple[Guard, ...]],
) -> Problem | None:
    """Walks one slice; `guards` holds what holds so far at module level and in each class."""
    import libcst as cst

    from sgcheck.syntax.rule_spans import spans_of

    inner = text.lines(piece.first, piece.last)
    code = piece.before + inner + piece.after
    begin = text.starts[piece.first - 1] - len(piece.before)
    mark = walk.mark()
    try:
        module = cst.parse_module(code)
        spans, end = spans_of(module, begin)
        if end != begin + len(code):
            return Problem("reader", piece.first, "the text was not reproduced exactly", piece.last)
        statements: Iterable[cst.BaseStatement] = module.body
        if piece.classes:
            shell = module.body[0]
            assert isinstance(shell, cst.ClassDef)
            statements = shell.body.body  # type: ignore[assignment]
        level = guards.get(piece.classes, guards.get((), ()))
        name = ".".join(piece.classes)
        guards[piece.classes] = walk.body(list(statements), spans, name, level)
        if piece.end is not None:
            walk.end_of_class(*piece.end, piece.doc)
            guards[(piece.head_of or "",)] = level
    except RecursionError:
        walk.back_to(mark)
        return Problem("too-deep", piece.first, "nested too deeply to be walked", piece.last)
    except cst.ParserSyntaxError as error:
        line = piece.first + error.raw_line - 1 - bool(piece.before)
        return Problem("syntax", line, f"not known to the reader: {error.message}", piece.last)
    return None


def guards_at(module: ModuleRules, line: int, column: int | None = None) -> tuple[Guard, ...]:
    """The guards of the statement at a line, outermost first; () where there is no statement.

    The innermost statement counts: on the line of `if x: y = 1`, that is `y = 1`. With `column`,
    the innermost that covers it.
    """
    best: Statement | None = None
    for statement in module.statements:
        span = statement.span
        if not span.line <= line <= span.end_line:
            continue
        if column is not None and not (
            (span.line, span.column) <= (line, column) < (span.end_line, span.end_column)
        ):
            continue
        if best is None or _size(span) < _size(best.span):
            best = statement
    return best.guards if best is not None else ()


def _size(span: Span) -> tuple[int, int]:
    return span.end_line - span.line, span.end_column - span.column


def field_rules(modules: Mapping[str, ModuleRules], field: str) -> list[Rule]:
    """Every place that could give `field` a value, in order of file and line.

    A keyword argument counts only where its callee takes it into a `**` parameter (as
    `declare_resolution(args, source, **fields)` does) or is no function of these modules that
    could be looked at (`update`, `dict`, `replace`).
    """
    signatures: dict[str, list[FunctionInfo]] = {}
    for module in modules.values():
        for function in module.functions:
            signatures.setdefault(function.qualname.rpartition(".")[2], []).append(function)
    found = [
        rule
        for module in modules.values()
        for rule in module.rules
        if rule.target == field and rule.kind in _WRITES and _collects(rule, signatures)
    ]
    return sorted(found, key=lambda r: (r.file, r.line, r.column))


def _collects(rule: Rule, signatures: Mapping[str, list[FunctionInfo]]) -> bool:
    if rule.form != "keyword":
        return True
    known = signatures.get(rule.receiver.rpartition(".")[2])
    if not known:
        return True
    return any(
        rule.target not in function.parameters and function.parameters[-1:][0].startswith("**")
        for function in known
        if function.parameters
    )


def rules_of(
    tree: ReadableTree,
    paths: Iterable[str],
    *,
    jobs: int | None = None,
    cache: Path | bool = True,
) -> dict[str, ModuleRules]:
    """The rules of several files, by path in the order given.

    `jobs` is the number of processes (None: by the amount of work; 1: none beside this one).
    `cache` is True for sgcheck's own, a folder, or False for none. A file that the tree cannot
    give is a `ModuleRules` with the problem `unreadable`.
    """
    from sgcheck.syntax.rule_cache import RuleCache

    store = None
    if cache is not False:
        store = RuleCache(cache if isinstance(cache, Path) else None)
    found: dict[str, ModuleRules] = {}
    todo: dict[str, bytes] = {}
    order = list(dict.fromkeys(paths))
    for path in order:
        try:
            source = tree.read(path)
        except (SourceError, FileNotFoundError) as error:
            found[path] = ModuleRules(path, problems=(Problem("unreadable", None, str(error)),))
            continue
        kept = store.load(source, path) if store is not None else None
        if kept is not None:
            found[path] = kept
        else:
            todo[path] = source
    for path, module in _read_all(todo, jobs):
        found[path] = module
        if store is not None:
            store.store(todo[path], module)
    return {path: found[path] for path in order}


def _read_all(todo: Mapping[str, bytes], jobs: int | None) -> Iterator[tuple[str, ModuleRules]]:
    """Reads files in processes where that pays, else (or where they cannot be had) here."""
    from sgcheck.syntax.rule_pool import pooled

    total = sum(len(source) for source in todo.values())
    done: set[str] = set()
    if jobs != 1 and len(todo) > 1 and (jobs is not None or total >= _WORTH_PROCESSES):
        for path, module in pooled(todo, jobs):
            done.add(path)
            yield path, module
    for path, source in todo.items():
        if path not in done:
            yield path, read_rules(source, path)
