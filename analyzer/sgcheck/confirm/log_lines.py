"""From the bytes of a log to its lines: bounded memory, and what others put around a line undone."""

from __future__ import annotations

import gzip
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from sgcheck.errors import UsageError

CHUNK = 1 << 20
MAX_LINE = 1 << 20
"""Bytes of a line that are kept; the rest of a longer line is passed over."""

# What can change the reading once a server answers requests. Lines without any of these are not
# looked at one by one: a log is mostly such lines.
_NEWS = tuple(
    word.encode()
    for word in "server_args=|Traceback|Error|rror:|xception|Killed|killed|exit code|exitcode|fired up|"
    "SIG|sigquit|Load weight|Uvicorn".split("|")
)

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\[0m\x00?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

_STAMP = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
# Each takes one thing off the front of a line. The group `name`, where there is one, tells apart
# the processes whose lines are mixed.
_PREFIXES = (
    re.compile(rf"{_STAMP} (?P<cri>stdout|stderr) (?P<flag>[FP])(?: |$)"),
    re.compile(r"\[pod/(?P<name>[\w./-]+)\] "),
    re.compile(r"(?P<name>[\w.-]+)\s+\| "),
    re.compile(rf"{_STAMP} "),
    re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ (?P<name>[\w./-]+\[\d+\]): "),
    re.compile(r"\[(?P<name>[\w.-]+[\w])\] (?=\[\d{4}-)"),
    re.compile(r"(?P<name>\d{1,4}): "),
    re.compile(r"\((?P<name>[\w.]+(?: pid=\d+)?(?:, ip=[\d.]+)?)\) "),
    re.compile(r"(?P<name>[a-z][\w-]*(?:\.[\w-]+)*): (?=\[\d{4}-|\s{2,}File |Traceback )"),
)

_HEADER = re.compile(
    r"\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?)(?P<rank>(?: [A-Z]{2,4}\d+)*)\] ?(?P<message>.*)\Z",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class LogRecordLine:
    """One line. `stream` names the process or container that wrote it ("" where nothing does).

    `header` is True if SGLang's own `[time rank]` stood in front; `rank` is what it holds, such as
    `DP0 TP1`. `partial` says that a container runtime has cut the line here.
    """

    text: str
    stream: str = ""
    header: bool = False
    rank: str = ""
    partial: bool = False


def clean_line(raw: bytes) -> LogRecordLine:
    """A line without colours, control characters, time stamps and names in front."""
    text = _ANSI.sub("", raw.decode("utf-8", "replace"))
    # Progress bars overwrite themselves: what was written last counts.
    text = _CONTROL.sub("", text.rstrip("\r\n").rpartition("\r")[2])
    stream, partial, changed = [], False, True
    while changed:
        changed = False
        if _HEADER.match(text):
            break
        for pattern in _PREFIXES:
            match = pattern.match(text)
            if match is None or match.end() == 0:
                continue
            groups = match.groupdict()
            if groups.get("name"):
                stream.append(groups["name"])
            partial = partial or groups.get("flag") == "P"
            text = text[match.end() :]
            changed = True
            break
    header = _HEADER.match(text)
    if header is None:
        return LogRecordLine(text, "/".join(stream), partial=partial)
    return LogRecordLine(header["message"], "/".join(stream), True, header["rank"].strip(), partial)


def is_news(data: bytes) -> bool:
    """Whether anything in a piece of log can change how it is read."""
    # One search per word is many times faster than one regular expression for all.
    return any(word in data for word in _NEWS)


class LineReader:
    """The lines of several files, one after the other. `quiet` may be switched at any time.

    While `quiet` is True, pieces of the log in which nothing can matter are skipped unread.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.quiet = False
        self.bytes_read = 0
        self.long_lines = 0

    def __iter__(self) -> Iterator[bytes]:
        for name in self.names:
            with ExitStack() as stack:
                yield from self._lines(stack.enter_context(open_log(name)), name)

    def _lines(self, stream: IO[bytes], name: str) -> Iterator[bytes]:
        rest = b""
        skipping = False
        while chunk := self._read(stream, name):
            self.bytes_read += len(chunk)
            if skipping:
                _, newline, chunk = chunk.partition(b"\n")
                if not newline:
                    continue
                skipping = False
            data = rest + chunk
            if self.quiet and not is_news(data):
                rest = data[data.rfind(b"\n") + 1 :]
                if len(rest) > MAX_LINE:
                    rest, skipping = b"", True
                continue
            lines = data.split(b"\n")
            rest = lines.pop()
            for line in lines:
                if len(line) > MAX_LINE:
                    self.long_lines += 1
                yield line[:MAX_LINE]
            if len(rest) > MAX_LINE:
                self.long_lines += 1
                yield rest[:MAX_LINE]
                rest, skipping = b"", True
        if rest:
            yield rest

    @staticmethod
    def _read(stream: IO[bytes], name: str) -> bytes:
        try:
            return stream.read(CHUNK)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            # A compressed log that is cut off or damaged still has its first part.
            return b""
        except OSError as error:
            raise _unreadable(name, error) from error


def open_log(name: str) -> IO[bytes]:
    """A log as bytes; `-` is standard input, a gzip file is unpacked. Raises UsageError."""
    if name == "-":
        return sys.stdin.buffer
    path = Path(name)
    try:
        if path.is_dir():
            raise UsageError(f"{name} is a directory: give the log file itself")
        if path.is_char_device() or path.is_block_device():
            raise UsageError(f"{name} is a device: give a log file, or - for standard input")
        stream = path.open("rb")
        if stream.peek(2)[:2] == b"\x1f\x8b":
            stream.close()
            return cast("IO[bytes]", gzip.open(path, "rb"))
        return stream
    except OSError as error:
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: OSError) -> UsageError:
    return UsageError(
        f"cannot read the log {name}: {error.strerror or error}; give the server's log as a file, "
        "or - for standard input"
    )
