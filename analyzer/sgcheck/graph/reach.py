"""Which functions belong to the resolution, and by which names they know the record.

From the functions that a launcher runs (parse, resolve, check), calls are followed through the
whole tree. A function also belongs to it when it is handed on (`run_step(handle_x, record)`), or
registered by a decorator of a module that works on the record. What is handed the record, or a
view of it (an object of a class that passes attribute reads on), knows it by the parameter's name.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sgcheck.graph.code import Code, Definition, Place
from sgcheck.graph.record import Record, parse_call
from sgcheck.syntax.rules import FunctionInfo, Rule

CallKind: TypeAlias = Literal["call", "handed", "registered", "property", "method"]

ENTRIES = ("prepare_server_args", "{0}.__post_init__", "{0}.resolve_once", "{0}.check_server_args")
"""What a launcher runs, in its order; names that the tree lacks are left out."""

_CONSTRUCTION = ("__new__", "__init__", "__post_init__")
_HANDED_CLASS = ("__call__",)


@dataclass(frozen=True, slots=True)
class CallSite:
    """One place from which a function is reached. `arguments` maps parameters to expressions."""

    caller: Place
    callee: Place
    rule: Rule | None
    kind: CallKind
    arguments: tuple[tuple[str, ast.expr], ...] = ()


@dataclass(slots=True)
class Reached:
    """A function of the resolution. `record` are the names by which it knows the record."""

    place: Place
    info: FunctionInfo
    given: set[str] = field(default_factory=set)
    record: set[str] = field(default_factory=set)
    calls: list[CallSite] = field(default_factory=list)


class Reach:
    """The functions that the resolution can run. `entries` are the first ones."""

    def __init__(self, code: Code, record: Record) -> None:
        self.code = code
        self.record = record
        self.functions: dict[Place, Reached] = {}
        self.entries: list[Place] = []
        self._queue: deque[Place] = deque()
        self._queued: set[Place] = set()
        self._views: dict[Place, bool] = {}
        self._methods: dict[tuple[Place, int], tuple[Rule, str]] = {}
        self._attributes: dict[tuple[Place, str, int], frozenset[str]] = {}
        self.extra: dict[Place, list[CallSite]] = {}
        self.registries: dict[Place, frozenset[Place]] = {}
        self._by_name: set[Place] = set()

    def run(self) -> Reach:
        """Follow everything."""
        from sgcheck.graph.registration import register

        for name in ENTRIES:
            place = (self.record.file, name.format(self.record.name))
            if place[1] in self.code.module(place[0]).functions:
                self.entries.append(place)
                self.add(place, ())
        self._drain()
        while self._follow_methods() or register(self) or self._taint_by_name():
            self._drain()
        return self

    def sites(self, place: Place) -> list[CallSite]:
        """What a function reaches, registered functions after the others."""
        return [*self.functions[place].calls, *self.extra.get(place, ())]

    def add(self, place: Place, given: Iterable[str], *, by_name: bool = False) -> None:
        """A function is reached; the parameters `given` hold the record."""
        info = self.code.module(place[0]).functions.get(place[1])
        if info is None:
            return
        if by_name:
            self._by_name.add(place)
        known = self.functions.get(place)
        fresh = set(given)
        if known is None:
            known = self.functions[place] = Reached(place, info)
            if self._is_method_of_record(info):
                fresh.update(info.parameters[:1])
        elif fresh <= known.given:
            return
        known.given |= fresh
        if place not in self._queued:
            self._queued.add(place)
            self._queue.append(place)

    def _is_method_of_record(self, info: FunctionInfo) -> bool:
        return (
            info.class_name == self.record.name
            and ".<locals>." not in info.qualname
            and not any("staticmethod" in text for text in info.decorators)
            and info.parameters[:1] == ("self",)
        )

    # -- following -----------------------------------------------------------------

    def _drain(self) -> None:
        while self._queue:
            wave = [self._queue.popleft() for _ in range(len(self._queue))]
            self._queued.difference_update(wave)
            self.code.prefetch(self._wanted(wave))
            for place in wave:
                self._visit(self.functions[place])

    def _wanted(self, wave: Iterable[Place]) -> Iterator[str]:
        """The files that the functions of a wave name, to be read at once."""
        for path, function in wave:
            for rule in self.code.rules_in((path, function)):
                names = [read.name for read in rule.reads if read.kind in ("name", "call")]
                if rule.kind == "call" and rule.target:
                    names.append(rule.target)
                for name in names:
                    file = self.code.file_behind(path, function, name)
                    if file is not None:
                        yield file

    def _visit(self, reached: Reached) -> None:
        reached.record = self._record_names(reached)
        reached.calls = list(self._calls(reached))
        for site in reached.calls:
            given = {name for name, value in site.arguments if self.is_record(value, reached)}
            self.add(site.callee, given, by_name=site.kind == "handed")

    def _record_names(self, reached: Reached) -> set[str]:
        """Parameters, names of the functions around and locals that hold the record or a view."""
        path, function = reached.place
        names = set(reached.given)
        outer = self.functions.get((path, function.rpartition(".<locals>.")[0]))
        if outer is not None:
            own = {parameter.lstrip("*") for parameter in reached.info.parameters}
            names |= outer.record - own
        reached.record = names
        for rule in self.code.rules_in(reached.place):
            if rule.kind == "local" and rule.form in ("=", ":", ":=") and rule.target:
                value = expression(rule.value)
                if value is not None and self.is_record(value, reached):
                    names.add(rule.target)
        return names

    def is_record(self, value: ast.expr, reached: Reached) -> bool:
        """Whether an expression of a function is the record or a view of it."""
        match value:
            case ast.Name(id=name):
                return name in reached.record
            case ast.IfExp(body=body, orelse=orelse):
                return self.is_record(body, reached) or self.is_record(orelse, reached)
            case ast.BoolOp(values=values):
                return any(self.is_record(part, reached) for part in values)
            case ast.Call(func=function, args=arguments, keywords=keywords):
                target = self._definition(reached.place, ast.unparse(function))
                given = [*arguments, *(word.value for word in keywords)]
                if target is None:
                    return False
                if target.place == (self.record.file, self.record.name):
                    return True
                if not any(self.is_record(part, reached) for part in given):
                    return False
                if target.kind == "class":
                    return self.code.method(target.place, "__getattr__") is not None
                return target.kind == "function" and self._returns_record(target.place, value)
            case _:
                return False

    def _returns_record(self, place: Place, call: ast.Call) -> bool:
        """Whether a function that is handed the record returns it, or a view of it."""
        if place not in self._views:
            self._views[place] = False
            info = self.code.module(place[0]).functions[place[1]]
            inner = Reached(place, info)
            inner.given = {p.lstrip("*") for p in info.parameters[: len(call.args)]}
            inner.record = self._record_names(inner)
            values = (expression(r.value) for r in self.code.rules_in(place) if r.kind == "return")
            self._views[place] = any(v is not None and self.is_record(v, inner) for v in values)
        return self._views[place]

    def _definition(self, place: Place, name: str) -> Definition | None:
        if name.startswith("super()."):
            info = self.code.module(place[0]).functions.get(place[1])
            owner = self.code.module(place[0]).classes.get(info.class_name) if info else None
            for base in owner.bases if owner is not None else ():
                found = self.code.lookup(place[0], "", f"{base}.{name[len('super().') :]}")
                if found is not None:
                    return found
            return None
        if name == "cls" or name.endswith(".__class__"):
            info = self.code.module(place[0]).functions.get(place[1])
            name = info.class_name if info is not None and info.class_name else name
        return self.code.lookup(place[0], place[1], name)

    # -- the calls of one function ---------------------------------------------------

    def _calls(self, reached: Reached) -> Iterator[CallSite]:
        for rule in self.code.rules_in(reached.place):
            if rule.kind == "call" and rule.target:
                yield from self._called(reached, rule)
            elif rule.kind in ("local", "return", "declare"):
                yield from self._mentioned(reached, rule)
            elif rule.kind == "log":
                # A helper of the tree that logs (`print_warning(…)`) is read as a log line.
                target = self._definition(reached.place, rule.receiver or rule.form)
                if target is not None and target.kind == "function":
                    yield CallSite(reached.place, target.place, rule, "call")
            yield from self._properties(reached, rule)

    def _called(self, reached: Reached, rule: Rule) -> Iterator[CallSite]:
        target = self._definition(reached.place, rule.target or "")
        call = parse_call(rule.value or "")
        arguments = call.args if call is not None else []
        keywords = call.keywords if call is not None else []
        if target is not None:
            for callee, bound in self._callees(target, rule.target or ""):
                pairs = tuple(self._bind(callee, bound, arguments, keywords))
                yield CallSite(reached.place, callee, rule, "call", pairs)
        values = [*arguments, *(word.value for word in keywords)]
        handed_record = next((v for v in values if self.is_record(v, reached)), None)
        owner, _, method = (rule.target or "").rpartition(".")
        if target is None and handed_record is not None and owner and method.isidentifier():
            self._methods[reached.place, id(rule)] = (rule, method)
        for value in values:
            if isinstance(value, ast.Name | ast.Attribute):
                yield from self._handed(reached, rule, ast.unparse(value), handed_record)

    def _callees(self, target: Definition, spelled: str) -> Iterator[tuple[Place, bool]]:
        """The functions that a call runs, and whether their first parameter is bound already."""
        if target.kind == "function":
            info = self.code.module(target.path).functions[target.name]
            static = any("staticmethod" in text for text in info.decorators)
            head = spelled.partition(".")[0]
            of_class = any("classmethod" in text for text in info.decorators)
            nested = ".<locals>." in target.name
            method = bool(info.class_name) and not static and not nested
            yield target.place, method and (of_class or head in ("self", "cls", "super()"))
        elif target.kind == "class":
            for name in _CONSTRUCTION:
                method_ = self.code.method(target.place, name)
                if method_ is not None:
                    yield method_.place, True

    def _bind(
        self,
        callee: Place,
        bound: bool,
        arguments: list[ast.expr],
        keywords: list[ast.keyword],
    ) -> Iterator[tuple[str, ast.expr]]:
        parameters = list(self.code.module(callee[0]).functions[callee[1]].parameters)
        names = [p for p in parameters if not p.startswith("*")][1 if bound else 0 :]
        for name, value in zip(names, arguments, strict=False):
            if isinstance(value, ast.Starred):
                break
            yield name, value
        for word in keywords:
            if word.arg in names:
                yield str(word.arg), word.value

    def _handed(
        self, reached: Reached, rule: Rule, name: str, record: ast.expr | None
    ) -> Iterator[CallSite]:
        target = self._definition(reached.place, name)
        if target is None:
            return
        if target.kind == "class":
            for method in _HANDED_CLASS:
                found = self.code.method(target.place, method)
                if found is not None:
                    yield CallSite(reached.place, found.place, rule, "handed")
        elif target.kind == "function":
            info = self.code.module(target.path).functions[target.name]
            first = info.parameters[:1]
            pairs = ((first[0], record),) if record is not None and first else ()
            yield CallSite(reached.place, target.place, rule, "handed", pairs)

    def _mentioned(self, reached: Reached, rule: Rule) -> Iterator[CallSite]:
        """Functions in tables: `{"a": handle_a}`, `for step in (check_a, check_b)`."""
        for read in rule.reads:
            if read.kind == "name":
                target = self._definition(reached.place, read.name)
                if target is not None and target.kind == "function":
                    yield CallSite(reached.place, target.place, rule, "handed")

    def _properties(self, reached: Reached, rule: Rule) -> Iterator[CallSite]:
        if not reached.record:
            return
        for name in _fields_read(rule):
            place = self.record.properties.get(name)
            if place is not None:
                yield CallSite(reached.place, place, rule, "property")

    def _follow_methods(self) -> bool:
        """A method of an unknown object that is handed the record: every method of that name."""
        todo, self._methods = self._methods, {}
        by_name: dict[str, list[Place]] = {}
        for path in sorted(self.code.loaded) if todo else ():
            for name, info in self.code.loaded[path].functions.items():
                if info.class_name and ".<locals>." not in name:
                    by_name.setdefault(name.rpartition(".")[2], []).append((path, name))
        changed = False
        for (caller, _), (rule, method) in todo.items():
            reached, call = self.functions[caller], parse_call(rule.value or "")
            known = {
                (site.rule and id(site.rule), site.callee) for site in self.extra.get(caller, ())
            }
            for place in by_name.get(method, ()):
                if call is None or (id(rule), place) in known:
                    continue
                pairs = tuple(self._bind(place, True, call.args, call.keywords))
                given = {name for name, value in pairs if self.is_record(value, reached)}
                if given:
                    changed = True
                    self.add(place, given)
                    site = CallSite(caller, place, rule, "method", pairs)
                    self.extra.setdefault(caller, []).append(site)
        return changed

    # -- functions known only by name ------------------------------------------------

    def _taint_by_name(self) -> bool:
        """Give handed-on functions the record by the names that it has elsewhere."""
        names = self.usual_names()
        changed = False
        for place in sorted(self._by_name):
            reached = self.functions[place]
            found = {p for p in reached.info.parameters if p in names} - reached.given
            if found:
                changed = True
                self.add(place, found)
        return changed

    def usual_names(self) -> set[str]:
        """Parameter names of functions that were handed the record and read its fields."""
        names: set[str] = set()
        for reached in self.functions.values():
            given = reached.given - {"self"} - names
            if given and any(
                self.record_attributes(text, reached) & self.record.fields.keys()
                for rule in self.code.rules_in(reached.place)
                for text in texts_of(rule)
            ):
                names |= given
        return names

    def record_attributes(self, text: str, reached: Reached) -> frozenset[str]:
        """The attributes that a text of a function reads from the record or a view of it."""
        key = (reached.place, text, len(reached.record))
        known = self._attributes.get(key)
        if known is None:
            known = self._attributes[key] = frozenset(self._record_attributes(text, reached))
        return known

    def _record_attributes(self, text: str, reached: Reached) -> Iterator[str]:
        if "." not in text and "attr" not in text:
            return
        for node in ast.walk(guard_expression(text) or ast.Constant(None)):
            match node:
                case ast.Attribute(value=value, attr=name) if self.is_record(value, reached):
                    yield name
                case ast.Call(
                    func=ast.Name(id="getattr" | "hasattr"),
                    args=[value, ast.Constant(value=str(name)), *_],
                ) if self.is_record(value, reached):
                    yield name


def expression(text: str | None) -> ast.expr | None:
    """The syntax of a rule's text; None for what is no expression of its own."""
    if not text:
        return None
    try:
        return ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def guard_expression(text: str) -> ast.expr | None:
    """As `expression`, also for the heads of `for`, `with` and the like."""
    found = expression(text)
    if found is not None:
        return found
    head, _, rest = text.partition(" ")
    if head == "for" and " in " in rest:
        return expression(rest.partition(" in ")[2])
    return expression(rest.partition(" as ")[0]) if head in ("with", "match", "while") else None


def texts_of(rule: Rule) -> Iterator[str]:
    """Every text of a rule in which something can be read."""
    if rule.value:
        yield rule.value
    if rule.kind == "call" and rule.target:
        yield rule.target
    for guard in rule.guards:
        yield guard.text
    for case in rule.cases:
        for guard in case.guards:
            yield guard.text


def _fields_read(rule: Rule) -> Iterator[str]:
    for read in rule.reads:
        if read.kind == "field":
            yield read.name
    for guard in rule.guards:
        for read in guard.reads:
            if read.kind == "field":
                yield read.name
