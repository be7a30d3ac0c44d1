"""Writing to standard output and standard error, and what the output can show."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sgcheck.errors import UsageError
from sgcheck.report.terminal import ColorChoice, Terminal, detect


def stdout_terminal(choice: ColorChoice) -> Terminal:
    """The terminal behind standard output."""
    return detect(sys.stdout, choice)


def write(text: str) -> None:
    """Text to standard output; a character that its encoding lacks is written as an escape."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace"), nl=False)


def write_json(text: str) -> None:
    """JSON, which is ASCII here, to standard output whatever its encoding."""
    click.echo(text.encode("ascii"), nl=False)


def note(text: str) -> None:
    """A note for the user on standard error."""
    click.echo(f"sgcheck: note: {text}", err=True)


def deliver(text: str, output: Path | None) -> None:
    """Text to a file, or to standard output where none is named. Raises UsageError if it fails."""
    if output is None:
        write(text)
        return
    try:
        output.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(
            f"{output} cannot be written: {error.strerror or error}; name a file that can be, "
            "or leave the name out for standard output"
        ) from error
    note(f"wrote {output}")
