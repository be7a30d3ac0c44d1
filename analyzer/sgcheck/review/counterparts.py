"""What became of a line in the other tree: the rule there that decides the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sgcheck.errors import SourceError
from sgcheck.review.causes import Causes
from sgcheck.review.model import Counterpart, Entry, Site, field_name
from sgcheck.review.outline import Line
from sgcheck.source import SERVER_ARGS, Tree

_FOLDER = "sglang/srt/arg_groups"
_RECEIVER = re.compile(r"\b(?:self|cfg|view|args|server_args|get_platform\(\)|envs)\.")
_CALL = re.compile(r"\(\)|_supported\b")
_KINDS = ("write", "declared")
_INVERSE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


@dataclass(frozen=True, slots=True)
class Writing:
    """One place that gives a field a value, with the conditions as written."""

    file: str
    line: int
    function: str
    value: str
    conditions: tuple[str, ...]
    text: str


def counterparts(entries: Iterable[Entry], causes: Causes) -> list[Entry]:
    """The entries with what became of their lines, for values that rules write."""
    files: tuple[list[str] | None, list[str] | None] = (None, None)
    out = []
    for entry in entries:
        change = entry.change
        if change.category not in ("backend", "value") or change.subject.startswith("env "):
            out.append(entry)
            continue
        if files[0] is None or files[1] is None:
            files = (_files(causes.old.tree), _files(causes.new.tree))
        name = field_name(change)
        old_now = _other(name, change.old_sites, causes, 0, files)
        new_before = _other(name, change.new_sites, causes, 1, files)
        out.append(replace(entry, old_now=old_now, new_before=new_before))
    return out


def _other(
    field: str,
    sites: tuple[Site, ...],
    causes: Causes,
    side: int,
    files: tuple[list[str] | None, list[str] | None],
) -> Counterpart | None:
    """The rule of the other tree that writes the same value, the likest conditions first."""
    for site in reversed(sites):
        mine = _writing(site, field, causes, side)
        if mine is not None:
            break
    else:
        return None
    other = 1 - side
    all_files = dict.fromkeys([*(files[other] or []), mine.file])
    found = [w for w in writings(causes, other, all_files, field) if w.value == mine.value]
    if not found:
        return None
    atoms = atoms_of(mine.conditions)
    best = max(found, key=lambda w: (_likeness(atoms, atoms_of(w.conditions)), -w.line))
    theirs = atoms_of(best.conditions)
    if atoms and theirs and atoms.keys().isdisjoint(theirs):
        return None  # another rule that happens to write the same value
    tree = (causes.old, causes.new)[other].tree
    return Counterpart(
        Site(
            "rule",
            best.file,
            best.line,
            best.function,
            best.conditions,
            tree.permalink(best.file, best.line),
            best.text,
        ),
        tuple(text for key, text in theirs.items() if key not in atoms),
        tuple(text for key, text in atoms.items() if key not in theirs),
    )


def _writing(site: Site, field: str, causes: Causes, side: int) -> Writing | None:
    """The rule that stands at a site, if it writes the field."""
    if site.kind not in _KINDS or site.file is None or site.line is None:
        return None
    find = causes.outlines[side].find
    here = find(site.file, site.line)
    for each in writings(causes, side, [site.file], field):
        if here is not None and find(each.file, each.line) == here:
            return each
    return None


def _likeness(left: dict[str, str], right: dict[str, str]) -> float:
    union = left.keys() | right.keys()
    return len(left.keys() & right.keys()) / len(union) if union else 1.0


def writings(causes: Causes, side: int, files: Iterable[str], field: str) -> Iterator[Writing]:
    """The places in some files that write a field."""
    for file in files:
        outline = causes.outlines[side].of(file)
        for function in outline.functions.values():
            if "." not in function.name and function.name[:1].isupper():
                continue  # a class body declares, it does not decide
            for line in function.lines:
                if field not in line.writes:
                    continue
                value = _value(line, field)
                if value is not None:
                    guards = _guards(function.lines, line)
                    text = f"{field} = {value}"
                    at = _line_of(outline.source, line, field)
                    yield Writing(file, at, function.name, value, guards, text)


def _line_of(source: list[str], line: Line, field: str) -> int:
    for number in range(line.start, min(line.end, len(source)) + 1):
        if field in source[number - 1]:
            return number
    return line.start


def _guards(lines: list[Line], line: Line) -> tuple[str, ...]:
    """The conditions of a line: heads around it hold, earlier heads under which it leaves do not."""
    out = []
    for index in line.guards:
        head = lines[index]
        if not head.text.startswith("if "):
            continue
        test = head.text[3:]
        around = head.depth < line.depth and _inside(lines, index, line)
        out.append(test if around else _negated(test))
    return tuple(out)


def _inside(lines: list[Line], head: int, line: Line) -> bool:
    """Whether a line stands in the first branch of an `if`."""
    depth = lines[head].depth
    at = lines.index(line)
    return all(between.depth > depth for between in lines[head + 1 : at + 1])


def _negated(test: str) -> str:
    if test.startswith("not ") and not re.search(r"\b(?:and|or)\b", test):
        return test[4:]
    if test.startswith("not (") and test.endswith(")") and test.count("(") == 1:
        return test[5:-1]
    return f"not ({test})"


def _value(line: Line, field: str) -> str | None:
    """What a statement gives a field: an assignment, a keyword, the key of a dictionary."""
    try:
        tree = ast.parse(line.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    named = isinstance(target, ast.Attribute) and target.attr == field
                    if named or _is_key(target, field):
                        return canonical(ast.unparse(value))
            case ast.Call(keywords=keywords):
                for keyword in keywords:
                    if keyword.arg == field:
                        return canonical(ast.unparse(keyword.value))
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == field:
                        return canonical(ast.unparse(value))
    return None


def _is_key(target: ast.expr, field: str) -> bool:
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == field
    )


def canonical(text: str) -> str:
    """An expression without the name of the object whose fields it reads."""
    return _CALL.sub("", _RECEIVER.sub("", text))


def atoms_of(conditions: Iterable[str]) -> dict[str, str]:
    """The parts of conditions that are joined by `and`: canonical form -> as written."""
    found: dict[str, str] = {}
    for condition in conditions:
        try:
            node = ast.parse(condition, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            found[canonical(condition)] = condition
            continue
        for part in _conjuncts(node, True):
            found.setdefault(canonical(part), part)
    return found


def _conjuncts(node: ast.expr, holds: bool) -> Iterator[str]:
    """The parts of which all hold, negations moved inwards as far as that leaves a conjunction."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from _conjuncts(node.operand, not holds)
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And if holds else ast.Or):
        for part in node.values:
            yield from _conjuncts(part, holds)
    elif not holds and isinstance(node, ast.Compare) and type(node.ops[0]) in _INVERSE:
        if len(node.ops) == 1:
            inverse = ast.Compare(node.left, [_INVERSE[type(node.ops[0])]()], node.comparators)
            yield ast.unparse(inverse)
        else:
            yield f"not ({ast.unparse(node)})"
    else:
        text = ast.unparse(node)
        yield text if holds else f"not ({text})"


def _files(tree: Tree) -> list[str]:
    """Where resolution is written: the record's file and the folder beside it."""
    found = [SERVER_ARGS]
    todo = [_FOLDER]
    while todo:
        folder = todo.pop()
        try:
            names = tree.listdir(folder)
        except (FileNotFoundError, SourceError):
            continue
        for name in names:
            path = f"{folder}/{name}"
            if name.endswith(".py"):
                found.append(path)
            elif "." not in name and not name.startswith("_"):
                todo.append(path)
    return found
