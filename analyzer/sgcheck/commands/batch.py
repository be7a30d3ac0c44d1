"""`sgcheck batch`: many launches, JSON lines in, JSON lines out, order kept, as they come."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Queue
from typing import IO, Any

import click

from sgcheck.commands import options
from sgcheck.commands.ahead import in_order
from sgcheck.commands.base import PlainCommand, option
from sgcheck.commands.cases import Answer, BatchSettings, CaseWorker, failed_answer
from sgcheck.commands.levels import EXIT_FAULT, EXIT_NOTHING, exit_code
from sgcheck.commands.output import note
from sgcheck.errors import UsageError
from sgcheck.report.document import Selection
from sgcheck.report.harmless import json_without_commands

WINDOW_PER_JOB = 4


@click.command(
    cls=PlainCommand,
    help="Predict many launches: one JSON object per line in CASES (or standard input), one per "
    "line out, in the same order.",
    epilog="Example: sgcheck batch cases.jsonl --sglang 0.5.23 --no-trace",
)
@click.argument("cases", required=False, default="-", metavar="[CASES.jsonl]")
@option(
    "Input",
    "--models-root",
    metavar="DIR",
    help="Where relative model directories start. Default: the working directory.",
)
@option(
    "Input",
    "--jobs",
    "-j",
    type=click.IntRange(min=0),
    default=1,
    metavar="N",
    help="Processes; 0 for one per CPU. Default: 1.",
)
@options.source_options()
@options.depth_option()
@options.field_options()
@options.exit_options()
@options.config_options()
@options.debug_option()
def batch(cases: str, models_root: str | None, jobs: int, **params: Any) -> int:
    """Run the command."""
    config = options.load_configuration(params)
    root = Path(models_root or ".")
    if not root.is_dir():
        raise UsageError(
            f"--models-root {root}: there is no such directory; give the one in which the "
            "relative model directories of the cases lie"
        )
    names = options.split_names(params["fields"])
    selection = Selection(
        frozenset(names) if names else None, params["changed"], not params["no_trace"]
    )
    source = options.choose_source(params, config)
    settings = BatchSettings(source, root, selection, params["depth"])
    with open_cases(cases) as stream:
        lines = (line for line in stream if line.strip())
        return run_batch(
            lines,
            settings,
            jobs or os.cpu_count() or 1,
            params["fail_on"] or config.value("fail-on") or "error",
            params["exit_zero"],
        )


def run_batch(
    lines: Iterable[bytes], settings: BatchSettings, jobs: int, fail_on: str, exit_zero: bool
) -> int:
    """Answer all lines on standard output; the exit code. A failed line makes it 2."""
    out = sys.stdout.buffer
    levels: set[str | None] = set()
    failed = total = 0
    absent: frozenset[str] | None = None
    for answer in answers(lines, settings, jobs):
        out.write(json_without_commands(answer.text).encode("ascii") + b"\n")
        out.flush()
        total += 1
        failed += answer.failed
        if not answer.failed:
            levels.add(answer.level)
            absent = answer.absent if absent is None else absent & answer.absent
    if absent:
        note(f"no launch has the field {', '.join(sorted(absent))}")
    if total == 0:
        note("there is no case in the input")
        return EXIT_NOTHING
    if failed:
        note(f"{failed} of {total} lines could not be analysed; each says why in its error")
        return EXIT_FAULT
    return exit_code(levels, fail_on, exit_zero)


def answers(lines: Iterable[bytes], settings: BatchSettings, jobs: int) -> Iterator[Answer]:
    """The answers in the order of the lines, each as soon as it and those before it are there."""
    if jobs == 1:
        worker = CaseWorker(settings)
        yield from in_order(lines, worker.group, worker.answer)
    else:
        yield from _parallel_answers(lines, settings, jobs)


def _parallel_answers(
    lines: Iterable[bytes], settings: BatchSettings, jobs: int
) -> Iterator[Answer]:
    """A thread reads ahead, so that a finished answer never waits for the next line of input."""
    queue: Queue[Future[Answer] | BaseException | None] = Queue(WINDOW_PER_JOB * jobs)
    executor = ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), _start_worker, (settings,)
    )

    def read() -> None:
        try:
            for line in lines:
                queue.put(executor.submit(_answer_in_worker, line))
            queue.put(None)
        except BaseException as error:
            queue.put(error)

    threading.Thread(target=read, daemon=True).start()
    try:
        while (item := queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield _result(item)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _result(future: Future[Answer]) -> Answer:
    try:
        return future.result()
    except Exception as error:
        return failed_answer(f"internal fault: a worker process ended ({type(error).__name__})")


_worker: CaseWorker | None = None


def _start_worker(settings: BatchSettings) -> None:
    """Runs once in each process. Ctrl-C is the parent's to handle."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker = CaseWorker(settings)


def _answer_in_worker(line: bytes) -> Answer:
    assert _worker is not None
    return _worker.answer(line)


@contextmanager
def open_cases(name: str) -> Iterator[IO[bytes]]:
    """The input as bytes; `-` is standard input. Raises UsageError if it cannot be opened."""
    if name == "-":
        if sys.stdin.isatty():
            note("reading cases from the terminal; end with Ctrl-D")
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(Path(name).open("rb"))
        except OSError as error:
            raise UsageError(
                f"cannot read the cases in {name}: {error.strerror}; give a file with one JSON "
                "object per line, or - for standard input"
            ) from error
        yield stream
