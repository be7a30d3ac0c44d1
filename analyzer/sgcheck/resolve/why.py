"""Why a field has its value, and why the other places that could write it did not.

The write sites come from the libcst reader (`syntax/rules`). While the launch runs once more, the
lines of the functions that hold an unfired site are watched: which guard was looked at, what the
fields that it reads were at that moment, and whether one of them changed later. The last is the
trap of an order: the guard asked before the value was brought into its final form.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sgcheck.errors import WorkerEnded
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.performing import Performs
from sgcheck.resolve.plain import plain
from sgcheck.resolve.resolution import Because, JsonValue, Resolution
from sgcheck.syntax.names import source_name
from sgcheck.values.unknown import Unknown

if TYPE_CHECKING:
    from sgcheck.resolve.predict import Predictor
    from sgcheck.resolve.trace import Trace
    from sgcheck.syntax.rule_model import Guard, Rule

ENTRY = "sglang/srt/server_args.py"
FOLDER = "sglang/srt/arg_groups"
_KINDS = frozenset({"write", "declare"})


@dataclass(frozen=True, slots=True)
class Later:
    """A field that a guard read and that got another value afterwards."""

    field: str
    then: JsonValue
    becomes: JsonValue
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Seen:
    """One guard of a site as it was when SGLang looked at it: the fields that it reads."""

    text: str
    line: int
    values: tuple[tuple[str, JsonValue], ...] = ()
    later: tuple[Later, ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """One place that can write the field.

    `fired`: it wrote on this launch. `reached`: its function ran. `stopped_at` is the outermost guard
    that was looked at and let nothing through, None where the function itself never ran.
    """

    file: str
    line: int
    function: str
    value: str | None
    guards: tuple[str, ...]
    fired: bool
    reached: bool
    stopped_at: Seen | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class WhyReport:
    """The prediction, and every write site of the field in the order of the source."""

    resolution: Resolution
    field: str
    sites: tuple[Site, ...] = ()
    problems: tuple[str, ...] = ()


class Watched(Struct, frozen=True):
    """What ran: lines, functions, and at guards' lines the values of the fields that they read.

    `later` are the fields among those that got another value afterwards.
    """

    lines: frozenset[tuple[str, int]]
    functions: frozenset[tuple[str, str]]
    seen: tuple[tuple[tuple[str, int], dict[str, JsonValue], tuple[Later, ...]], ...]

    def at(self, file: str, line: int) -> tuple[dict[str, JsonValue], tuple[Later, ...]]:
        """The values at a line, and those that changed later."""
        for place, values, later in self.seen:
            if place == (file, line):
                return values, later
        return {}, ()


@dataclass(slots=True)
class _Watch:
    """Lines that ran in the watched functions, and snapshots at guard lines."""

    wanted: dict[tuple[str, str], dict[int, list[str]]]
    trace: Trace
    lines: set[tuple[str, int]] = field(default_factory=set)
    functions: set[tuple[str, str]] = field(default_factory=set)
    snapshots: dict[tuple[str, int], tuple[int, dict[str, Any]]] = field(default_factory=dict)

    def on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        key = (code.co_filename, source_name(code.co_qualname))
        if key not in self.wanted:
            return None
        self.functions.add(key)
        return self.on_line

    def on_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event != "line":
            return self.on_line
        code = frame.f_code
        place = (code.co_filename, frame.f_lineno)
        self.lines.add(place)
        reads = self.wanted[(code.co_filename, source_name(code.co_qualname))].get(frame.f_lineno)
        if reads and place not in self.snapshots:
            record = _record(frame)
            values = {}
            for name in reads:
                try:
                    values[name] = getattr(record, name)
                except Exception:
                    continue
            self.snapshots[place] = (len(self.trace.events), values)
        return self.on_line


def _record(frame: FrameType) -> Any:
    """The record (or a view of it) among the frame's locals."""
    for name in ("self", "server_args", "view", "cfg", "args"):
        if name in frame.f_locals:
            return frame.f_locals[name]
    return next(iter(frame.f_locals.values()), None)


def why(predictor: Performs, launch: Launch, name: str) -> WhyReport:
    """The chain of one field with all its write sites. Reads the source with libcst."""
    from sgcheck.syntax.rules import field_rules, rules_of

    resolution = predictor.check(launch)
    answer = resolution.fields.get(name)
    because = answer.because if answer is not None else ()
    paths = dict.fromkeys([ENTRY, *_folder(predictor), *(b.file for b in because if b.file)])
    modules = rules_of(predictor.tree, list(paths))
    rules = [r for r in field_rules(modules, name) if r.kind in _KINDS and r.function]
    problems = tuple(f"{path}: {m.problem}" for path, m in modules.items() if m.problem is not None)
    known = frozenset(resolution.fields)
    wanted: dict[tuple[str, str], dict[int, list[str]]] = {}
    for rule in rules:
        lines = wanted.setdefault((rule.file, rule.function), {})
        for guard in rule.guards:
            lines.setdefault(guard.line, []).extend(r.name for r in guard.reads if r.name in known)
    watch: Watched | None = None
    if wanted and launch.model.known and not launch.has_unknowns:
        rows = tuple((*place, dict(lines)) for place, lines in wanted.items())
        with suppress(WorkerEnded):
            watch = predictor.perform(watch_guards, launch, rows)
    sites = tuple(_site(predictor, rule, because, watch) for rule in rules)
    return WhyReport(resolution, name, sites, problems)


def watch_guards(
    predictor: Predictor,
    launch: Launch,
    wanted: tuple[tuple[str, str, dict[int, list[str]]], ...],
) -> Watched | None:
    """The operation: run a launch and look at guards of functions (file, name, line -> fields read)."""
    places = {(file, function): lines for file, function, lines in wanted}
    watch: _Watch | None = predictor.watched(launch, lambda trace: _Watch(places, trace))
    if watch is None:
        return None
    seen = []
    for place, (at, values) in watch.snapshots.items():
        then = {name: plain(value) for name, value in values.items()}
        later = []
        for name, value in values.items():
            last = next((e for e in reversed(watch.trace.events[at:]) if e.field == name), None)
            if last is None or isinstance(value, Unknown):
                continue
            if plain(last.value) != then[name]:
                later.append(Later(name, then[name], plain(last.value), last.file, last.line))
        seen.append((place, then, tuple(later)))
    return Watched(frozenset(watch.lines), frozenset(watch.functions), tuple(seen))


def _folder(predictor: Performs) -> list[str]:
    found: list[str] = []
    todo = [FOLDER]
    while todo:
        folder = todo.pop()
        if not predictor.tree.exists(folder):
            continue
        for entry in predictor.tree.listdir(folder):
            path = f"{folder}/{entry}"
            if entry.endswith(".py"):
                found.append(path)
            elif "." not in entry and len(found) < 2000:
                todo.append(path)
    return sorted(found)


def _site(
    predictor: Performs, rule: Rule, because: tuple[Because, ...], watch: Watched | None
) -> Site:
    fired = any(
        b.file == rule.file
        and b.line is not None
        and rule.span.line <= b.line <= rule.span.end_line
        for b in because
    )
    reached = fired or (watch is not None and (rule.file, rule.function) in watch.functions)
    stopped = None
    if not fired and reached and watch is not None:
        guard = _stopping(rule, watch)
        if guard is not None:
            stopped = _seen(rule, guard, watch)
    return Site(
        rule.file,
        rule.line,
        rule.function,
        rule.value,
        tuple(str(g) for g in rule.guards),
        fired,
        reached,
        stopped,
        predictor.tree.permalink(rule.file, rule.line),
    )


def _stopping(rule: Rule, watch: Watched) -> Guard | None:
    """The innermost guard whose line ran although the site's own line did not."""
    reached = None
    for guard in rule.guards:
        if (rule.file, guard.line) in watch.lines:
            reached = guard
    return reached


def _seen(rule: Rule, guard: Guard, watch: Watched) -> Seen:
    values, later = watch.at(rule.file, guard.line)
    return Seen(str(guard), guard.line, tuple(values.items()), later)
