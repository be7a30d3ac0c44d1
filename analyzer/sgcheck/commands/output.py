"""Writing to standard output and standard error, and what the output can show."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sgcheck.errors import UsageError
from sgcheck.report.harmless import (
    clean,
    json_without_commands,
    output_text,
    without_commands,
)
from sgcheck.report.terminal import ColorChoice, Terminal, detect


def stdout_terminal(choice: ColorChoice) -> Terminal:
    """The terminal behind standard output."""
    global _styled
    terminal = detect(sys.stdout, choice)
    _styled = terminal.color or terminal.links
    return terminal


MAX_SENTENCE = 2000
"""Characters of a sentence on standard error: what it quotes may be of any length."""

_styled = False
"""Whether what is written was styled for a terminal."""


def write(text: str, *, commands: bool = False) -> None:
    """Text to standard output; a character that its encoding lacks is written as an escape.

    Nothing in it steers a terminal or a runner; `commands` marks a format that consists of commands.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = output_text(text, styled=_styled, commands=commands)
    click.echo(text.encode(encoding, "backslashreplace"), nl=False)


def write_json(text: str) -> None:
    """JSON, which is ASCII here, to standard output whatever its encoding."""
    click.echo(json_without_commands(text).encode("ascii"), nl=False)


def note(text: str) -> None:
    """A note for the user on standard error."""
    say(f"note: {text}")


def say(text: str) -> None:
    """One line of sgcheck's own on standard error."""
    text = without_commands(clean(text.replace("\n", " ")))
    if len(text) > MAX_SENTENCE:
        text = f"{text[: MAX_SENTENCE // 2]} … {text[-MAX_SENTENCE // 2 :]}"
    click.echo(f"sgcheck: {text}".encode("utf-8", "backslashreplace"), err=True)


def deliver(text: str, output: Path | None) -> None:
    """Text to a file, or to standard output where none is named. Raises UsageError if it fails."""
    if output is None:
        write(text)
        return
    try:
        text = output_text(text, styled=False)
        output.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(
            f"{output} cannot be written: {error.strerror or error}; name a file that can be, "
            "or leave the name out for standard output"
        ) from error
    note(f"wrote {output}")
