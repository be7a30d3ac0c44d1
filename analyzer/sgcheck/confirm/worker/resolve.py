"""Run the real SGLang's argument resolution under a machine that is only pretended.

Started by `sgcheck confirm --simulate` with the interpreter that has SGLang. The request is a JSON
file, the answer is written to another one:

    PYTHON resolve.py REQUEST.json ANSWER.json

No weights are read, no process is started, no connection leaves the host. What a module of SGLang
asks of the GPU (torch, triton, `nvidia-smi`, NVML) is answered from the request; packages that the
request calls installed and that are not there are replaced by placeholders when SGLang asks.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import enum
import importlib.util
import json
import logging
import math
import os
import re
import sys
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

_HERE = str(Path(__file__).resolve().parent)

if TYPE_CHECKING:
    from sgcheck.confirm.worker import placeholders, pretend
else:
    # The folder must not stay on the path: its names are not SGLang's to import.
    sys.path.insert(0, _HERE)
    import placeholders
    import pretend

    sys.path[:] = [entry for entry in sys.path if str(Path(entry).resolve()) != _HERE]
    del sys.modules["placeholders"], sys.modules["pretend"]

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


# -- what is recorded ------------------------------------------------------------------


class Recorder:
    """Log lines, the parser's refusal and the environment variables that are written."""

    def __init__(self, tree: str) -> None:
        self.tree = tree
        self.log: list[dict[str, Any]] = []
        self.refusal: str | None = None
        self.imported: set[str] = set()
        self._watch_log()
        self._watch_parser()
        self._watch_environment()

    def place(self, path: str) -> str | None:
        """`sglang/…` for a file of SGLang."""
        return (
            os.path.relpath(path, self.tree).replace(os.sep, "/")
            if path.startswith(self.tree)
            else None
        )

    def _add(self, level: str, message: str, path: str, line: int) -> None:
        file = self.place(path)
        if file is not None:
            self.log.append({"level": level, "message": message, "file": file, "line": line})

    def _watch_log(self) -> None:
        make = logging.getLogRecordFactory()

        def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
            record = make(*args, **kwargs)
            if record.levelno >= logging.INFO:
                # A message that cannot be put together is SGLang's affair.
                with contextlib.suppress(Exception):
                    self._add(record.levelname, record.getMessage(), record.pathname, record.lineno)
            return record

        logging.setLogRecordFactory(factory)
        logging.getLogger().setLevel(logging.INFO)

        def show(
            message: Any, category: Any, filename: str, lineno: int, *_: Any, **__: Any
        ) -> None:
            self._add("WARNING", str(message), filename, lineno)

        warnings.showwarning = show

    def _watch_parser(self) -> None:
        report = argparse.ArgumentParser.error

        def error(parser: argparse.ArgumentParser, message: str) -> Any:
            self.refusal = message
            return report(parser, message)

        cast(Any, argparse.ArgumentParser).error = error

    def _watch_environment(self) -> None:
        """What the import of a module writes is no decision of the resolution."""
        put, unset = os.putenv, os.unsetenv

        def note(key: Any) -> None:
            name = os.fsdecode(key)
            frame = sys._getframe(2)
            while frame is not None:
                if frame.f_code.co_name == "_find_and_load":
                    self.imported.add(name)
                    return
                frame = frame.f_back  # type: ignore[assignment]
            self.imported.discard(name)

        def putenv(key: Any, value: Any) -> None:
            note(key)
            put(key, value)

        def unsetenv(key: Any) -> None:
            note(key)
            unset(key)

        os.putenv, os.unsetenv = putenv, unsetenv


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON: enums by name (string enums by value), sets sorted, records as objects."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return (
            value.value
            if isinstance(value, str) and isinstance(value.value, (str, int))
            else value.name
        )
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if depth > 8:
        return _ADDRESS.sub("", repr(value))
    if isinstance(value, dict):
        return {str(plain(k)): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, depth + 1) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(v, depth + 1) for v in value), key=str)
    names = field_names(type(value))
    if names:
        return {name: plain(getattr(value, name, None), depth + 1) for name in names}
    return _ADDRESS.sub("", repr(value))


def field_names(cls: type) -> list[str]:
    """The fields of a record class, none for any other."""
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls)]
    return list(getattr(cls, "__struct_fields__", ()))


def fields_of(record: Any) -> dict[str, Any]:
    """Every field after resolution, as SGLang itself reports it."""
    if hasattr(record, "resolved_dict"):
        return {name: plain(value) for name, value in record.resolved_dict().items()}
    return {name: plain(getattr(record, name, None)) for name in field_names(type(record))}


def error_of(error: BaseException, recorder: Recorder) -> dict[str, Any]:
    """An error with its innermost line in SGLang."""
    found: dict[str, Any] = {"type": type(error).__name__, "message": _ADDRESS.sub("", str(error))}
    for frame in traceback.extract_tb(error.__traceback__):
        file = recorder.place(frame.filename)
        if file is not None:
            found.update(file=file, line=frame.lineno, function=frame.name)
    return found


# -- the run ---------------------------------------------------------------------------


def run(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    spec = importlib.util.find_spec("sglang")
    if spec is None or spec.origin is None:
        return {"failed": "this Python has no sglang"}
    tree = str(Path(spec.origin).parent.parent)
    pretend.close_network()
    try:
        importlib.import_module("torch")
    except ImportError as error:
        return {"failed": "its torch cannot be imported: " + str(error)}
    recorder = Recorder(tree)
    missing = placeholders.add_packages(request["packages"], str(Path(tree) / "sglang") + os.sep)
    pretend.pretend_machine(request["machine"], request.get("torch_version"))
    placeholders.forgive_missing_operators(missing)
    answer: dict[str, Any] = {"placeholders": missing, "status": "ok"}
    try:
        module = importlib.import_module("sglang.srt.server_args")
    except BaseException as error:
        return {
            **answer,
            "status": "startup_error",
            "stage": "import",
            "error": error_of(error, recorder),
        }
    argv = request["argv"]
    sys.argv = ["sglang.launch_server", *argv]
    before = dict(os.environ)
    recorder.log.clear()
    resolve(module, argv, answer, recorder)
    after = dict(os.environ)
    answer["env_after"] = {
        name: after.get(name)
        for name in sorted(set(before) | set(after))
        if before.get(name) != after.get(name) and name not in recorder.imported
    }
    answer["env_imported"] = sorted(recorder.imported)
    answer["log"] = recorder.log
    return answer


def resolve(module: Any, argv: list[str], answer: dict[str, Any], recorder: Recorder) -> None:
    """Parse, resolve and check, as the launcher does; what comes of it goes into `answer`."""
    answer["stage"] = "parse"
    try:
        record = module.prepare_server_args(argv)
        answer["stage"] = "resolve"
        if hasattr(record, "resolve_once"):
            record.resolve_once()
        answer["fields"] = fields_of(record)
        answer["stage"] = "check"
        if hasattr(record, "check_server_args"):
            record.check_server_args()
    except SystemExit as error:
        if recorder.refusal is not None and error.code == 2:
            answer.update(
                status="cli_error", error={"type": "SystemExit", "message": recorder.refusal}
            )
        else:
            answer.update(status="startup_error", error=error_of(error, recorder))
    except argparse.ArgumentError as error:
        answer.update(status="cli_error", error=error_of(error, recorder))
    except BaseException as error:
        answer.update(status="startup_error", error=error_of(error, recorder))


def main() -> None:
    """Read the request, write the answer; nothing else of the output matters."""
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        answer = run(request)
    except BaseException as error:
        answer = {
            "failed": type(error).__name__ + ": " + str(error),
            "trace": traceback.format_exc()[-4000:],
        }
    Path(request["answer"]).write_text(json.dumps(answer), encoding="utf-8")
    sys.stdout.flush()
    # Threads and exit handlers of the libraries must not keep the process alive.
    os._exit(0)


if __name__ == "__main__":
    main()
