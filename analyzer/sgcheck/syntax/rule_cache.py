"""Read rules kept on disk, under a name that is a hash of everything they follow from.

The entry is msgpack. Guards and reads are stored once and referred to by number, as many rules
share them. An entry that cannot be read or written counts as absent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from sgcheck.source.cache import cache_dir
from sgcheck.source.kept import keep, kept
from sgcheck.syntax.rule_model import (
    ClassInfo,
    Compare,
    FunctionInfo,
    Guard,
    ModuleRules,
    Problem,
    Read,
    Rule,
    Span,
    Statement,
    ValueCase,
)

_Numbers = tuple[int, ...]


class _Row(msgspec.Struct, array_like=True, frozen=True):
    """Base of the stored rows: arrays instead of maps."""


class _Guard(_Row, frozen=True):
    text: str
    polarity: bool
    kind: str
    span: _Numbers
    reads: _Numbers
    compares: tuple[tuple[str, str, tuple[str, ...], int], ...]


class _Case(_Row, frozen=True):
    value: str
    guards: _Numbers
    span: _Numbers
    reads: _Numbers


class _Rule(_Row, frozen=True):
    kind: str
    function: str
    class_name: str
    span: _Numbers
    target: str | None
    form: str
    receiver: str
    value: str | None
    guards: int
    cases: tuple[_Case, ...]
    reads: _Numbers


class _Module(_Row, frozen=True):
    texts: tuple[tuple[str, str, int], ...]
    guards: tuple[_Guard, ...]
    chains: tuple[_Numbers, ...]
    rules: tuple[_Rule, ...]
    functions: tuple[
        tuple[str, str, _Numbers, tuple[str, ...], tuple[str, ...], str | None, int], ...
    ]
    classes: tuple[tuple[str, _Numbers, tuple[str, ...], tuple[str, ...], str | None], ...]
    statements: tuple[tuple[_Numbers, str, int], ...]
    imports: tuple[tuple[str, str], ...]
    problems: tuple[tuple[str, int | None, str, int | None], ...]


class _Table:
    """Numbers things in the order in which they are first seen."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}

    def number(self, thing: Hashable) -> int:
        return self.numbers.setdefault(thing, len(self.numbers))


def pack(module: ModuleRules) -> bytes:
    """One module as msgpack (without its path)."""
    reads, guards, chains = _Table(), _Table(), _Table()

    def chain(of: Sequence[Guard]) -> _Numbers:
        return tuple(guards.number(guard) for guard in of)

    def read(of: Sequence[Read]) -> _Numbers:
        return tuple(reads.number((r.kind, r.name, r.line)) for r in of)

    rules = tuple(
        _Rule(
            rule.kind,
            rule.function,
            rule.class_name,
            _flat(rule.span),
            rule.target,
            rule.form,
            rule.receiver,
            rule.value,
            chains.number(chain(rule.guards)),
            tuple(
                _Case(c.value, chain(c.guards), _flat(c.span), read(c.reads)) for c in rule.cases
            ),
            read(rule.reads),
        )
        for rule in module.rules
    )
    functions = tuple(
        (
            *(f.qualname, f.class_name, _flat(f.span), f.decorators, f.parameters, f.doc),
            chains.number(chain(f.guards)),
        )
        for f in module.functions
    )
    statements = tuple(
        (_flat(s.span), s.function, chains.number(chain(s.guards))) for s in module.statements
    )
    rows = tuple(
        _Guard(
            g.text,
            g.polarity,
            g.kind,
            _flat(g.span),
            read(g.reads),
            tuple((c.name, c.op, c.values, c.line) for c in g.compares),
        )
        for g in guards.numbers
        if isinstance(g, Guard)
    )
    packed = _Module(
        tuple(reads.numbers),  # type: ignore[arg-type]
        rows,
        tuple(chains.numbers),  # type: ignore[arg-type]
        rules,
        functions,
        tuple((c.qualname, _flat(c.span), c.bases, c.decorators, c.doc) for c in module.classes),
        statements,
        module.imports,
        tuple((p.code, p.line, p.detail, p.end_line) for p in module.problems),
    )
    return msgspec.msgpack.encode(packed)


def unpack(content: bytes | memoryview, path: str) -> ModuleRules:
    """The module that `pack` packed. Raises `ValueError` (msgspec's too) for anything else."""
    packed = msgspec.msgpack.decode(content, type=_Module)
    try:
        return _rebuild(packed, path)
    except (IndexError, TypeError) as error:
        raise ValueError(f"not a rule cache entry: {error}") from None


def _rebuild(packed: _Module, path: str) -> ModuleRules:
    reads = [Read(kind, name, line) for kind, name, line in packed.texts]  # type: ignore[arg-type]
    guards = [
        Guard(
            g.text,
            g.polarity,
            g.kind,  # type: ignore[arg-type]
            Span(*g.span),
            tuple(reads[n] for n in g.reads),
            tuple(Compare(*c) for c in g.compares),
        )
        for g in packed.guards
    ]
    chains = [tuple(guards[n] for n in numbers) for numbers in packed.chains]
    rules = tuple(
        Rule(
            r.kind,  # type: ignore[arg-type]
            path,
            r.function,
            r.class_name,
            Span(*r.span),
            r.target,
            r.form,
            r.receiver,
            r.value,
            chains[r.guards],
            tuple(
                ValueCase(
                    c.value,
                    tuple(guards[n] for n in c.guards),
                    Span(*c.span),
                    tuple(reads[n] for n in c.reads),
                )
                for c in r.cases
            ),
            tuple(reads[n] for n in r.reads),
        )
        for r in packed.rules
    )
    return ModuleRules(
        path,
        rules,
        tuple(
            FunctionInfo(name, owner, Span(*span), decorators, parameters, doc, chains[number])
            for name, owner, span, decorators, parameters, doc, number in packed.functions
        ),
        tuple(
            ClassInfo(name, Span(*span), bases, decorators, doc)
            for name, span, bases, decorators, doc in packed.classes
        ),
        tuple(
            Statement(Span(*span), function, chains[number])
            for span, function, number in packed.statements
        ),
        packed.imports,
        tuple(Problem(*p) for p in packed.problems),  # type: ignore[arg-type]
    )


def _flat(span: Span) -> _Numbers:
    return span.line, span.column, span.end_line, span.end_column


@cache
def _reader_version() -> str:
    """Changes whenever the reader's own code or libcst does."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for file in sorted([here / "rules.py", *here.glob("rule_*.py")]):
        digest.update(file.read_bytes())
    try:
        digest.update(version("libcst").encode())
    except PackageNotFoundError:  # a copy without metadata
        digest.update(b"?")
    return digest.hexdigest()


class RuleCache:
    """A folder of entries; `folder` None means sgcheck's own cache."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder if folder is not None else cache_dir() / "rules"

    def entry(self, source: bytes, path: str) -> Path:
        """Where the rules of `source` are kept (`path` matters: relative imports follow from it)."""
        digest = hashlib.sha256(_reader_version().encode())
        digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
        digest.update(source)
        name = digest.hexdigest()
        return self._folder / name[:2] / f"{name[2:]}.rules"

    def load(self, source: bytes, path: str) -> ModuleRules | None:
        try:
            return unpack(kept(self.entry(source, path)) or b"", path)
        except ValueError:
            return None

    def store(self, source: bytes, module: ModuleRules) -> None:
        place = self.entry(source, module.path)
        keep(place, pack(module))
