"""The command line: the group of commands, and the guard that no traceback gets past."""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import os
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

import click

from sgcheck import __version__
from sgcheck.commands.base import AppState, RootGroup
from sgcheck.commands.levels import EXIT_FAULT, EXIT_INTERRUPTED, EXIT_OK
from sgcheck.errors import SgcheckError

COMMANDS = {
    "check": ("sgcheck.commands.check:check", "Predict what one launch resolves to (default)."),
    "batch": ("sgcheck.commands.batch:batch", "The same for many launches, in JSON lines."),
    "why": ("sgcheck.commands.why:why", "The chain that gave one field its value."),
    "scan": ("sgcheck.commands.scan:scan", "Find and check the launches in deployment files."),
    "lsp": ("sgcheck.commands.lsp:lsp", "Serve an editor (Language Server Protocol)."),
    "explain": ("sgcheck.commands.explain:explain", "Show a rule's page."),
    "list": ("sgcheck.commands.listing:listing", "List GPUs, models, releases, backends, rules."),
    "confirm": ("sgcheck.commands.confirm:confirm", "Compare a prediction with the truth."),
    "doctor": ("sgcheck.commands.doctor:doctor", "Compare this host with what is assumed."),
    "graph": ("sgcheck.commands.graph:graph", "The rule graph: what can set a field, and why."),
    "matrix": ("sgcheck.commands.matrix:matrix", "One launch over machines, releases, flags."),
    "history": ("sgcheck.commands.history:history", "In which release one value changed."),
    "since": ("sgcheck.commands.since:since", "In which release a flag or variable came or went."),
    "diff": ("sgcheck.commands.diff:diff", "What changes between two SGLang trees."),
    "fetch": ("sgcheck.commands.fetch:fetch", "Bring SGLang releases into the cache."),
    "config": ("sgcheck.commands.config:config", "Show the configuration and where it is set."),
    "version": ("sgcheck.commands.version:version", "Show versions, also as JSON."),
    "completion": ("sgcheck.commands.completion:completion", "Print a shell's completion script."),
}


@click.group(
    cls=RootGroup,
    lazy=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Predict, from SGLang's source alone, what an SGLang launch resolves to.",
)
@click.version_option(__version__, "-V", "--version", message="sgcheck %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> int:
    """Without any word: the help."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
    return EXIT_OK


def run(args: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code; no exception but SystemExit gets out."""
    state = AppState()
    try:
        code = cli.main(
            args=None if args is None else list(args),
            prog_name="sgcheck",
            standalone_mode=False,
            obj=state,
        )
        sys.stdout.flush()
        return code if isinstance(code, int) else EXIT_OK
    except click.UsageError as error:
        _complain(error.format_message())
        if error.ctx is not None:
            click.echo(f"Try '{error.ctx.command_path} --help'.", err=True)
        return EXIT_FAULT
    except click.ClickException as error:
        _complain(error.format_message())
        return EXIT_FAULT
    except SgcheckError as error:
        _complain(str(error))
        _trace(state)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            _complain(f"cannot write the output: {error.strerror}; make room and try again")
            _trace(state)
            return EXIT_FAULT
        hint = "" if state.debug else " (--debug shows the traceback)"
        kind = getattr(error, "kind", type(error).__name__)
        _complain(f"internal fault: {kind}: {error}{hint}")
        _trace(state)
        return EXIT_FAULT


def main() -> None:
    """The console script."""
    # A launch makes about a million objects that stay: looking through them finds no garbage.
    gc.set_threshold(1_000_000, 20, 20)
    try:
        code = run() if _has_output() else EXIT_FAULT
    except KeyboardInterrupt:  # a second one, while the first was told
        code = EXIT_INTERRUPTED
    _leave(code)


def _has_output() -> bool:
    """Open what the caller closed, so that no file of ours takes its number; whether anything can be written."""
    closed = [number for number in range(3) if _is_closed(number)]
    for number in closed:
        nothing = os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
        if nothing != number:
            os.dup2(nothing, number)
            os.close(nothing)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        _complain("standard output is closed; leave it open, or send it to a file")
        return False
    return True


def _is_closed(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False


def _leave(code: int) -> NoReturn:
    """End the process without freeing every object first, which costs a seventh of a check."""
    if threading.active_count() > 1:
        if code not in (EXIT_FAULT, EXIT_INTERRUPTED):
            sys.exit(code)
        # A thread may wait for input that never comes: Python would abort at it.
        if "multiprocessing" in sys.modules:
            for child in sys.modules["multiprocessing"].active_children():
                child.terminate()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # What could not be written has been said by `run`; Python would say so again, in its own words.
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _trace(state: AppState) -> None:
    """The traceback of the exception being handled, if it was asked for."""
    if state.debug:
        import traceback

        traceback.print_exc()


def _complain(message: str) -> None:
    from sgcheck.commands.output import say

    say(message)
