"""Python tracebacks in a log: their innermost line in SGLang, also when other lines are between."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sgcheck.resolve.resolution import LaunchError

START = "Traceback (most recent call last):"
MAX_MESSAGE_LINES = 20
MAX_NOISE = 400
"""Lines that may stand between two lines of one traceback."""

_FRAME = re.compile(r'\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?')
_FINAL = re.compile(r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?:: ?(?P<message>.*))?\Z", re.DOTALL)
_CHAIN = (
    "During handling of the above exception, another exception occurred",
    "The above exception was the direct cause of the following exception",
)

_CAUSES = (
    (
        "out of memory",
        re.compile(r"OutOfMemory|out of memory|Not enough memory|Cannot allocate memory"),
    ),
    (
        "a port that is taken",
        re.compile(
            r"[Aa]ddress already in use|port \S+ is (?:already )?(?:in use|not available|occupied)|EADDRINUSE"
        ),
    ),
    (
        "a package that is missing or broken",
        re.compile(r"ModuleNotFoundError|ImportError|undefined symbol|No module named"),
    ),
    (
        "a file that is missing",
        re.compile(
            r"FileNotFoundError|No such file or directory|does not appear to have a file|not a local folder|RepositoryNotFound|LocalEntryNotFound|Can't load"
        ),
    ),
    ("a full disk", re.compile(r"No space left on device|Disk quota exceeded")),
    (
        "the GPU or its driver",
        re.compile(
            r"no CUDA-capable device|NVIDIA driver|CUDA driver|no NVIDIA GPU|device-side assert|ECC error|invalid device ordinal"
        ),
    ),
    (
        "the network between the processes",
        re.compile(
            r"NCCL error|ncclSystemError|ncclRemoteError|Connection refused|Connection reset|TimeoutError|DistNetworkError"
        ),
    ),
    ("an interruption", re.compile(r"KeyboardInterrupt")),
)


@dataclass(slots=True)
class Traceback:
    """One traceback: the last frame in SGLang, and the exception once its line has come."""

    file: str | None = None
    line: int | None = None
    function: str | None = None
    functions: set[str] = field(default_factory=set)
    type: str | None = None
    message: list[str] = field(default_factory=list)
    rank: str = ""

    def error(self) -> LaunchError:
        """The error with its place; the type is empty if the log stops before it."""
        return LaunchError(
            self.type or "", "\n".join(self.message).strip(), self.file, self.line, self.function
        )


def tree_path(path: str) -> str | None:
    """`sglang/srt/…` for a file of SGLang wherever it is installed, None for any other file."""
    path = path.replace("\\", "/")
    at = path.rfind("/sglang/")
    if at >= 0:
        return path[at + 1 :]
    return path if path.startswith("sglang/") else None


def cause_of(error: LaunchError) -> str | None:
    """What an error is about that says nothing about the arguments; None for any other error."""
    text = f"{error.type}: {error.message}"
    return next((name for name, pattern in _CAUSES if pattern.search(text)), None)


class TracebackReader:
    """Takes the lines of one process one by one; finished tracebacks are in `done`, in order.

    The second traceback of a chain takes the place of the first: it is the one that got out.
    """

    def __init__(self) -> None:
        self.done: list[Traceback] = []
        self._open: Traceback | None = None
        self._last: Traceback | None = None
        self._chained = False
        self._noise = 0

    @property
    def busy(self) -> bool:
        """Whether a traceback has begun whose exception has not come yet."""
        return self._open is not None

    def feed(self, text: str, header: bool, rank: str = "") -> bool:
        """True if the line belongs to a traceback."""
        if START in text:
            self.close()
            self._open = Traceback(rank=rank)
            self._noise = 0
            return True
        if any(words in text for words in _CHAIN):
            self._chained = self._last is not None
            return True
        if self._open is None:
            return self._continue_message(text, header)
        return self._inside(self._open, text, header)

    def close(self) -> None:
        """The log ends here: what is open counts as it is."""
        if self._open is not None and self._open.line is not None:
            self._finish(self._open)
        self._open = None
        self._last = None

    def _inside(self, trace: Traceback, text: str, header: bool) -> bool:
        frame = _FRAME.match(text)
        if frame is not None:
            file = tree_path(frame["file"])
            function = (frame["function"] or "").strip()
            trace.functions.add(function)
            if file is not None:
                trace.file, trace.line, trace.function = file, int(frame["line"]), function
            return True
        if header or not text.strip() or text[0].isspace():
            self._count_noise(header)
            return not header
        final = _FINAL.match(text)
        if final is None or not trace.functions:
            self._count_noise(True)
            return False
        trace.type = final["type"].rpartition(".")[2]
        trace.message = [final["message"] or ""]
        self._finish(trace)
        return True

    def _finish(self, trace: Traceback) -> None:
        if self._chained and self.done:
            self.done[-1] = trace
        else:
            self.done.append(trace)
        self._chained = False
        self._open, self._last = None, trace

    def _continue_message(self, text: str, header: bool) -> bool:
        last = self._last
        if last is None:
            return False
        if header:
            self._last = None
            return False
        if not text.strip():
            # A chain's words come after an empty line, so the traceback is not forgotten yet.
            last.message = last.message[:MAX_MESSAGE_LINES]
            self._last = last
            return False
        if len(last.message) >= MAX_MESSAGE_LINES:
            return False
        last.message.append(text)
        return True

    def _count_noise(self, counts: bool) -> None:
        self._noise += counts
        if self._noise > MAX_NOISE:
            self._open = None
