"""The record that a launch fills: its fields, their defaults and their command-line flags.

Fields are the annotated defaults of the record class, or, where the class is assembled when the
module is read, those of the classes that it is assembled from. Flags are a best effort: what
`add_argument` calls and the metadata in annotations say literally.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sgcheck.errors import NothingToAnalyse
from sgcheck.graph.code import Code, Definition
from sgcheck.source.tree import SERVER_ARGS
from sgcheck.syntax.rules import Rule

RECORD = "ServerArgs"
_METADATA = "Arg"


@dataclass(frozen=True, slots=True)
class Flag:
    """One command-line flag; `field` is None where none of the record's fields is its target."""

    name: str
    field: str | None
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Record:
    """The record class. `fields` maps a name to the rule that declares it."""

    file: str
    name: str
    fields: dict[str, Rule]
    properties: dict[str, tuple[str, str]]


def read_record(code: Code) -> Record:
    """Find the record and its fields. Raises NothingToAnalyse where the tree has none."""
    module = code.module(SERVER_ARGS)
    if RECORD not in module.classes:
        why = f" ({module.problems[0]})" if module.problems else ""
        raise NothingToAnalyse(
            f"{SERVER_ARGS} of SGLang {code.tree.version} defines no class {RECORD}{why}: "
            "there is no resolution to draw."
        )
    fields: dict[str, Rule] = {}
    for definition in [*reversed(_lineage(code)), *_parts(code)]:
        for rule in code.module(definition.path).rules.get("", ()):
            if _declares(rule, definition.name):
                fields.setdefault(str(rule.target), rule)
    properties = {
        name.rpartition(".")[2]: (SERVER_ARGS, name)
        for name, info in module.functions.items()
        if info.class_name == RECORD and any(_is_property(text) for text in info.decorators)
    }
    return Record(SERVER_ARGS, RECORD, fields, properties)


def _declares(rule: Rule, owner: str) -> bool:
    return rule.kind == "default" and rule.form == ":" and rule.class_name == owner


def _is_property(decorator: str) -> bool:
    return decorator.rpartition(".")[2] in ("property", "cached_property")


def _lineage(code: Code) -> list[Definition]:
    """The record class and its bases, the class first."""
    found = [Definition("class", SERVER_ARGS, RECORD)]
    for owner in found:
        for base in code.module(owner.path).classes[owner.name].bases:
            definition = code.lookup(owner.path, "", base)
            if definition is not None and definition.kind == "class" and definition not in found:
                found.append(definition)
    return found


def _parts(code: Code) -> list[Definition]:
    """The classes that a record assembled at module level is made of."""
    module = code.module(SERVER_ARGS)
    top = [rule for rule in module.rules.get("", ()) if not rule.class_name]
    if not any(rule.kind == "local" and rule.target == RECORD for rule in top):
        return []
    wanted, names = [RECORD], {RECORD}
    for name in wanted:
        for rule in top:
            if rule.target == name or (rule.kind == "write" and rule.receiver == name):
                for read in rule.reads:
                    part = read.name.partition(".")[0]
                    if read.kind in ("name", "call") and part not in names:
                        names.add(part)
                        wanted.append(part)
    paths = (code.file_behind(SERVER_ARGS, "", name) for name in wanted)
    code.prefetch(path for path in paths if path is not None)
    found = (code.lookup(SERVER_ARGS, "", name) for name in wanted)
    return [d for d in found if d is not None and d.kind == "class" and d.name != RECORD]


def read_flags(code: Code, record: Record, parser_rules: Iterable[Rule]) -> list[Flag]:
    """The flags: those of metadata first, then those of `add_argument` calls, in source order.

    `parser_rules` are the calls in the functions that build the parser.
    """
    found: dict[str, Flag] = {}
    for flag in [*_from_metadata(code, record), *_from_calls(record, parser_rules)]:
        found.setdefault(flag.name, flag)
    return list(found.values())


def _from_metadata(code: Code, record: Record) -> Iterator[Flag]:
    by_file: dict[str, list[tuple[str, Rule]]] = {}
    for name, rule in record.fields.items():
        by_file.setdefault(rule.file, []).append((name, rule))
    for file, rules in by_file.items():
        annotations = _annotations(code.tree.read(file))
        for name, rule in rules:
            metadata = _metadata(annotations.get((rule.class_name, name)))
            if metadata is None or metadata.get("no_cli") is True:
                continue
            own = metadata.get("cli_name")
            aliases = metadata.get("aliases")
            spelled = own if isinstance(own, str) else "--" + name.replace("_", "-")
            words = [spelled, *(aliases if isinstance(aliases, list) else [])]
            for word in _negated([w for w in words if isinstance(w, str)], metadata.get("action")):
                yield Flag(word, name, rule.file, rule.line)


def _negated(words: list[str], action: object) -> list[str]:
    """With argparse's `BooleanOptionalAction`, every `--flag` has a `--no-flag`."""
    if action != "BooleanOptionalAction":
        return words
    return [*words, *("--no-" + word[2:] for word in words if word.startswith("--"))]


def _annotations(source: bytes) -> dict[tuple[str, str], ast.expr]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {
        (node.name, item.target.id): item.annotation
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }


def _metadata(annotation: ast.expr | None) -> dict[str, object] | None:
    """What an `Annotated`-like subscript says of the flag; None where there is no metadata."""
    if not isinstance(annotation, ast.Subscript) or not isinstance(annotation.slice, ast.Tuple):
        return None
    for part in annotation.slice.elts[1:]:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            return {}
        if isinstance(part, ast.Call) and ast.unparse(part.func).rpartition(".")[2] == _METADATA:
            return _keywords(part)
    return None


def _keywords(call: ast.Call) -> dict[str, object]:
    """Literal keyword arguments, and the action by its name."""
    found = {word.arg: literal(word.value) for word in call.keywords if word.arg}
    for word in call.keywords:
        if word.arg == "action" and found["action"] is None:
            found["action"] = ast.unparse(word.value).rpartition(".")[2]
    return found


def _from_calls(record: Record, rules: Iterable[Rule]) -> Iterator[Flag]:
    for rule in rules:
        if rule.kind != "call" or not (rule.target or "").endswith(".add_argument"):
            continue
        call = parse_call(rule.value or "")
        if call is None:
            continue
        words = [w for w in map(literal, call.args) if isinstance(w, str) and w.startswith("-")]
        given = _keywords(call)
        long = [word for word in words if word.startswith("--")]
        dest = given.get("dest") or (long[0][2:].replace("-", "_") if long else None)
        field = dest if isinstance(dest, str) and dest in record.fields else None
        for word in _negated(words, given.get("action")):
            yield Flag(word, field, rule.file, rule.line)


def parse_call(arguments: str) -> ast.Call | None:
    """The text of a call's arguments as syntax; None if Python does not take it."""
    try:
        expression = ast.parse(f"_({arguments}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return expression if isinstance(expression, ast.Call) else None


def literal(node: ast.expr) -> object:
    """The value of a literal; None for everything else."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
