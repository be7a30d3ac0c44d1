"""Read what a server's log says: arguments, backends, warnings, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sgcheck.confirm import machine_words
from sgcheck.confirm.literals import read_record
from sgcheck.confirm.log_lines import LineReader, LogRecordLine, clean_line
from sgcheck.confirm.observation import Observation, ObservedMachine, ObservedOutcome
from sgcheck.confirm.phases import READY, RESOLVED, phase_of
from sgcheck.confirm.tracebacks import Traceback, TracebackReader, cause_of
from sgcheck.errors import NothingToAnalyse
from sgcheck.resolve.resolution import LaunchError, LogLine

MAX_RUNS = 64
MAX_MESSAGES = 5000
MAX_MESSAGE = 2000
MAX_CONTINUATION = 64
"""Pieces into which a container runtime may have cut the line with the arguments."""
MAX_RECORD = 4 << 20
MAX_TRACEBACKS = 200
MAX_BACKEND_LINES = 40
BUSY_LINES = 200_000
"""Lines after which a log is taken to be mostly requests, whether its start is in it or not."""

_ARGUMENTS = re.compile(r"\bserver_args=(?=ServerArgs\(|\{)")
_CLI_ERROR = re.compile(
    r"(?:[\w./-]*(?:launch_server|sglang|__main__)[\w./-]*(?: serve)?): error: (?P<message>.+)"
)
_KILLED = re.compile(
    r"\AKilled\Z|OOMKilled|exit(?:ed)?(?: with)?(?: code)?[ =:]*(?:137|-9)\b|SIGKILL|Segmentation fault|Fatal Python error|core dumped"
)
_SIGQUIT = re.compile(
    r"Received sigquit from a child process|It usually means the child failed|kill_process_tree"
)
_VERSION = (
    re.compile(r"\bsglang(?:\[[\w,-]+\])?==(?P<version>\d[\w.+!-]*)"),
    re.compile(r"\bsglang: (?P<version>\d+\.[\w.+-]*)"),
    re.compile(r"\bsglang-(?P<version>\d+\.[\w.+]*?)(?:\.dist-info|-py3)"),
    re.compile(r"lmsysorg/sglang:v(?P<version>\d+\.\d+\.\d+(?:\.?(?:post|rc|dev)\d+)*)"),
    re.compile(r"SGLang(?: version)?:? v?(?P<version>\d+\.\d+\.\d+[\w.]*)"),
)


@dataclass(slots=True)
class Run:
    """One start of a server in the log, still being filled."""

    stream: str
    fields: dict[str, Any] = field(default_factory=dict)
    has_arguments: bool = False
    complete: bool = True
    ready: bool = False
    phase: str | None = None
    version: str | None = None
    cli_error: str | None = None
    killed: str | None = None
    signalled: bool = False
    machine: ObservedMachine = field(default_factory=ObservedMachine)
    messages: dict[str, None] = field(default_factory=dict)
    traces: TracebackReader = field(default_factory=TracebackReader)
    early_traces: int = 0
    lines_after_trace: int = 0

    @property
    def empty(self) -> bool:
        """Whether nothing was found that belongs to a server."""
        return not (self.has_arguments or self.ready or self.cli_error or self.traces.done)

    def node_rank(self) -> Any:
        """The `node_rank` of the arguments, 0 where they have none."""
        return self.fields.get("node_rank", 0)


@dataclass(frozen=True, slots=True)
class LogReading:
    """All starts in the log, in order, and how many bytes were read."""

    runs: tuple[Run, ...]
    bytes_read: int
    notes: tuple[str, ...]


def read_log(names: Sequence[str]) -> LogReading:
    """Read the files as one log. Raises UsageError if one cannot be read."""
    reader = LineReader(names)
    scanner = LogScanner()
    for raw in reader:
        scanner.feed(clean_line(raw))
        reader.quiet = scanner.quiet
    notes = []
    if reader.long_lines:
        notes.append(f"{reader.long_lines} overlong lines of the log were cut")
    return LogReading(tuple(scanner.finish()), reader.bytes_read, tuple(notes))


def observe_log(names: Sequence[str], node_rank: int | None = None) -> Observation:
    """The last start in the log (of that node, where several nodes write to it).

    Raises NothingToAnalyse if the log holds no trace of an SGLang server.
    """
    reading = read_log(names)
    shown = ", ".join(names)
    if not reading.runs:
        raise NothingToAnalyse(
            f"{shown}: no SGLang server is seen in it: neither its arguments nor an error; "
            "give the log of the server itself."
        )
    return observation_of(choose_run(reading.runs, node_rank), reading, shown)


def choose_run(runs: Sequence[Run], node_rank: int | None = None) -> Run:
    """The last run, preferring one with arguments and with the wanted node rank."""
    candidates = [run for run in runs if run.node_rank() == (node_rank or 0)] or list(runs)
    last = candidates[-1]
    with_arguments = [run for run in candidates if run.has_arguments]
    # An error before the arguments were logged is a run of its own; an unrelated service is not.
    return (
        last
        if last.has_arguments or last.traces.done or last.cli_error
        else with_arguments[-1]
        if with_arguments
        else last
    )


def observation_of(run: Run, reading: LogReading, source: str) -> Observation:
    """What one run says."""
    notes = list(reading.notes)
    if len(reading.runs) > 1:
        number = reading.runs.index(run) + 1
        streams = list(dict.fromkeys(run.stream for run in reading.runs))
        whose = f" of {', '.join(streams)}" if len(streams) > 1 else ""
        which = f" ({run.stream})" if len(streams) > 1 and run.stream else ""
        notes.append(
            f"the log holds {len(reading.runs)} starts{whose}; number {number}{which} is compared"
        )
    if run.has_arguments and not run.complete:
        notes.append(
            f"the line with the arguments is cut or damaged: {len(run.fields)} fields could be read"
        )
    if not run.has_arguments:
        notes.append("the log does not hold the resolved arguments")
    return Observation(
        "log",
        source,
        outcome_of(run),
        version=run.version,
        fields=run.fields,
        complete=run.has_arguments and run.complete,
        machine=run.machine,
        log=tuple(LogLine("", text, "", 0) for text in run.messages),
        notes=tuple(notes),
    )


def outcome_of(run: Run) -> ObservedOutcome:
    """How the run ended."""
    late = run.traces.done[run.early_traces :]
    if run.ready:
        ending = "ready"
        if run.killed or (late and run.signalled):
            ending = f"ready, later {run.killed or 'ended by ' + _name(late[0].error())}"
        return ObservedOutcome("ok", ending)
    if run.cli_error is not None:
        return ObservedOutcome(
            "cli_error", "refused by SGLang's parser", LaunchError("SystemExit", run.cli_error)
        )
    fatal = fatal_traceback(run)
    if fatal is not None:
        error = fatal.error()
        after = run.has_arguments or bool(fatal.rank) or "run_scheduler_process" in fatal.functions
        return ObservedOutcome(
            "startup_error", f"ended by {_name(error)}", error, after, cause_of(error)
        )
    status = "resolved" if run.has_arguments else "unknown"
    if run.killed:
        return ObservedOutcome(status, run.killed)  # type: ignore[arg-type]
    if run.signalled:
        return ObservedOutcome(status, "ended, the error itself is not in the log")  # type: ignore[arg-type]
    doing = f" ({run.phase})" if run.phase else ""
    return ObservedOutcome(status, f"still loading{doing} where the log ends")  # type: ignore[arg-type]


def fatal_traceback(run: Run) -> Traceback | None:
    """The traceback that ended the start: the first of those that nothing survived.

    What a parent process raises when its child has died comes later and says less.
    """
    if not run.traces.done:
        return None
    if not (run.signalled or run.killed) and run.lines_after_trace > SURVIVED:
        return None
    in_tree = [trace for trace in run.traces.done if trace.file is not None]
    candidates = in_tree or run.traces.done
    ranked = [
        trace for trace in candidates if trace.rank or "run_scheduler_process" in trace.functions
    ]
    return (ranked or candidates)[0] if run.has_arguments else candidates[-1]


SURVIVED = 25
"""Lines of log after a traceback that show that the server went on."""


def _name(error: LaunchError) -> str:
    where = f" at {error.file}:{error.line}" if error.file else ""
    return f"{error.type or 'an exception'}{where}"


class LogScanner:
    """Takes cleaned lines and sorts them into runs, one list per stream."""

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self._current: dict[str, Run] = {}
        self._parts: dict[str, list[str]] = {}
        self._lines = 0

    @property
    def quiet(self) -> bool:
        """Whether all servers seen are ready, so that only news matter."""
        if self._parts or any(run.traces.busy for run in self._current.values()):
            return False
        ready = bool(self._current) and all(run.ready for run in self._current.values())
        return ready or self._lines > BUSY_LINES

    def feed(self, line: LogRecordLine) -> str | None:
        """One line; the phase that begins with it, if one does."""
        self._lines += 1
        run = self._current.get(line.stream)
        if run is None:
            run = self._new(line.stream)
        if line.stream in self._parts:
            if self._continue_arguments(run, line):
                return None
            run = self._current[line.stream]
        at = _ARGUMENTS.search(line.text)
        if at is not None and not run.traces.busy:
            return self._arguments(run, line, at.end())
        return self._message(run, line)

    def finish(self) -> list[Run]:
        """All runs in which a server was seen."""
        for stream in list(self._parts):
            self._store(self._current[stream], "".join(self._parts.pop(stream)))
        for run in self._runs:
            run.traces.close()
        return [run for run in self._runs if not run.empty]

    def _new(self, stream: str) -> Run:
        run = Run(stream)
        self._current[stream] = run
        self._runs.append(run)
        if len(self._runs) > MAX_RUNS:
            del self._runs[0]
        return run

    def _arguments(self, run: Run, line: LogRecordLine, at: int) -> str | None:
        if run.has_arguments and not self._same_start(run, line.text[at:]):
            run.traces.close()
            run = self._new(line.stream)
        text = line.text[at:]
        fields, whole = read_record(text)
        if whole or not (line.partial or self._looks_cut(text)):
            self._set(run, fields, whole)
        else:
            self._parts[line.stream] = [text]
            run.has_arguments = True
        run.phase = RESOLVED
        return RESOLVED

    @staticmethod
    def _same_start(run: Run, text: str) -> bool:
        """Engine logs its arguments twice in a row; that is one start."""
        return run.phase == RESOLVED and read_record(text)[0] == run.fields

    @staticmethod
    def _looks_cut(text: str) -> bool:
        return not text.rstrip().endswith((")", "}"))

    def _continue_arguments(self, run: Run, line: LogRecordLine) -> bool:
        parts = self._parts[line.stream]
        if line.header or len(parts) > MAX_CONTINUATION or sum(map(len, parts)) > MAX_RECORD:
            self._store(run, "".join(self._parts.pop(line.stream)))
            return False
        parts.append(line.text)
        text = "".join(parts)
        if not line.partial and not self._looks_cut(text):
            fields, whole = read_record(text)
            if whole:
                del self._parts[line.stream]
                self._set(run, fields, whole)
        return True

    def _store(self, run: Run, text: str) -> None:
        self._set(run, *read_record(text))

    @staticmethod
    def _set(run: Run, fields: dict[str, Any], whole: bool) -> None:
        run.fields, run.complete, run.has_arguments = fields, whole, True

    def _message(self, run: Run, line: LogRecordLine) -> str | None:
        text = line.text
        if run.cli_error is not None and (refusal := _CLI_ERROR.match(text)):
            run = self._new(line.stream)
        if (
            run.traces.done
            and not run.has_arguments
            and "Traceback (most" in text
            and not run.traces.busy
            and run.lines_after_trace > 1
        ):
            # A crash loop: each round fails before it could log its arguments.
            run = self._new(line.stream)
        if _KILLED.search(text):
            broken = "Segm" in text or "Fatal" in text
            run.killed = "ended by a crash of the interpreter" if broken else "killed from outside"
        if _SIGQUIT.search(text):
            run.signalled = True
        if run.traces.feed(text, line.header, line.rank):
            run.lines_after_trace = 0
            del run.traces.done[MAX_TRACEBACKS:]
            return None
        run.lines_after_trace += bool(text.strip())
        if refusal := _CLI_ERROR.match(text):
            run.cli_error = refusal["message"]
        self._facts(run, text)
        if text.strip() and len(run.messages) < MAX_MESSAGES:
            run.messages[text[:MAX_MESSAGE]] = None
        phase = phase_of(text)
        if phase is not None and not run.ready:
            run.phase = phase
            if phase == READY:
                run.ready = True
                run.early_traces = len(run.traces.done)
        return phase

    @staticmethod
    def _facts(run: Run, text: str) -> None:
        if run.version is None:
            run.version = next((m["version"] for p in _VERSION if (m := p.search(text))), None)
        run.machine = machine_words.add(run.machine, text)


def backend_lines(messages: Iterable[str]) -> list[str]:
    """The messages that speak of a backend, at most `MAX_BACKEND_LINES` of them."""
    found = (text for text in messages if "backend" in text.lower() and "server_args" not in text)
    return list(islice(found, MAX_BACKEND_LINES))
