"""logging: records what SGLang would print, with the line that logs it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import FrameType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sgcheck.interp.access import tree_frame
from sgcheck.interp.merge import JoinedList
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.values.spoken import spoken
from sgcheck.values.unknown import find_unknown
from sgcheck.world.facade import Facade


class Record(Struct, frozen=True):
    """One log call of the tree."""

    level: str
    message: Any
    args: tuple[Any, ...]
    file: str
    line: int
    condition: Any = None

    def key(self) -> Any:
        """The same line on several paths has the same key."""
        return self.level, self.file, self.line, self.text()

    def under(self, condition: Any) -> Record:
        """The same record under another condition."""
        return replace(self, condition=condition)

    def text(self) -> str:
        """The message as logged; unknown parts stay visible."""
        if not self.args:
            return spoken(self.message)
        shown = tuple(spoken(a) if find_unknown(a) is not None else a for a in self.args)
        try:
            return str(self.message) % shown
        except (TypeError, ValueError):
            return str(self.message)


class Log:
    """What one launch logged. What is logged while `silent` answers True belongs to no launch."""

    def __init__(self, silent: Callable[[], bool] = lambda: False) -> None:
        self.records: list[Record] = JoinedList()
        self._silent = silent

    def add(self, level: int | str, message: Any, args: tuple[Any, ...], frame: FrameType) -> None:
        if self._silent():
            return
        name: Any = level if issubclass(type(level), str) else logging.getLevelName(level)
        if R.journal is not None:
            R.journal.container(self.records)
        self.records.append(Record(name, message, args, frame.f_code.co_filename, frame.f_lineno))


class Logger:
    """`logging.Logger`."""

    def __init__(self, name: str, log: Log) -> None:
        self.name, self.log_, self.level = name, log, 0
        self.handlers: list[Any] = []
        self.propagate, self.disabled = True, False
        self.parent = None
        self.filters: list[Any] = []

    def _add(self, level: int, message: Any, args: tuple[Any, ...]) -> None:
        if level >= logging.INFO:
            self.log_.add(level, message, args, tree_frame())

    def debug(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self._add(logging.DEBUG, msg, args)

    def info(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self._add(logging.INFO, msg, args)

    def info_once(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self._add(logging.INFO, msg, args)

    def warning(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self._add(logging.WARNING, msg, args)

    warn = warning
    warning_once = warning_advice = warning  # transformers gives every logger these

    def error(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self._add(logging.ERROR, msg, args)

    exception = error

    def critical(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self._add(logging.CRITICAL, msg, args)

    def log(self, level: Any, msg: Any, *args: Any, **kwargs: Any) -> None:
        if issubclass(type(level), int):
            self._add(level, msg, args)

    def isEnabledFor(self, level: int) -> bool:
        return level >= logging.INFO

    def getEffectiveLevel(self) -> int:
        return logging.INFO

    def setLevel(self, level: Any) -> None:
        return None

    def hasHandlers(self) -> bool:
        return True

    def addHandler(self, handler: Any) -> None:
        return None

    removeHandler = addFilter = removeFilter = addHandler


class _Quiet:
    """Handlers, formatters and filters: they decide nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def setLevel(self, *args: Any) -> None:
        return None

    setFormatter = addFilter = setLevel


def _show_warning() -> Any:
    """`warnings.showwarning`: the tree may wrap it, and mark what it wraps."""

    def showwarning(*args: Any, **kwargs: Any) -> None:
        return None

    return showwarning


class _LoggingFacade(Facade):
    """The module `logging`, of which every level is known: any other name in capitals is not there."""

    def __getattr__(self, name: str) -> Any:
        if name.isupper() and not name.startswith("_") and not hasattr(logging, name):
            raise AttributeError(f"module 'logging' has no attribute {name!r}")
        return super().__getattr__(name)


def build(log: Log) -> dict[str, Facade]:
    """The modules `logging` and `warnings`."""
    loggers: dict[str, Logger] = {}

    def get_logger(name: str | None = None) -> Logger:
        key = name or "root"
        if key not in loggers:
            loggers[key] = Logger(key, log)
        return loggers[key]

    root = get_logger()
    names: dict[str, Any] = {
        n: getattr(logging, n)
        for n in (
            "DEBUG",
            "INFO",
            "WARNING",
            "WARN",
            "ERROR",
            "CRITICAL",
            "FATAL",
            "NOTSET",
            "getLevelName",
        )
    }
    names.update(
        getLogger=get_logger,
        Logger=Logger,
        root=root,
        basicConfig=lambda **kwargs: None,
        captureWarnings=lambda capture: None,
        disable=lambda level=50: None,
        getLoggerClass=lambda: Logger,
        setLoggerClass=lambda cls: None,
        addLevelName=lambda level, name: None,
    )
    for n in (
        "LogRecord",
        "Handler",
        "StreamHandler",
        "FileHandler",
        "NullHandler",
        "Formatter",
        "Filter",
        "LoggerAdapter",
    ):
        names[n] = type(n, (_Quiet,), {"__module__": "logging"})
    for n in ("debug", "info", "warning", "warn", "error", "exception", "critical", "log"):
        names[n] = getattr(root, n)

    def warn(message: Any, category: Any = UserWarning, stacklevel: int = 1, **kwargs: Any) -> None:
        frame: FrameType | None = tree_frame()
        for _ in range(stacklevel - 1):
            frame = frame.f_back if frame is not None else None
            while frame is not None and not issubclass(
                type(frame.f_globals.get("__builtins__")), dict
            ):
                frame = frame.f_back
        level = f"PY{getattr(category, '__name__', 'UserWarning')}"
        if frame is not None and not frame.f_code.co_filename.startswith("/"):
            log.add(level, message, (), frame)

    class catch_warnings:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            pass

        def __enter__(self) -> list[Any]:
            return []

        def __exit__(self, *exc: Any) -> None:
            return None

    warnings_names = {
        "warn": warn,
        "filterwarnings": lambda *a, **k: None,
        "simplefilter": lambda *a, **k: None,
        "catch_warnings": catch_warnings,
    }
    handlers = Facade(
        "logging.handlers",
        dict.fromkeys(
            ("RotatingFileHandler", "QueueHandler", "TimedRotatingFileHandler"), names["Handler"]
        ),
    )
    config = Facade("logging.config", {"dictConfig": lambda *a, **k: None})
    return {
        "logging": _LoggingFacade("logging", {**names, "handlers": handlers, "config": config}),
        "logging.handlers": handlers,
        "logging.config": config,
        "warnings": Facade("warnings", {**warnings_names, "showwarning": _show_warning()}),
    }  # fmt: skip
